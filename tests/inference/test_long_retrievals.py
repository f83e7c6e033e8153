"""Long retrievals: inference time grows linearly, and only the first part of an oversized one is modelled."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from reference_sim.networks import path
from reference_sim.page import Constant, Page, objects_of
from reference_sim.scenario import Record
from reference_sim.scenario_file import parse
from reference_sim.simulation import simulate
from reference_sim.topology import DataSegments
from reference_sim.workloads import retrieval
from tcptrace_http.analysis import Analysis, analyze
from tcptrace_http.inference import NEEDED_TABLES, infer, part
from tcptrace_http.inference.loss import losses
from tcptrace_http.inference.observe import observe
from tcptrace_http.inference.rate import bottleneck_rate
from tcptrace_http.inference.report import as_json, as_text, as_toml
from tcptrace_http.what_if import strategies, whatif
from tests.steps import TWICE, steps

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MS = 1_000_000
RATE, RTT = 10_000_000, 20 * MS


@pytest.fixture
def retrieved(tmp_path) -> Callable[..., Analysis]:
    """Return the analysis of one simulated page."""

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
        observe(retrieved([1460 * count], lost=tuple(range(20, count, 40)), at=at)) for count in (400, 800)
    )
    assert len(losses(many, RATE, RTT)) > len(losses(few, RATE, RTT)) > 0
    assert work(lambda: losses(many, RATE, RTT)) < TWICE * work(lambda: losses(few, RATE, RTT))


def test_packets_of_one_rate_are_no_more_work_each(retrieved):
    few, many = (observe(retrieved([1460 * count])) for count in (400, 800))
    assert work(lambda: bottleneck_rate(many)) < TWICE * work(lambda: bottleneck_rate(few))


@pytest.fixture
def short(monkeypatch) -> int:
    """Maximum number of modelled segments."""
    monkeypatch.setattr(part, "MOST_SEGMENTS", 200)
    return 200


@pytest.mark.parametrize("at", ["client", "server"])
@pytest.mark.parametrize("strategy", ["http11", "http10-parallel-4", "http11-pipelined"])
def test_the_beginning_of_a_long_page_is_modelled_and_reported_as_such(retrieved, short, strategy, at):
    analysis = retrieved([6000] * 60, strategy=strategy, at=at)
    inference = infer(analysis)
    assert inference.part is not None
    assert inference.part.packets <= short < inference.part.of_packets
    assert 0 < inference.part.transactions < inference.part.of_transactions == 60
    (visit,) = inference.scenario.browsers[0].visits
    assert len(visit.page.objects) == inference.part.transactions
    told = inference.figure("browser.strategy")
    assert strategy in {told.value, *told.alternatives}
    assert told.confidence > 0
    assert inference.part.words in as_text(inference, width=1000)
    assert json.loads(as_json(inference))["part"]["of_transactions"] == 60
    assert simulate(parse(as_toml(inference, "page.pcap"))).totals.retrievals == 1
    assert inference.part.words in as_toml(inference, "page.pcap")


def test_response_that_is_too_long_is_modelled_up_to_there(retrieved, short):
    inference = infer(retrieved([1460 * 600]))
    assert inference.part is not None
    assert (inference.part.transactions, inference.part.cut_transactions) == (1, 1)
    (base,) = inference.scenario.browsers[0].visits[0].page.objects
    assert isinstance(base.size, Constant)
    assert 1460 * short / 3 < base.size.value < 1460 * short
    # The run equals the capture up to there.
    assert inference.figure("browser.strategy").confidence > 0.3
    assert inference.figure("path.rate").value == pytest.approx(RATE, rel=0.05)


def test_page_that_is_not_too_long_is_modelled_whole(retrieved):
    inference = infer(retrieved([6000] * 5))
    assert inference.part is None
    assert json.loads(as_json(inference))["part"] is None
    assert as_text(inference).startswith("Seen in the capture")


def test_prediction_states_its_part(retrieved, short):
    prediction = whatif(retrieved([6000] * 60), fixes=["no-nagle"], draws=0)
    assert prediction.part is not None
    assert prediction.part.packets <= short
    assert prediction.is_reproduced
    assert prediction.part.words in prediction.text(width=1000)
    assert json.loads(prediction.json())["part"]["of_transactions"] == 60


def test_connections_that_share_a_window_are_not_simulated_if_they_are_too_many(retrieved, monkeypatch):
    monkeypatch.setattr(strategies, "SHARING_MOST", 4)
    names = ["http10-etcp-fair", "http10-parallel-all"]
    few, many = (whatif(retrieved([900] * count), strategies=names, draws=0) for count in (4, 5))
    assert {row.name for row in few.rows} == set(names)
    assert [(one.name, "among 5 connections" in one.reason) for one in many.skipped] == [(names[0], True)]
