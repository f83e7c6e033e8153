"""Losses and full queues: an inferred scenario repeats the capture's losses, and explains them."""

from dataclasses import replace

import pytest

from reference_sim.networks import path
from reference_sim.page import Page, objects_of
from reference_sim.scenario import KeepAlive, Record
from reference_sim.simulation import simulate
from reference_sim.topology import ByteQueue, DataSegments, LostSegment, PacketLoss, PacketQueue, SegmentsLost
from reference_sim.workloads import retrieval, tap_at
from tcptrace_http.analysis import analyze
from tcptrace_http.inference import NEEDED_TABLES
from tcptrace_http.inference.loss import Lost, chance_of_loss, loss_rate, segments_of
from tcptrace_http.inference.observe import observe
from tests.inference.scenarios import random_case
from tests.inference.validation import inference_of, page_time

_MS = 10**6
ENDS = ("client", "server")
SLOWER = ("newreno", "linux-6")


def scenario(*, queue=None, loss=(), stack="reno", strategy="http10-serial", sizes=(60_000, 30_000, 12_000)):
    """Return a page over 2 Mb/s and 60 ms, captured at both ends."""
    network = path("lossy", rate=2_000_000, delay=30 * _MS)
    (there, back) = (link.title for link in network.links)
    network = network.with_link(back, loss=loss)
    if queue is not None:
        network = network.with_link(there, queue=queue).with_link(back, queue=queue)
    page = Page(name="page", objects=objects_of(*sizes))
    made = retrieval(strategy=strategy, page=page, network=network, client_stack=stack, record=Record())
    return replace(made, taps=tuple(tap_at(network, end) for end in ENDS))


def lost_of(inferred):
    """Return connection and offset of an inferred scenario's losses towards the client."""
    return {
        (segment.connection, segment.offset)
        for loss in inferred.network.links[1].loss
        for segment in loss.segments
    }


@pytest.mark.parametrize("at", ENDS)
@pytest.mark.parametrize(
    "stack",
    ["reno", pytest.param("newreno", marks=pytest.mark.slow), pytest.param("linux-6", marks=pytest.mark.slow)],
)
def test_a_scenario_that_is_inferred_loses_the_segments_that_were_lost(stack, at):
    lost = SegmentsLost(
        segments=(LostSegment(connection=0, offset=14_601), LostSegment(connection=1, offset=5841))
    )
    run = simulate(scenario(loss=(lost,), stack=stack))
    found = inference_of(run, at)
    assert found.figure("path.loss").how.startswith("2 of ")
    assert len(lost_of(found.scenario)) == 2
    assert page_time(simulate(found.scenario)) == pytest.approx(page_time(run), rel=1e-3)


@pytest.mark.parametrize("at", ENDS)
def test_a_segment_at_the_end_of_a_response_is_found_to_be_lost_though_it_leaves_no_hole(at):
    # The response of 12,000 bytes and its head have nine segments.
    run = simulate(scenario(loss=(SegmentsLost(segments=(LostSegment(connection=2, offset=11_681),)),)))
    found = inference_of(run, at)
    assert {connection for connection, _ in lost_of(found.scenario)} == {2}
    assert page_time(simulate(found.scenario)) == pytest.approx(page_time(run), rel=1e-3)


@pytest.mark.parametrize("at", ENDS)
def test_a_syn_ack_that_was_lost_is_lost_again(at):
    run = simulate(scenario(loss=(SegmentsLost(segments=(LostSegment(connection=1, offset=0),)),)))
    found = inference_of(run, at)
    assert lost_of(found.scenario) == {(1, 0)}
    assert page_time(simulate(found.scenario)) == pytest.approx(page_time(run), rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("queue", "told"),
    [(ByteQueue(limit=12_000), 12_000), (PacketQueue(limit=8), 12_000), (ByteQueue(limit=24_000), 24_000)],
)
@pytest.mark.parametrize("at", ENDS)
def test_the_bound_of_a_queue_that_dropped_packets_is_reported(queue, told, at):
    found = inference_of(simulate(scenario(queue=queue, sizes=(250_000, 30_000))), at)
    figure = found.figure("path.queue")
    assert not figure.is_assumed
    assert figure.value * (1500 if figure.unit == "packets" else 1) == pytest.approx(told, rel=0.2)
    assert found.scenario.network.links[1].queue != scenario().network.links[1].queue


@pytest.mark.parametrize("at", ENDS)
def test_a_queue_that_dropped_nothing_is_without_bound(at):
    figure = inference_of(simulate(scenario(queue=ByteQueue(limit=100_000))), at).figure("path.queue")
    assert figure.is_assumed
    assert figure.value is None
    assert figure.low > 0


@pytest.mark.parametrize("at", ENDS)
def test_random_losses_are_no_full_queue(at):
    found = inference_of(simulate(scenario(loss=(DataSegments(segments=(3,)),))), at)
    assert found.figure("path.queue").is_assumed
    assert lost_of(found.scenario)


def test_other_strategies_lose_as_many_packets_by_chance():
    found = inference_of(simulate(scenario(loss=(DataSegments(segments=(3,)),))), "server")
    (loss,) = found.by_chance.network.links[1].loss
    assert isinstance(loss, PacketLoss)
    assert loss.rate == pytest.approx(found.figure("path.loss").value)
    assert inference_of(simulate(scenario()), "server").by_chance.network.links[1].loss == ()


@pytest.mark.parametrize("at", ENDS)
def test_a_server_that_closes_after_some_requests_is_reported(at):
    base = scenario(strategy="http11", sizes=(3000, 2000, 2000, 2000, 2000, 2000))
    closing = replace(
        base, servers=tuple(replace(server, keep_alive=KeepAlive(max_requests=2)) for server in base.servers)
    )
    found = inference_of(simulate(closing), at)
    assert found.figure("server.max_requests").value == 2
    assert found.figure("browser.strategy").value == "http11"
    assert inference_of(simulate(base), at).figure("server.max_requests").is_assumed


def test_a_wait_that_no_run_explains_is_no_loss():
    # Nothing is lost; at the client, the server's partial writes wait for an event that no run reproduces.
    figure = inference_of(simulate(random_case(90089).scenario), "client").figure("path.loss")
    assert figure.value == 0.0
    assert "does not reproduce the capture" in figure.how


@pytest.fixture
def small(tmp_path):
    """Return a page as seen at the server."""
    path = tmp_path / "small.pcap"
    simulate(scenario(sizes=(3000,))).write_pcap(path, at="server")
    return observe(analyze(path, tables=NEEDED_TABLES))


def test_more_losses_than_packets_are_all_of_them(small):
    lost = tuple(Lost(0, True, 1 + number, 5) for number in range(2 * len(small.packets)))
    figure = loss_rate(small, lost, of_runs=lost)
    assert figure.value == figure.high == chance_of_loss(small, lost) == 1


def test_data_before_the_captured_connection_is_in_no_stream(small):
    lost = (Lost(0, True, -20_299, 5), Lost(0, True, 1, 6), Lost(0, False, 1, 7))
    assert segments_of(small, lost, to_client=True) == (LostSegment(connection=0, offset=1, times=1),)
