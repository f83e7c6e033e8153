"""The page, put together."""

from __future__ import annotations

import json
from functools import cache
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from tcptrace_http.report.html import drawings, rows
from tcptrace_http.report.quantity import duration
from tcptrace_http.report.verdict import verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import BinaryIO

    from tcptrace_http.analysis import Analysis

__all__ = ["page", "write"]

_PAGE: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<link rel="icon" href="data:,">
<style>
{style}</style>
</head>
<body>
{body}
<script>{vega}</script>
<script>const CHARTS = {charts};
const TABLES = {tables};
{script}</script>
</body>
</html>
"""


def write(analyses: Iterable[Analysis], file: BinaryIO) -> None:
    """Write the page of one capture.

    :raises ValueError: there are several; a page is of one.
    """
    (analysis,) = analyses
    file.write(page(analysis).encode("utf-8", "replace"))


def page(analysis: Analysis) -> str:
    """The whole page.

    :raises MissingExtra: what draws charts is not installed.
    """
    charts = drawings.drawn(analysis)
    tables = rows.tables(analysis)
    return _PAGE.format(
        title=escape(f"{analysis.capture.path}: where the time went"),
        style=_text("style.css"),
        body="\n".join(_body(analysis, charts, tables)),
        vega=drawings.library() if charts else "",
        charts=_json(charts),
        tables=_json(tables),
        script=_text("report.js"),
    )


def _body(analysis: Analysis, charts: dict[str, Any], tables: dict[str, Any]) -> Iterator[str]:
    capture = analysis.capture
    yield f"<header><p class=path>{escape(str(capture.path))}</p>"
    summary = verdict(analysis)
    yield f"<h1>{escape(summary.headline)}</h1><p>{escape(summary.detail)}</p></header>"
    yield "<main>"
    yield from _pathologies(analysis)
    for name, title in drawings.TITLES.items():
        if name in charts:
            yield f'<section id="chart-{name}"><h2>{escape(title)}</h2>'
            yield f'<div class="chart" data-chart="{name}"></div></section>'
    for name, table in tables.items():
        yield _table(name, table)
    yield _quality(analysis)
    yield "</main>"


def _pathologies(analysis: Analysis) -> Iterator[str]:
    """What was found, kind by kind, the most time lost first, with what to change."""
    yield '<section id="findings-by-kind"><h2>What to change</h2>'
    kinds = rows.kinds(analysis)
    if not kinds:
        yield "<p>Nothing was found that a change of the server or its stack would save.</p></section>"
        return
    for kind in kinds:
        lost = (
            f"lost {duration(kind.lost_ns)} in {kind.count}"
            if kind.lost_ns
            else f"{kind.count}, no time lost here"
        )
        yield f'<article class="{escape(kind.severity)}">'
        yield f"<h3>{escape(kind.detector)} <small>{escape(lost)}</small></h3>"
        yield f"<p>{escape(kind.summary)} <span class=quiet>{escape(kind.place)}</span></p>"
        yield f"<p><b>Change:</b> {escape(kind.remedy)}</p>"
        yield "".join(f"<code>{escape(setting)}</code> " for setting in kind.settings)
        yield f"<p class=quiet>{escape(kind.reference)}</p></article>"
    yield "</section>"


def _table(name: str, table: dict[str, Any]) -> str:
    count = len(table["rows"])
    return (
        f'<section id="{name}"><h2>{escape(table["title"])} <small>{count:,}</small></h2>'
        '<input type="search" placeholder="Filter: words, or flow=3"'
        f' aria-label="Filter {escape(table["title"])}">'
        f'<div class="scroll"><table data-table="{name}"><thead></thead><tbody></tbody></table></div>'
        '<p class="quiet" data-shown></p></section>'
    )


def _quality(analysis: Analysis) -> str:
    """What the capture lacks, and what could therefore not be judged."""
    capture = analysis.capture
    links = ", ".join(capture.link_types)
    lines = [f"{capture.packets:,} packets, {capture.tcp_packets:,} of TCP; link types {links}."]
    if capture.truncated:
        lines.append("The capture is cut short; it was analysed as far as it goes.")
    lines += [
        f"{row['detector']}: {row['flows']} connections could not be judged. {row['reason']}."
        for row in analysis.inconclusive.iter_rows(named=True)
    ]
    kinds = analysis.anomalies["kind"].value_counts(sort=True)
    lines += [f"anomaly {kind}: {count:,} times." for kind, count in kinds.iter_rows()]
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f'<section id="quality"><h2>Quality of the capture</h2><ul>{items}</ul></section>'


def _json(value: object) -> str:
    """JSON that stays inside its script element."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


@cache
def _text(name: str) -> str:
    return files("tcptrace_http.report.html").joinpath(name).read_text(encoding="utf-8")
