"""Page of a paper: its score; per claim its statement, the figures side by side, the charts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_sim.reproduction.claim import TITLES
from reference_sim.reproduction.report import words
from reference_sim.reproduction.report.html import badge, document, escape, score

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from reference_sim.reproduction.experiment import Effort
    from reference_sim.reproduction.report.charts import Drawings
    from reference_sim.reproduction.runner import Outcome
    from reference_sim.reproduction.verdict import Comparison

__all__ = ["paper_page"]


def paper_page(paper: str, outcomes: Sequence[Outcome], drawings: Mapping[str, Drawings], effort: Effort) -> str:
    """Return the HTML of the page."""
    title, source = TITLES[paper]
    links = "".join(
        f'<li><a href="#{one.claim.id}">{words.SIGNS[one.judgement.verdict]} {one.claim.id}</a></li>'
        for one in outcomes
    )
    body = [
        '<header><p class="up"><a href="index.html">All papers</a></p>',
        f"<h1>{escape(title)}</h1>",
        f'<p class="source">{escape(source)}</p>',
        score([one.judgement.verdict for one in outcomes]),
        f'<nav aria-label="Claims"><ul>{links}</ul></nav></header>',
        "<main>",
        *(part for one in outcomes for part in _claim(one, drawings[one.claim.id])),
        "</main>",
    ]
    return document(f"{title}: reproduced", "\n".join(body), effort)


def _claim(outcome: Outcome, drawings: Drawings) -> Iterator[str]:
    claim, judgement = outcome.claim, outcome.judgement
    yield f'<section id="{claim.id}"><h2><a href="#{claim.id}">{claim.id}</a> {escape(claim.system)}</h2>'
    uncertain = f" {escape(words.certainty(outcome))}" if outcome.is_uncertain else ""
    shown = f"{badge(judgement.verdict)}{uncertain}"
    yield f'<p class="verdict">{shown} <span class="where">{escape(claim.where)}</span></p>'
    yield f'<p class="says"><b>The paper says:</b> {escape(claim.says)}.</p>'
    if claim.note:
        yield f'<p class="note">{escape(claim.note)}.</p>'
    if judgement.comparisons:
        yield _table(judgement.comparisons)
    yield f'<p class="rule"><b>Rule:</b> {escape(judgement.rule)}.</p>'
    if judgement.remarks:
        yield f'<p class="remarks"><b>Remarks:</b> {escape(judgement.remarks)}</p>'
    if drawings.failure is not None:
        yield f'<p class="remarks"><b>No charts:</b> {escape(drawings.failure.error)}</p>'
    for number, drawing in enumerate(drawings.drawings, start=1):
        yield (
            f'<figure id="{claim.id}-chart-{number}"><div class="scroll">{drawing.inline}</div>'
            f"<figcaption>{escape(drawing.title)}</figcaption></figure>"
        )
    yield "</section>"


_HEADINGS = (
    '<th scope="col">What</th><th scope="col" class="n">Published</th><th scope="col" class="n">Ours</th>'
    '<th scope="col" class="n">95 %</th><th scope="col">Unit</th><th scope="col" class="n">Ratio</th>'
    '<th scope="col">Same, shape</th><th scope="col">Verdict</th>'
)


def _table(comparisons: Sequence[Comparison]) -> str:
    rows = "\n".join(_row(one) for one in comparisons)
    return (
        '<div class="scroll table" tabindex="0" role="region" aria-label="Published and ours">'
        f"<table><thead><tr>{_HEADINGS}</tr></thead>\n<tbody>\n{rows}\n</tbody></table></div>"
    )


def _row(one: Comparison) -> str:
    cells = (
        f'<th scope="row">{escape(one.what)}</th>',
        f'<td class="n">{words.published(one)}</td>',
        f'<td class="n">{words.ours(one.ours)}</td>',
        f'<td class="n">{words.interval(one.ours)}</td>',
        f"<td>{escape(one.unit)}</td>",
        f'<td class="n">{words.ratio(one)}</td>',
        f'<td class="t">{words.tolerances(one)}</td>',
        f"<td>{badge(one.verdict)}</td>",
    )
    return f"<tr>{''.join(cells)}</tr>"
