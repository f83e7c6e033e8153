"""Scenarios from HTTP/2 captures: strategy, windows and order are recovered, and run durations match."""

from dataclasses import replace

import pytest

import tcptrace_http
from reference_sim.http2 import FIRST_WINDOW, Http2, WriteOrder
from reference_sim.simulation import simulate
from reference_sim.workloads import tap_at
from tcptrace_http.inference import NEEDED_TABLES, infer
from tcptrace_http.what_if.outcome import elapsed_of
from tcptrace_http.what_if.strategies import unmodified
from tests.inference.stream_scenarios import told_of
from tests.inference.validation import inference_of
from tests.simulator.test_http2 import QUIET, by_streams, distant, page

ENDS = ("client", "server")
LARGE = (20_000, 150_000, 90_000, 120_000)
WITHIN = 0.15
#: Required share of correct inferences, and of runs with matching duration.
RIGHT = 0.9
EVERYDAY = range(3)
THOROUGH = range(1000, 1030)


def captured(choice, at="client", *, stack=QUIET, **choices):
    scenario = distant(by_streams(choice, page=page(LARGE, **choices), server_stack=stack))
    return simulate(replace(scenario, taps=(tap_at(scenario.network, at),)))


def shares(found):
    return sum(each.is_right for each in found) / len(found), sum(each.off <= WITHIN for each in found) / len(
        found
    )


def test_random_streams_are_found_again_from_the_captures_of_both_ends():
    assert shares([told_of(seed, at) for seed in EVERYDAY for at in ENDS]) == (1, 1)


@pytest.mark.slow
def test_strategy_and_time_of_60_captures_of_random_streams_are_reported():
    found = [told_of(seed, at) for seed in THOROUGH for at in ENDS]
    right, near = shares(found)
    assert right >= RIGHT
    assert near >= RIGHT


@pytest.mark.parametrize("at", ENDS)
@pytest.mark.parametrize(
    "choice",
    [
        Http2(stream_window=FIRST_WINDOW, connection_window=1 << 20, frame_bytes=1 << 14),
        Http2(stream_window=1 << 18, connection_window=FIRST_WINDOW),
        Http2(stream_window=1 << 20, connection_window=1 << 24, waits_for_settings=True),
    ],
)
def test_windows_frames_and_the_wait_for_settings_are_read_as_they_were(choice, at):
    found = inference_of(captured(choice, at), at)
    told = found.scenario.servers[0].http2
    assert replace(told, update_bytes=None) == choice
    narrowest = min(choice.stream_window, choice.connection_window)
    assert told.update_bytes is None or told.update_bytes >= narrowest // 2
    assert found.figure("client.h2_stream_window").value == choice.stream_window
    assert not found.figure("client.h2_connection_window").is_assumed


@pytest.mark.parametrize("order", WriteOrder)
def test_the_order_in_which_the_server_writes_is_reported_by_its_frames(order):
    choice = Http2(stream_window=1 << 20, connection_window=1 << 24, order=order)
    # Data in a large buffer was written before the next request arrived.
    stack = replace(QUIET, send_buffer=1 << 16)
    found = inference_of(captured(choice, stack=stack, urgencies=(0, 6, 5, 1)), "client")
    assert found.figure("server.h2_order").value == order


@pytest.mark.parametrize("at", ENDS)
def test_streams_inside_tls_are_reported_by_alpn_and_their_windows_are_assumed(at):
    choice = Http2(stream_window=1 << 20, connection_window=1 << 24)
    scenario = distant(by_streams(choice, strategy="http2-tls", page=page(LARGE)))
    found = inference_of(simulate(replace(scenario, taps=(tap_at(scenario.network, at),))), at)
    assert found.figure("browser.strategy").value == "http2-tls"
    assert found.figure("client.h2_stream_window").is_assumed
    assert elapsed_of(unmodified(found.scenario)) == pytest.approx(elapsed_of(unmodified(scenario)), rel=WITHIN)


def test_a_narrow_window_of_a_real_client_is_retold_and_a_wider_one_saves_its_rtts(sample_traces):
    """Return three responses of 60 kB through a connection window of 64 kB, over 100 ms."""
    found = tcptrace_http.whatif(
        sample_traces / "h2_connection_window.pcap", fixes=["wider-h2-windows"], strategies=["http11"], draws=0
    )
    assert found.modelled_ns == pytest.approx(found.measured_ns, rel=0.02)
    assert found.baseline_causes["send_limited.h2_connection_window"] > 100_000_000
    saved = found.row("wider-h2-windows")
    assert saved.saved_ns > 80_000_000
    assert saved.causes[0].cause == "send_limited.h2_connection_window"
    assert found.row("http11").saved_ns < 0


def test_a_head_that_nagles_algorithm_parts_from_its_data_is_retold(sample_traces):
    """Return a server that flushes each head: the following data waits for the delayed ACK, 24 times."""
    analysis = tcptrace_http.analyze(sample_traces / "h2_nagle.pcap", tables=NEEDED_TABLES)
    found = infer(analysis, session=True)
    assert found.figure("browser.strategy").value == "http2"
    assert found.figure("server.writes").value == "head alone"
    assert found.figure("server.nagle").value != "off"
    whole = tcptrace_http.whatif(analysis, fixes=["no-nagle"], draws=0, session=True)
    assert whole.modelled_ns == pytest.approx(whole.measured_ns, rel=WITHIN)
    assert whole.row("no-nagle").saved_ns > 24 * 35_000_000
