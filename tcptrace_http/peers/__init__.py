"""What other tools call the things that our columns hold: one data file a tool.

A file has ``about`` (which tool, which of its outputs) and a list of ``field``: the tool's ``name``, our
``columns`` (``table.column``), a ``note`` where the meaning differs or where there is no column, and the
``unit`` the tool prints if it is another than ours. A name with ``{direction}`` stands for two, with each of
the file's ``directions``; ``{sender}`` and ``{peer}`` are then the client and the server, and the other way
round.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["PEERS", "Field", "Peer", "names_for", "peer"]

PEERS: Final = ("tcptrace", "tshark", "tstat", "zeek")
_ROLES: Final = ("client", "server")


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a peer, and which of our columns hold it."""

    name: str
    columns: tuple[str, ...]
    note: str = ""
    #: The unit that the peer prints: empty if ours, ``text`` if it is no number.
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Peer:
    """A tool, what is compared of it, and its fields in its own order."""

    name: str
    about: str
    fields: tuple[Field, ...]


@cache
def peer(name: str) -> Peer:
    """The fields of one of ``PEERS``."""
    # Each takes some milliseconds, and every start of the program imports this module.
    import tomllib
    from importlib.resources import files

    document = tomllib.loads(files(__name__).joinpath(f"{name}.toml").read_text(encoding="utf-8"))
    directions = document.get("directions", ())
    fields = [field for entry in document["field"] for field in _fields(entry, directions)]
    return Peer(name, document["about"], tuple(fields))


def _fields(entry: dict[str, Any], directions: tuple[str, str]) -> Iterator[Field]:
    name, note, unit = entry["name"], entry.get("note", ""), entry.get("unit", "")
    if "{direction}" not in name:
        yield Field(name, tuple(entry["columns"]), note, unit)
        return
    for direction, sender, other in zip(directions, _ROLES, reversed(_ROLES), strict=True):
        columns = tuple(column.format(sender=sender, peer=other) for column in entry["columns"])
        yield Field(name.format(direction=direction), columns, note, unit)


def names_for(column: str) -> list[tuple[Peer, Field]]:
    """The peers' fields that a column (``table.column``) holds."""
    return [(tool, field) for tool in map(peer, PEERS) for field in tool.fields if column in field.columns]
