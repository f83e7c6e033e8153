"""The findings of a capture as every report tells them: grouped, counted and summed in one place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tcptrace_http.schema import SEVERITIES

if TYPE_CHECKING:
    import polars as pl

__all__ = ["NOTE", "FindingGroup", "claimed", "finding_groups", "lost_ns"]

#: The severity of notes: they are told behind the findings.
NOTE: Final = "info"
_KEY: Final = ("flow", "transaction", "cause")


@dataclass(frozen=True, slots=True)
class FindingGroup:
    """The findings, or the notes, of one detector and cause."""

    detector: str
    cause: str | None
    #: The gravest of theirs.
    severity: str
    #: Their time, without what findings of other groups claim too.
    lost_ns: int
    #: Their rows, the most time lost first.
    findings: pl.DataFrame

    @property
    def is_note(self) -> bool:
        """Whether they are notes."""
        return self.severity == NOTE


def finding_groups(findings: pl.DataFrame) -> list[FindingGroup]:
    """All findings, the most time lost first; behind them all notes."""
    import polars as pl

    is_note = pl.col("severity").cast(pl.String) == NOTE
    ordered = findings.sort("lost", descending=True, maintain_order=True)
    rows = ordered.with_columns(is_note.alias("is_note"), claimed(ordered))
    groups = [_group(each) for each in rows.partition_by("is_note", "detector", "cause", maintain_order=True)]
    return sorted(groups, key=lambda group: (group.is_note, -group.lost_ns))


def _group(rows: pl.DataFrame) -> FindingGroup:
    return FindingGroup(
        detector=rows["detector"][0],
        cause=rows["cause"][0],
        severity=max(rows["severity"].unique(), key=SEVERITIES.index),
        lost_ns=_sum(rows["claimed"]),
        findings=rows.drop("is_note", "claimed"),
    )


def lost_ns(findings: pl.DataFrame) -> int:
    """The time that all of these findings lost, that which several of them claim only once."""
    return _sum(claimed(findings))


def claimed(findings: pl.DataFrame) -> pl.Series:
    """What each finding lost that no greater one of its transaction and cause claims too: these add up."""
    import polars as pl

    rows = (
        findings.select(*_KEY, "lost", "shared")
        .with_row_index("row")
        .sort("lost", descending=True, maintain_order=True)
    )
    is_first = pl.int_range(pl.len()).over(_KEY) == 0
    own = pl.when(is_first).then("lost").otherwise(pl.col("lost") - pl.col("shared"))
    return rows.with_columns(own.alias("claimed")).sort("row")["claimed"]


def _sum(durations: pl.Series) -> int:
    return int(durations.dt.total_nanoseconds().sum())
