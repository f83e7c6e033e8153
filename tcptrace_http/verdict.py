"""The first sentence of a report, and of a notebook's overview: how it stands, and what costs the most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tcptrace_http.quantity import counted, duration

if TYPE_CHECKING:
    import polars as pl

    from tcptrace_http.analysed import Analysed

__all__ = ["Verdict", "findings_told", "verdict"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """A headline, and a sentence with the figures."""

    headline: str
    detail: str


def verdict(analysis: Analysed) -> Verdict:
    """How it stands with a capture."""
    import polars as pl

    transactions = analysis.transactions.height
    if not transactions:
        return Verdict("There is no HTTP and no TLS in this capture", _size(analysis))
    length = (pl.col("end") - pl.col("start")).dt.total_nanoseconds()
    stalls = pl.col("cause").cast(pl.String).str.starts_with("stall.")
    total, stalled = analysis.waits.select(
        length.sum().alias("total"), length.filter(stalls).sum().alias("stalled")
    ).row(0)
    lost = analysis.findings.filter(pl.col("lost") > pl.duration())
    if lost.is_empty():
        headline = "Nothing was found that costs time"
    else:
        worst = lost.group_by("detector").agg(pl.col("lost").dt.total_nanoseconds().sum()).sort("lost").row(-1)
        headline = f"{worst[0]} costs the most: {duration(worst[1])}"
    share = f"{stalled / total:.0%}" if total else "0 %"
    detail = f"{_size(analysis)} Of {duration(total)} that transactions took together, stalls were {share}."
    return Verdict(headline, detail)


def findings_told(findings: pl.DataFrame) -> str:
    """How many findings there are, what they lost with the notes, and how many notes: those for information."""
    is_note = findings["severity"] == "info"
    told, notes = int((~is_note).sum()), int(is_note.sum())
    lost = int(findings["lost"].dt.total_nanoseconds().sum())
    cost = f", {duration(lost)} lost" * (lost > 0)
    if told:
        return counted(told, "finding") + cost + f"; {counted(notes, 'note')}" * (notes > 0)
    if notes:
        return counted(notes, "note") + cost if lost else f"No finding that cost time; {counted(notes, 'note')}"
    return "No findings"


def _size(analysis: Analysed) -> str:
    flows = counted(analysis.flows.height, "connection")
    return f"{counted(analysis.transactions.height, 'transaction')} on {flows}."
