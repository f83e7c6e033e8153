"""Dataset report as one HTML page: the new findings, the trends, and interactive tables."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from tcptrace_http.charts import needs_altair, trend
from tcptrace_http.corpus_report.words import change_words, headline, shown, size, time_words
from tcptrace_http.report.html.interactive import chart_section, interactive_page, table_of, table_section

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tcptrace_http.corpus_report import CorpusReport

__all__ = ["page"]

#: Maximum number of distinguishable lines.
_LINES: Final = len(trend.COLOURS)
_ROWS_MAX: Final = 5_000


def page(report: CorpusReport) -> str:
    """Return the whole page.

    :raises MissingExtra: the chart library is not installed.
    """
    charts = {"trend": _trend_chart(report)} if report.trends else {}
    tables = _tables(report)
    body = "\n".join(_body(report, charts, tables))
    return interactive_page(f"{report.name}: where the time went", body, charts=charts, tables=tables)


def _trend_chart(report: CorpusReport) -> dict[str, Any]:
    needs_altair()

    lines = report.trends[:_LINES]
    points = pl.concat(
        each.points.with_columns(detector=pl.lit(each.detector), host=pl.lit(shown(each.host))) for each in lines
    )
    changes = [
        {
            "time": each.changed_at,
            "detector": each.detector,
            "host": shown(each.host),
            "words": change_words(each, report.every),
        }
        for each in lines
        if each.change is not None
    ]
    return trend.draw(points, changes, every=report.every, left_out=len(report.trends) - len(lines)).to_dict()


def _tables(report: CorpusReport) -> dict[str, Any]:
    lost = (pl.col("lost_ns") / 1e6).round(3).alias("lost (ms)")
    titles = {name: f"Time lost by {name}" for name in report.groups}
    made = {
        f"by-{name.replace(' ', '-')}": table_of(
            titles[name], frame.head(_ROWS_MAX).select(pl.exclude("lost_ns"), lost), example="host=a.example"
        )
        for name, frame in report.groups.items()
    }
    trends = pl.DataFrame(
        [
            (
                each.detector,
                shown(each.host),
                int(each.points["findings"].sum()),
                int(each.points["transactions"].sum()),
                round(each.lost_ns / 1e6, 3),
                change_words(each, report.every),
            )
            for each in report.trends[:_ROWS_MAX]
        ],
        schema=["detector", "host", "findings", "transactions", "lost (ms)", "change"],
        orient="row",
    )
    if report.trends:
        made = {
            "trends": table_of(
                "Findings at each host", trends, example="host=a.example", selected_by=("detector", "host")
            ),
            **made,
        }
    causes = report.causes.select("cause", (pl.col("time_ns") / 1e6).round(3).alias("time (ms)"))
    return {**made, "causes": table_of("Time of all transactions by cause", causes, example="stall")}


def _body(report: CorpusReport, charts: dict[str, Any], tables: dict[str, Any]) -> Iterator[str]:
    yield f"<header><p class=path>{escape(report.name)}</p>"
    yield f"<h1>{escape(headline(report))}</h1><p>{escape(size(report))}</p></header><main>"
    if report.since is not None:
        yield from _new(report, time_words(report.since, report.every))
    if charts:
        yield chart_section("trend", f"Findings, {report.every} by {report.every}", *_changes(report))
    for name, table in tables.items():
        yield table_section(name, table)
    method = (
        "A change is the most likely change point of the share of transactions with the finding"
        f" per {report.every} (binomial, corrected for overdispersion: Hinkley and Hinkley, Biometrika 57, 1970)."
        " Its chance without a change is below 1 in 1,000, and the share changed by at least half."
        " Notes (severity info) are left out."
    )
    yield f'<section id="method"><h2>How changes are found</h2><p class="quiet">{escape(method)}</p></section>'
    yield "</main>"


def _new(report: CorpusReport, since: str) -> Iterator[str]:
    yield f'<section id="new"><h2>New since {escape(since)}</h2>'
    if report.new.is_empty():
        yield "<p>There are no new findings.</p></section>"
        return
    items = "".join(
        f"<li><b>{escape(row['detector'])}</b> at {escape(shown(row['host']))},"
        f" first {time_words(row['first'], report.every)}:"
        f" {row['findings']:,} findings, {row['lost_ns'] / 1e6:,.1f} ms lost</li>"
        for row in report.new.head(_LINES).iter_rows(named=True)
    )
    more = report.new.height - _LINES
    yield f"<ul>{items}</ul>{f'<p>… and {more:,} more.</p>' if more > 0 else ''}</section>"


def _changes(report: CorpusReport) -> Iterator[str]:
    for each in report.trends[:_LINES]:
        if each.change is not None:
            yield f"{each.detector} at {shown(each.host)} {change_words(each, report.every)}."
