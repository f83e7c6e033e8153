"""Sentences shared by text and page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tcptrace_http.quantity import counted, duration

if TYPE_CHECKING:
    from datetime import datetime

    from tcptrace_http.corpus_report import CorpusReport, Trend

__all__ = ["change_words", "headline", "shown", "size", "time_words"]

#: Placeholder for a name that the captures do not show.
_NONE = "-"


def headline(report: CorpusReport) -> str:
    """Return the largest loss."""
    if not report.transactions:
        return "There is no HTTP and no TLS in this dataset"
    if not report.lost_ns:
        return "No finding costs time"
    detector, _, lost_ns = report.groups["detector"].row(0)
    return f"{detector} costs the most: {duration(lost_ns)}"


def size(report: CorpusReport) -> str:
    """Return the size and time range."""
    if report.first is None or report.last is None:
        return f"{counted(report.transactions, 'transaction')}."
    return (
        f"{counted(report.transactions, 'transaction')} from {report.first:%Y-%m-%d %H:%M} to"
        f" {report.last:%Y-%m-%d %H:%M} UTC. {counted(report.findings, 'finding')}, {duration(report.lost_ns)}"
        f" lost of {duration(report.elapsed_ns)} that transactions took together."
    )


def change_words(trend: Trend, every: str) -> str:
    """Return the start, or the change, per 1,000 transactions."""
    change, at = trend.change, trend.changed_at
    if change is None or at is None:
        return ""
    before, after = (f"{1000 * share:.3g}" for share in (change.before, change.after))
    return f"{change.word} {time_words(at, every)}: {before} to {after} per 1,000 transactions"


def time_words(time: datetime, every: str) -> str:
    """Return a day, or an hour of it."""
    return f"{time:%Y-%m-%d}" if every == "day" else f"{time:%Y-%m-%d %H:00}"


def shown(name: str) -> str:
    """Return a name, or its placeholder."""
    return name or _NONE
