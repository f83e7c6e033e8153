"""Index page: the total score, the papers, one line per claim."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_sim.reproduction.claim import TITLES, claims
from reference_sim.reproduction.report.html import badge, document, escape, score
from reference_sim.reproduction.report.words import certainty

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from reference_sim.reproduction.experiment import Effort
    from reference_sim.reproduction.runner import Outcome

__all__ = ["index_page"]


_BASELINES: Final = (
    '<section id="baselines"><h2><a href="baselines.html">Analytic models beside the simulator</a></h2>'
    '<p class="source">Six models and two bounds, by size, round trip, loss and ACKs.</p></section>'
)


def index_page(by_paper: Mapping[str, Sequence[Outcome]], effort: Effort, *, has_baselines: bool = False) -> str:
    """Return the HTML of the page."""
    verdicts = [one.judgement.verdict for shown in by_paper.values() for one in shown]
    requested = f"{len(verdicts)} of the {len(claims())} claims of {len(TITLES)} papers"
    body = [
        "<header><h1>Claims of the papers, simulated</h1>",
        f'<p class="source">{requested}, each beside what the paper prints, with the rule that judges it.</p>',
        score(verdicts),
        "</header>",
        "<main>",
        *(part for paper, shown in by_paper.items() for part in _paper(paper, shown)),
        *([_BASELINES] if has_baselines else []),
        "</main>",
    ]
    return document("Claims of the papers, simulated", "\n".join(body), effort)


def _paper(paper: str, outcomes: Sequence[Outcome]) -> Iterator[str]:
    title, source = TITLES[paper]
    yield f'<section id="{paper}"><h2><a href="{paper}.html">{escape(title)}</a></h2>'
    yield f'<p class="source">{escape(source)}</p>'
    yield score([one.judgement.verdict for one in outcomes])
    yield '<div class="scroll"><table><tbody>'
    for one in outcomes:
        claim = one.claim
        yield (
            f'<tr><th scope="row"><a href="{paper}.html#{claim.id}">{claim.id}</a></th>'
            f'<td class="where">{escape(claim.where)}</td><td>{escape(claim.system)}</td>'
            f"<td>{badge(one.judgement.verdict)}{_uncertain(one)}</td></tr>"
        )
    yield "</tbody></table></div></section>"


def _uncertain(outcome: Outcome) -> str:
    return f" {escape(certainty(outcome))}" if outcome.is_uncertain else ""
