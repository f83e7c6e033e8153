"""Long retrievals: an inference takes time as they grow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from reference_sim.networks import path
from reference_sim.page import Constant, Page, objects_of
from reference_sim.scenario import Record
from reference_sim.simulation import simulate
from reference_sim.topology import DataSegments
from reference_sim.workloads import retrieval
from tcptrace_http.analysis import Analysis, analyze
from tcptrace_http.inference import NEEDED_TABLES, infer
from tcptrace_http.inference.loss import losses
from tcptrace_http.inference.observed import observed
from tcptrace_http.inference.rate import bottleneck_rate
from tests.steps import TWICE, steps

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MS = 1_000_000
RATE, RTT = 10_000_000, 20 * MS


@pytest.fixture
def retrieved(tmp_path) -> Callable[..., Analysis]:
    """The analysis of one simulated page."""

    def analysis(sizes: list[int], *, strategy: str = "http11", lost: tuple[int, ...] = (), at: str = "client"):
        network = path("path", rate=RATE, delay=RTT // 2)
        if lost:
            network = network.with_link(network.links[1].title, loss=(DataSegments(segments=lost),))
        made = retrieval(
            strategy=strategy,
            page=Page(name="page", objects=objects_of(*sizes)),
            network=network,
            client_stack="linux-6",
            processing=Constant(value=3 * MS),
            record=Record(),
            at=at,
        )
        file: Path = tmp_path / f"{len(sizes)}-{sizes[0]}.pcap"
        simulate(made).write_pcap(file, at=at)
        return analyze(file, tables=NEEDED_TABLES)

    return analysis


def work(call: Callable[[], object]) -> int:
    return steps(call, of="inference")


@pytest.mark.parametrize("at", ["client", "server"])
@pytest.mark.parametrize("strategy", ["http11", "http10-serial"])
def test_twice_the_transactions_are_twice_the_work(retrieved, strategy, at):
    few, many = (retrieved([3000] * count, strategy=strategy, at=at) for count in (20, 40))
    assert work(lambda: infer(many)) < TWICE * work(lambda: infer(few))


@pytest.mark.parametrize("at", ["client", "server"])
def test_twice_the_segments_and_losses_are_twice_the_work(retrieved, at):
    few, many = (
        observed(retrieved([1460 * count], lost=tuple(range(20, count, 40)), at=at)) for count in (400, 800)
    )
    assert len(losses(many, RATE, RTT)) > len(losses(few, RATE, RTT)) > 0
    assert work(lambda: losses(many, RATE, RTT)) < TWICE * work(lambda: losses(few, RATE, RTT))


def test_packets_of_one_rate_are_no_more_work_each(retrieved):
    few, many = (observed(retrieved([1460 * count])) for count in (400, 800))
    assert work(lambda: bottleneck_rate(many)) < TWICE * work(lambda: bottleneck_rate(few))
