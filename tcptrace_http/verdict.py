"""First sentence of a report and of a notebook overview: the overall state and the largest loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tcptrace_http.finding_groups import NOTE, finding_groups, lost_ns
from tcptrace_http.quantity import counted, duration

if TYPE_CHECKING:
    import polars as pl

    from tcptrace_http.analysed import Analysed

__all__ = ["Verdict", "findings_words", "verdict"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """Headline, and a sentence with the figures."""

    headline: str
    detail: str


def verdict(analysis: Analysed) -> Verdict:
    """Return the verdict on a capture."""
    import polars as pl

    worst = max(finding_groups(analysis.findings), key=lambda group: group.lost_ns, default=None)
    if worst is not None and worst.lost_ns:
        headline = f"{worst.detector} costs the most: {duration(worst.lost_ns)}"
    elif analysis.transactions.is_empty():
        headline = "There is no HTTP and no TLS in this capture"
    else:
        headline = "No finding costs time"
    if analysis.transactions.is_empty():
        return Verdict(headline, _size(analysis))
    length = (pl.col("end") - pl.col("start")).dt.total_nanoseconds()
    stalls = pl.col("cause").cast(pl.String).str.starts_with("stall.")
    total, stalled = analysis.waits.select(
        length.sum().alias("total"), length.filter(stalls).sum().alias("stalled")
    ).row(0)
    share = f"{stalled / total:.0%}" if total else "0 %"
    detail = f"{_size(analysis)} Of {duration(total)} that transactions took together, stalls were {share}."
    return Verdict(headline, detail)


def findings_words(findings: pl.DataFrame) -> str:
    """Return the number of findings, their loss including the notes, and the number of notes (severity info)."""
    is_note = findings["severity"] == NOTE
    told, notes = int((~is_note).sum()), int(is_note.sum())
    lost = lost_ns(findings)
    cost = f", {duration(lost)} lost" * (lost > 0)
    if told:
        return counted(told, "finding") + cost + f"; {counted(notes, 'note')}" * (notes > 0)
    if notes:
        return counted(notes, "note") + cost if lost else f"No finding that cost time; {counted(notes, 'note')}"
    return "No findings"


def _size(analysis: Analysed) -> str:
    flows = counted(analysis.flows.height, "connection")
    return f"{counted(analysis.transactions.height, 'transaction')} on {flows}."
