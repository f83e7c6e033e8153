"""The settings of known servers and kernels that remedy a finding: a small table, each entry with its source.

The table is ``remedies.toml``. A finding says what to change; this says where: by the detector, and by the
server's name in the response's ``Server`` field (RFC 9110, section 10.2.4) where it gives one.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Remedy", "remedies", "settings_for", "settings_for_all"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Remedy:
    """One setting."""

    #: The detectors whose findings it remedies.
    detectors: tuple[str, ...]
    #: Where it is set: "nginx", "Linux", "Go net/http".
    where: str
    #: What the ``Server`` field of such a server begins with, in lower case; empty for what is no server.
    server: str = ""
    #: Whether such a server gives no ``Server`` field.
    is_silent: bool = False
    #: The setting as it is written there.
    setting: str
    #: What it does, in one sentence.
    why: str
    #: Where that is documented.
    source: str

    @property
    def words(self) -> str:
        """The setting with where it is made."""
        return f"{self.where}: {self.setting}"


@cache
def remedies() -> tuple[Remedy, ...]:
    """All entries, in the order of the file."""
    text = files("tcptrace_http").joinpath("remedies.toml").read_text(encoding="utf-8")
    return tuple(
        Remedy(**{**entry, "detectors": tuple(entry["detectors"])}) for entry in tomllib.loads(text)["remedy"]
    )


def settings_for_all(detector: str, software: Iterable[str | None]) -> tuple[str, ...]:
    """The settings for findings of one detector about several servers: those of the ones that say their names."""
    known = dict.fromkeys(name for name in software if name is not None) or (None,)
    return tuple(dict.fromkeys(setting for name in known for setting in settings_for(detector, name)))


def settings_for(detector: str, server_software: str | None) -> tuple[str, ...]:
    """The settings that remedy a detector's findings: those of the server that answered, and those of no server.

    Of a server that does not say its name, those of all servers: one may have been told to keep it to itself.
    """
    name = None if server_software is None else server_software.lower()
    return tuple(
        remedy.words
        for remedy in remedies()
        if detector in remedy.detectors
        and (name is None or (name.startswith(remedy.server) and not remedy.is_silent))
    )
