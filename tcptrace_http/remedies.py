"""Settings of known servers and kernels that fix a finding: a small table, each entry with its source.

The table is ``remedies.toml``. A finding says what to change; the table says where. The key is the detector
and, if known, the server's name in the response's ``Server`` field (RFC 9110, section 10.2.4).
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
    """Setting that fixes findings."""

    #: Detectors whose findings the setting fixes.
    detectors: tuple[str, ...]
    #: Software with the setting: "nginx", "Linux", "Go net/http".
    where: str
    #: Prefix of the server's ``Server`` field, in lower case; empty for software that is not a server.
    server: str = ""
    #: True if the server sends no ``Server`` field.
    is_silent: bool = False
    #: Setting in the syntax of the software.
    setting: str
    #: Effect of the setting, in one sentence.
    why: str
    #: Source that documents the setting.
    source: str

    @property
    def words(self) -> str:
        """Return the setting with the name of its software."""
        return f"{self.where}: {self.setting}"


@cache
def remedies() -> tuple[Remedy, ...]:
    """Return all entries, in the order of the file."""
    text = files("tcptrace_http").joinpath("remedies.toml").read_text(encoding="utf-8")
    return tuple(
        Remedy(**{**entry, "detectors": tuple(entry["detectors"])}) for entry in tomllib.loads(text)["remedy"]
    )


def settings_for_all(detector: str, software: Iterable[str | None]) -> tuple[str, ...]:
    """Return the settings for findings of one detector about several servers, for the servers with a
    known name.
    """
    known = dict.fromkeys(name for name in software if name is not None) or (None,)
    return tuple(dict.fromkeys(setting for name in known for setting in settings_for(detector, name)))


def settings_for(detector: str, server_software: str | None) -> tuple[str, ...]:
    """Return the settings that fix a detector's findings: those of the answering server, and those of no server.

    If the server's name is unknown, the settings of all servers are returned: the server may hide its name.
    """
    name = None if server_software is None else server_software.lower()
    return tuple(
        remedy.words
        for remedy in remedies()
        if detector in remedy.detectors
        and (name is None or (name.startswith(remedy.server) and not remedy.is_silent))
    )
