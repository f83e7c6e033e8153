"""Assembly of the page."""

from __future__ import annotations

from contextlib import suppress
from html import escape
from typing import TYPE_CHECKING, Any, Final

from tcptrace_http.difference.html import sections
from tcptrace_http.difference.html.rows import retrievals_table, transactions_table
from tcptrace_http.difference.plots import DifferencePlots
from tcptrace_http.difference.words import title, told
from tcptrace_http.errors import NothingToDraw
from tcptrace_http.html_page import style_of
from tcptrace_http.quantity import counted, duration
from tcptrace_http.report.html.interactive import chart_section, interactive_page, table_section

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tcptrace_http.difference.compared import Compared
    from tcptrace_http.difference.side import Side

__all__ = ["page"]

#: Maximum number of packets for flow charts, which need the segments.
_PACKETS_MAX: Final = 2_000_000


def page(difference: Compared) -> str:
    """Return the whole page.

    :raises MissingExtra: the chart library is not installed.
    """
    charts = _charts(difference)
    tables = {"transactions": transactions_table(difference)}
    if difference.retrievals.height > 1:
        tables["retrievals"] = retrievals_table(difference)
    return interactive_page(
        f"{difference.left.name} against {difference.right.name}",
        "\n".join(_body(difference, charts, tables)),
        charts=charts,
        tables=tables,
        style=style_of("tcptrace_http.difference.html"),
    )


def _charts(difference: Compared) -> dict[str, Any]:
    """Return the charts with data."""
    names = ["causes", "transactions"]
    sides = (difference.left, difference.right)
    if all(side.analysis.capture.packets <= _PACKETS_MAX for side in sides):
        names.append("sequence")
    made = {}
    for name in names:
        with suppress(NothingToDraw):
            made[name] = DifferencePlots(difference).chart(name).to_dict()
    return made


def _body(difference: Compared, charts: dict[str, Any], tables: dict[str, Any]) -> Iterator[str]:
    yield f"<header><h1>{escape(title(difference))}</h1>"
    yield from (f"<p>{escape(words)}</p>" for words in told(difference))
    yield from _sides(difference)
    yield "</header><main>"
    if "causes" in charts:
        yield chart_section("causes", "Difference by cause")
    yield from sections.causes(difference)
    yield from sections.stalls(difference)
    if "transactions" in charts:
        yield chart_section("transactions", "The retrieval that differs most")
    for name, table in tables.items():
        yield table_section(name, table)
    yield from sections.divergences(difference)
    if "sequence" in charts:
        yield chart_section("sequence", "Both flows in one graph")
    yield from sections.models(difference)
    yield from sections.assumptions(difference)
    yield sections.quality(difference)
    yield "</main>"


def _sides(difference: Compared) -> Iterator[str]:
    times = difference.left_ns, difference.right_ns
    yield '<div class="sides">'
    yield _side("left", difference.left, times[0], max(times), difference)
    yield _side("right", difference.right, times[1], max(times), difference)
    yield "</div>"


def _side(word: str, side: Side, elapsed_ns: int, longest_ns: int, difference: Compared) -> str:
    share = 100 * elapsed_ns / longest_ns if longest_ns else 0
    aligned = counted(difference.aligned_retrievals.height, "retrieval")
    return (
        f'<article class="{word}"><h2>{word}: {escape(side.name)}</h2>'
        f'<p class="quiet">{escape(side.kind)}</p><b>{duration(elapsed_ns)}</b>'
        f'<p class="quiet">in {aligned} of both sides</p>'
        f'<div class="share" style="width:{share:.2f}%" aria-hidden="true"></div></article>'
    )
