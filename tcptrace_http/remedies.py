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
    import polars as pl

__all__ = ["Remedy", "remedies", "settings_for", "with_software"]


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


def with_software(findings: pl.DataFrame, transactions: pl.DataFrame) -> pl.DataFrame:
    """Findings with the ``server_software`` of their transaction; of a finding over several that of its flow, or
    of the capture, where only one was seen.

    ``transactions`` has the columns ``flow``, ``transaction`` and ``server_software``.
    """
    import polars as pl

    software = pl.col("server_software")
    only_one = pl.when(software.n_unique() == 1).then(software.first()).alias("of_flow")
    known = transactions.drop_nulls("server_software")
    of_flows = known.group_by("flow").agg(only_one)
    of_capture = known["server_software"].unique()
    own = transactions.select("flow", "transaction", "server_software")
    return (
        findings.join(own, on=["flow", "transaction"], how="left", maintain_order="left")
        .join(of_flows, on="flow", how="left", maintain_order="left")
        .with_columns(
            pl.when(pl.col("transaction").is_not_null())
            .then(software)
            .otherwise(pl.coalesce("of_flow", pl.lit(of_capture[0] if of_capture.len() == 1 else None)))
            .alias("server_software")
        )
        .drop("of_flow")
    )


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
