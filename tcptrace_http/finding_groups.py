"""Findings of a capture grouped, counted and summed for every report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tcptrace_http.schema import SEVERITIES

if TYPE_CHECKING:
    import polars as pl

__all__ = ["NOTE", "FindingGroup", "claimed", "finding_groups", "lost_ns"]

#: Severity of notes. Reports list them behind the findings.
NOTE: Final = "info"
_KEY: Final = ("flow", "transaction", "cause")


@dataclass(frozen=True, slots=True)
class FindingGroup:
    """Findings or notes of one detector and cause."""

    detector: str
    cause: str | None
    #: Highest severity of the findings.
    severity: str
    #: Lost time, without time that other groups also claim.
    lost_ns: int
    #: Rows of the findings, sorted by loss.
    findings: pl.DataFrame

    @property
    def is_note(self) -> bool:
        """Return whether the findings are notes."""
        return self.severity == NOTE


def finding_groups(findings: pl.DataFrame) -> list[FindingGroup]:
    """Return all findings sorted by loss, then all notes."""
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
    """Return the time that the findings lost. Time claimed by several findings counts once."""
    return _sum(claimed(findings))


def claimed(findings: pl.DataFrame) -> pl.Series:
    """Return the loss of each finding that no larger finding of the same transaction and cause claims. The
    losses add up.
    """
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
