"""Section 6.1: whole pages take the same time over E-TCP and over one HTTP/1.1 connection (E8)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_sim.papers.eggert_1999.bundles import PAGES, Bars, Cell, Situation, Transport, page_run, quantity
from reference_sim.papers.eggert_1999.compared import compared
from reference_sim.plan import HttpVersion
from reference_sim.reproduction.experiment import Experiment
from reference_sim.reproduction.verdict import Judgement, judged
from reference_sim.strategy import Discovery, Strategy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reference_sim.reproduction.experiment import Effort, Results, Run

__all__ = ["SECTION_6_1"]

# More objects than any page has: all requests at once.
_ALL: Final = 100
_PIPELINED: Final = Strategy(
    name="eggert-http11",
    about="HTTP/1.1 on one connection, requests as the links arrive",
    source="Eggert 1999, section 6.1",
    version=HttpVersion.HTTP11,
    persistent=True,
    pipelining=_ALL,
    discovery=Discovery.STREAMING,
)


def _label(page: str) -> str:
    return f"HTTP/1.1, {page}"


def _runs(_: Effort) -> Iterator[Run]:
    for page in PAGES:
        yield Cell(page=page, situation=Situation.MODEL, transport=Transport.FAIR).run()
        yield page_run(_label(page), _PIPELINED, page)


def _judge(results: Results) -> Judgement:
    bars = Bars(results)
    comparisons = [
        compared(
            f"total of {page}: E-TCP over HTTP/1.1",
            1.0,
            bars.time("total", Situation.MODEL, page, Transport.FAIR)
            / results.value(_label(page), quantity("total")),
        )
        for page in PAGES
    ]
    return judged(
        comparisons, remarks="The paper argues it and measures nothing; model scenario, fair scheduling."
    )


SECTION_6_1: Final = Experiment(claim="E8", runs=_runs, judge=_judge)
