"""Assembly of the page."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from tcptrace_http.quantity import duration
from tcptrace_http.report.html import drawings, rows
from tcptrace_http.report.html.interactive import chart_section, interactive_page, table_section
from tcptrace_http.verdict import findings_words, verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import BinaryIO

    from tcptrace_http.analysis import Analysis

__all__ = ["page", "write"]


def write(analyses: Iterable[Analysis], file: BinaryIO) -> None:
    """Write the page of one capture.

    :raises ValueError: several captures are given.
    """
    (analysis,) = analyses
    file.write(page(analysis).encode("utf-8", "replace"))


def page(analysis: Analysis) -> str:
    """Return the whole page.

    :raises MissingExtra: the chart library is not installed.
    """
    charts = drawings.drawn(analysis)
    tables = rows.tables(analysis)
    title = f"{analysis.capture.path}: where the time went"
    body = "\n".join(_body(analysis, charts, tables))
    return interactive_page(title, body, charts=charts, tables=tables)


def _body(analysis: Analysis, charts: dict[str, Any], tables: dict[str, Any]) -> Iterator[str]:
    capture = analysis.capture
    yield f"<header><p class=path>{escape(str(capture.path))}</p>"
    summary = verdict(analysis)
    told = findings_words(analysis.findings)
    yield f"<h1>{escape(summary.headline)}</h1><p>{escape(told)}. {escape(summary.detail)}</p></header>"
    yield "<main>"
    yield from _pathologies(analysis)
    for name, title in drawings.TITLES.items():
        if name in charts:
            yield chart_section(name, title)
    for name, table in tables.items():
        yield table_section(name, table)
    yield _quality(analysis)
    yield "</main>"


def _pathologies(analysis: Analysis) -> Iterator[str]:
    """Yield the findings by kind, largest loss first, with their remedies."""
    yield '<section id="findings-by-kind"><h2>What to change</h2>'
    kinds = rows.kinds(analysis)
    if not kinds:
        yield "<p>No change of the server or its stack would save time.</p></section>"
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


def _quality(analysis: Analysis) -> str:
    """Return the defects of the capture, and the judgements that they prevent."""
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
