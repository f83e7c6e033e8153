"""Section 2.4: a rate from the connection's own measurements after an idle time (H11).

The paper prefers this to a reset, a kept and a decayed window, and does not test it: "keep the window open but
... limit the rate at which packets are introduced into the network". BBR does so today, for all data. The
experiment compares it with a kept and a reset window of Linux 6, on an access link of today.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, Final

from reference_sim.page import Constant, Page, objects_of
from reference_sim.papers.heidemann_1996.restarts import POLICIES, second_visit
from reference_sim.reproduction.experiment import Effort, Experiment, Results, Run
from reference_sim.reproduction.verdict import Comparison, Judgement, Mean, judged
from reference_sim.strategies import named_strategy
from reference_sim.workloads import retrieval

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["H11"]

_PAUSE_NS: Final = 3 * 10**9
#: Documents that fit into the link's queue, and that exceed it.
_SIZES: Final = {"500 kB": 500_000, "2 MB": 2_000_000}
_RATE: Final = "BBR"
_KEPT: Final = "kept window"
_RESET: Final = "reset window"
#: "Avoiding burstiness": fewer packets at once than a new connection sends (RFC 6928).
_BURST_MAX: Final = 9
#: Larger than the time of one burst, and smaller than an RTT.
_EQUAL: Final = 0.1


def _label(way: str, size: str) -> str:
    return f"{way}, {size}"


def _runs(_: Effort) -> Iterator[Run]:
    keep, reset = (named_strategy(POLICIES[policy]) for policy in ("keep", "reset"))
    ways = {
        _RATE: (replace(keep, server_stack={}), "linux-6-bbr"),
        _KEPT: (keep, "linux-6"),
        _RESET: (reset, "linux-6"),
    }
    for size, many in _SIZES.items():
        page = Page(name=size, objects=objects_of(many))
        for way, (strategy, stack) in ways.items():
            made = retrieval(
                strategy=strategy,
                page=page,
                network="broadband",
                client_stack=stack,
                think=Constant(value=_PAUSE_NS),
            )
            yield Run(label=_label(way, size), scenario=made, measure=second_visit)


def _judge(results: Results) -> Judgement:
    def of(way: str, size: str, quantity: str) -> float:
        return results.value(_label(way, size), quantity)

    small, large = _SIZES
    times = {
        f"time of a reset window over that of a rate, {small}": (_RESET, _RATE, small, 1.0),
        f"time of a kept window over that of a rate, {small}": (_KEPT, _RATE, small, 1 - _EQUAL),
        f"time of a kept window over that of a rate, {large}": (_KEPT, _RATE, large, 1.0),
        f"time of a reset window over that of a rate, {large}": (_RESET, _RATE, large, 1.0),
    }
    return judged(
        [
            *(
                _must(what, "ratio", of(way, size, "seconds") / of(other, size, "seconds"), (least, inf))
                for what, (way, other, size, least) in times.items()
            ),
            *(
                _must(f"packets in one burst, rate, {size}", "packets", of(_RATE, size, "burst"), (1, _BURST_MAX))
                for size in _SIZES
            ),
        ],
        remarks="The paper has no experiment. A rate needs no slow start, as a kept window does not, and it does"
        " not overflow the queue that a kept window fills at once.",
    )


def _must(what: str, unit: str, ours: float, within: tuple[float, float]) -> Comparison:
    return Comparison(what=what, unit=unit, published=within, ours=Mean(ours), tolerance=0.0, shape_tolerance=0.0)


H11: Final = Experiment(claim="H11", studies=frozenset({"congestion", "idle_restart"}), runs=_runs, judge=_judge)
