"""Names of our columns in other tools: one data file per tool.

A file has ``about`` (the tool and its output) and a list of ``field``: the tool's ``name``, our ``columns``
(``table.column``), a ``note`` for another meaning or a missing column, and the tool's ``unit`` if it differs.
A name with ``{direction}`` represents two names, one per entry of ``directions``. ``{sender}`` and ``{peer}``
are then the client and the server, and the reverse.
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
    """Field of a peer tool, with our equivalent columns."""

    name: str
    columns: tuple[str, ...]
    note: str = ""
    #: Unit of the tool: empty if equal to ours, ``text`` if not a number.
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Peer:
    """Tool with its output and its fields in its own order."""

    name: str
    about: str
    fields: tuple[Field, ...]


@cache
def peer(name: str) -> Peer:
    """Return the fields of one of ``PEERS``."""
    # Each import takes a few milliseconds, and every start of the program imports this module.
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
    """Return the tools' fields that a column (``table.column``) holds."""
    return [(tool, field) for tool in map(peer, PEERS) for field in tool.fields if column in field.columns]
