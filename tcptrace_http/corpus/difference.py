"""Comparison of two datasets, or of two times of one: transaction times, waits, and findings.

Captures of different traffic have no matching transactions, so the figures are per transaction.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from tcptrace_http.quantity import counted, duration
from tcptrace_http.spent import spent

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

    from tcptrace_http.corpus.part import Part

__all__ = ["CorpusDifference", "compare"]

_PERCENTILES: Final = (50, 95)
#: Maximum number of causes in the text; JSON has all of them.
_CAUSES_SHOWN: Final = 12
_THOUSAND: Final = 1000


@dataclass(frozen=True, slots=True)
class Side:
    """Side of a comparison: counts, and sums in nanoseconds."""

    name: str
    transactions: int
    #: Mean and percentiles of the time from request to response.
    elapsed_ns: dict[str, int | None]
    #: Wait time by cause.
    waits_ns: dict[str, int]
    #: Count and lost time by detector.
    findings: dict[str, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class CorpusDifference:
    """Comparison of two sides."""

    left: Side
    right: Side

    def causes(self) -> list[tuple[str, float, float]]:
        """Return the wait time per transaction in nanoseconds, left and right, by cause; largest difference
        first.
        """
        return self._per_transaction({name: one.waits_ns for name, one in self._sides()})

    def detectors(self) -> list[tuple[str, float, float]]:
        """Return the lost time per transaction in nanoseconds, left and right, by detector; largest difference
        first.
        """
        lost = {name: {key: sums[1] for key, sums in one.findings.items()} for name, one in self._sides()}
        return self._per_transaction(lost)

    def _sides(self) -> Iterator[tuple[str, Side]]:
        yield "left", self.left
        yield "right", self.right

    def _per_transaction(self, sums: dict[str, dict[str, int]]) -> list[tuple[str, float, float]]:
        counts = {name: max(one.transactions, 1) for name, one in self._sides()}
        names = sorted(sums["left"].keys() | sums["right"].keys())
        left, right = ({key: sums[side].get(key, 0) / counts[side] for key in names} for side in ("left", "right"))
        rows = [(key, left[key], right[key]) for key in names]
        return sorted(rows, key=lambda row: -abs(row[1] - row[2]))

    def json(self) -> str:
        """Return both sides as JSON."""
        return json.dumps({name: asdict(one) for name, one in self._sides()}, indent=2) + "\n"

    def text(self) -> str:
        """Return the differences as text: left, right, and left minus right."""
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        for name, one in self._sides():
            yield f"{name:<5}  {one.name}: {counted(one.transactions, 'transaction')}"
        yield ""
        yield _row("elapsed", "left", "right", "difference")
        for name, left_ns in self.left.elapsed_ns.items():
            yield _times(f"  {name}", left_ns, self.right.elapsed_ns[name])
        yield ""
        yield "waited per transaction, by cause"
        for cause, left, right in self.causes()[:_CAUSES_SHOWN]:
            yield _times(f"  {cause}", left, right)
        yield ""
        yield "lost per transaction, by detector (findings per 1,000 transactions)"
        for detector, left, right in self.detectors():
            rates = [_rate(one, detector) for _, one in self._sides()]
            yield f"{_times(f'  {detector}', left, right)}  ({rates[0]:.1f}, {rates[1]:.1f})"


def _rate(side: Side, detector: str) -> float:
    return _THOUSAND * side.findings.get(detector, (0, 0))[0] / max(side.transactions, 1)


def _times(name: str, left_ns: float | None, right_ns: float | None) -> str:
    if left_ns is None or right_ns is None:
        return _row(name, *("-" if one is None else duration(round(one)) for one in (left_ns, right_ns)), "-")
    difference = round(left_ns - right_ns)
    sign = "-" if difference < 0 else "+"
    return _row(name, duration(round(left_ns)), duration(round(right_ns)), f"{sign}{duration(abs(difference))}")


def _row(name: str, *cells: str) -> str:
    return f"{name:<42}" + "".join(f"{cell:>12}" for cell in cells)


def compare(left: Part, right: Part) -> CorpusDifference:
    """Compare two parts of datasets."""
    return CorpusDifference(_side(left), _side(right))


def _side(part: Part) -> Side:
    import polars as pl

    elapsed = part.table("transactions").select(spent("start_time", "end_time").dt.total_nanoseconds().alias("ns"))
    sums: list[pl.LazyFrame] = [
        elapsed.select(
            pl.len().alias("transactions"),
            pl.col("ns").mean().alias("mean"),
            *(pl.col("ns").quantile(one / 100).alias(f"p{one}") for one in _PERCENTILES),
        ),
        _by(part.table("waits").with_columns(lost=pl.col("end") - pl.col("start")), "cause"),
        _by(part.table("findings"), "detector"),
    ]
    totals, waits, findings = pl.collect_all(sums, engine="streaming")
    fields: dict[str, Any] = totals.row(0, named=True)
    count = fields.pop("transactions")
    return Side(
        name=part.name,
        transactions=count,
        elapsed_ns={name: None if value is None else round(value) for name, value in fields.items()},
        waits_ns={cause: lost for cause, _, lost in waits.iter_rows()},
        findings={detector: (number, lost) for detector, number, lost in findings.iter_rows()},
    )


def _by(rows: pl.LazyFrame, key: str) -> pl.LazyFrame:
    import polars as pl

    lost = pl.col("lost").dt.total_nanoseconds().sum().alias("lost")
    return rows.group_by(pl.col(key).cast(pl.String)).agg(pl.len().alias("count"), lost).sort(key)
