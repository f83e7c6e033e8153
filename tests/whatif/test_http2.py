"""Page time by HTTP/2, predicted from an HTTP/1.1 capture, against a real server."""

from __future__ import annotations

from dataclasses import replace

import pytest

import tcptrace_http
from reference_sim.http2 import FIRST_WINDOW, Http2
from reference_sim.scenario import NodeTap
from reference_sim.simulation import simulate
from reference_sim.strategies import STRATEGIES
from tcptrace_http.errors import ScenarioError
from tcptrace_http.inference import infer
from tcptrace_http.what_if.outcome import elapsed_of, outcome_of
from tcptrace_http.what_if.strategies import under, unmodified
from tests.simulator.test_http2 import by_streams, distant, page
from tests.whatif.real_pages import IMAGES, measured, took
from tests.whatif.retrievals import RETRIEVALS

WITHIN = 0.15
WIDE = 1 << 24
LARGE = (20_000, 300_000, 50_000)


def causes(choice, **choices):
    return outcome_of(unmodified(distant(by_streams(choice, page=page(LARGE), **choices)))).causes


def test_an_http2_window_is_the_cause_of_its_blocked_frames():
    wide = causes(Http2(stream_window=WIDE, connection_window=WIDE * 4))
    assert not [name for name in wide if "h2" in name or name == "server.data_unavailable"]
    of_stream = causes(Http2(stream_window=FIRST_WINDOW, connection_window=WIDE))
    assert of_stream["send_limited.h2_stream_window"] > 300_000_000
    of_connection = causes(Http2(stream_window=WIDE, connection_window=FIRST_WINDOW))
    assert of_connection["send_limited.h2_connection_window"] > 300_000_000


def test_the_wait_for_settings_has_its_cause():
    choice = Http2(stream_window=WIDE, connection_window=WIDE * 4, waits_for_settings=True)
    assert causes(choice)["setup.h2_settings"] == pytest.approx(100_000_000, rel=0.05)
    with pytest.raises(ScenarioError, match="SETTINGS"):
        causes(choice, strategy="http2-tls")


@pytest.mark.parametrize("name", ["secured", "nodelay"])
def test_the_prediction_equals_the_scenarios_time_by_streams(name):
    scenario = RETRIEVALS[name]
    true = elapsed_of(under(scenario, STRATEGIES["http2"]))
    capture = simulate(replace(scenario, taps=(NodeTap(name="client"),))).pcap()
    row = tcptrace_http.whatif(tcptrace_http.analyze(capture), strategies=["http2"], draws=0).row("http2")
    assert row.elapsed_ns == pytest.approx(true, rel=0.05)
    assert sum(cause.after_ns - cause.before_ns for cause in row.causes) == -row.saved_ns


@pytest.fixture(scope="module", params=[0.02, 0.1], ids=["20ms", "100ms"])
def real(request, tmp_path_factory):
    """Return the analysis of the fastest retrieval by each protocol over the same path, by protocol."""
    analyses = measured(tmp_path_factory.mktemp("real"), round_trip=request.param)
    return {how: each[0] for how, each in analyses.items()}


@pytest.mark.slow
@pytest.mark.parametrize(("source", "other", "strategy"), [("h1", "h2", "http2"), ("h2", "h1", "http11")])
def test_a_real_servers_page_takes_the_predicted_time(real, source, other, strategy):
    told = tcptrace_http.whatif(real[source], strategies=[strategy], draws=0)
    assert told.modelled_ns == pytest.approx(took(real[source]), rel=WITHIN)
    assert told.row(strategy).elapsed_ns == pytest.approx(took(real[other]), rel=WITHIN)


@pytest.mark.slow
def test_the_streams_of_a_real_server_are_identified(real):
    found = infer(real["h2"])
    assert found.figure("browser.strategy").value == "http2"
    assert found.figure("client.h2_stream_window").value == 1 << 20
    assert found.scenario.browsers[0].visits[0].plan.pipelining >= len(IMAGES)
    assert elapsed_of(unmodified(found.scenario)) == pytest.approx(took(real["h2"]), rel=WITHIN)
