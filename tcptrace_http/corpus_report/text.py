"""Dataset report for a terminal."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Final

from tcptrace_http.corpus_report import GROUPINGS
from tcptrace_http.corpus_report.words import change_words, headline, shown, size, time_words
from tcptrace_http.quantity import duration
from tcptrace_http.report.grid import Heading, grid, printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tcptrace_http.corpus_report import CorpusReport

__all__ = ["rendered"]

_ROWS_SHOWN: Final = 10
_TITLES: Final = {"server_software": "server software"}


def rendered(report: CorpusReport, *, width: int) -> str:
    """Return the whole text."""
    return "\n\n".join("\n".join(lines) for lines in _sections(report, width)) + "\n"


def _sections(report: CorpusReport, width: int) -> Iterator[list[str]]:
    words = f"{printable(report.name)}: {headline(report)}"
    yield [*textwrap.wrap(words, width), *textwrap.wrap(size(report), width)]
    if not report.findings or report.since is None:
        return
    since = time_words(report.since, report.every)
    rows: list[tuple[str, ...]] = [
        (shown(row["detector"]), shown(row["host"]), f"{row['findings']:,}", duration(row["lost_ns"]))
        for row in report.new.head(_ROWS_SHOWN).iter_rows(named=True)
    ]
    headings: tuple[Heading, ...] = (Heading("finding"), Heading("host", is_elastic=True), *_NUMBERS)
    yield _table(f"New since {since}", headings, rows, report.new.height, width)
    changed = [trend for trend in report.trends if trend.change is not None]
    rows = [
        (shown(trend.detector), shown(trend.host), change_words(trend, report.every))
        for trend in changed[:_ROWS_SHOWN]
    ]
    headings = (Heading("finding"), Heading("host", is_elastic=True), Heading("change"))
    yield _table(f"What changed, and the {report.every} when it did", headings, rows, len(changed), width)
    for name, columns in GROUPINGS.items():
        frame = report.groups[name]
        rows = [
            (*map(shown, row[: len(columns)]), f"{row[-2]:,}", duration(row[-1]))
            for row in frame.head(_ROWS_SHOWN).iter_rows()
        ]
        headings = (*(Heading(_TITLES.get(each, each), is_elastic=True) for each in columns), *_NUMBERS)
        yield _table(f"Time lost by {name}", headings, rows, frame.height, width)
    rows = [(cause, duration(time_ns)) for cause, time_ns in report.causes.head(_ROWS_SHOWN).iter_rows()]
    headings = (Heading("cause"), Heading("time", is_number=True))
    yield _table("Time of all transactions by cause", headings, rows, report.causes.height, width)


_NUMBERS: Final = (Heading("findings", is_number=True), Heading("lost", is_number=True))


def _table(
    title: str, headings: tuple[Heading, ...], rows: list[tuple[str, ...]], height: int, width: int
) -> list[str]:
    if not rows:
        return [f"{title}: nothing"]
    left = [f"… and {height - len(rows):,} more: --format json has all"] if height > len(rows) else []
    return [f"{title}:", *grid(headings, rows, width), *left]
