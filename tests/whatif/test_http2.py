"""What a page takes by HTTP/2, predicted from a capture by HTTP/1.1; the same page of a real server."""

from __future__ import annotations

import subprocess
import sys
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
from tcptrace_http.what_if.strategies import as_it_is, under
from tests.detectors.loopback import captured
from tests.probe.link import delayed_link
from tests.probe.servers import nginx_within, readable_folder
from tests.simulator.test_http2 import by_streams, distant, page
from tests.whatif import page_client
from tests.whatif.retrievals import RETRIEVALS

WITHIN = 0.15
WIDE = 1 << 24
LARGE = (20_000, 300_000, 50_000)


def causes(choice, **choices):
    return outcome_of(as_it_is(distant(by_streams(choice, page=page(LARGE), **choices)))).causes


def test_a_window_of_http2_is_the_cause_of_what_it_holds():
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
def test_the_prediction_is_what_the_scenario_takes_by_streams(name):
    scenario = RETRIEVALS[name]
    true = elapsed_of(under(scenario, STRATEGIES["http2"]))
    capture = simulate(replace(scenario, taps=(NodeTap(name="client"),))).pcap()
    row = tcptrace_http.whatif(tcptrace_http.analyze(capture), strategies=["http2"], draws=0).row("http2")
    assert row.elapsed_ns == pytest.approx(true, rel=0.05)
    assert sum(cause.after_ns - cause.before_ns for cause in row.causes) == -row.saved_ns


# From 2 to 40 kB, in no order.
IMAGES = [round(2000 * 20 ** (7 * number % 20 / 19)) for number in range(20)]
# The link is late by milliseconds where the machine is busy.
_RETRIEVALS = 6
PORTS = {"h1": 80, "h2": 8080}


def fetched(how, link, path):
    """The capture of the page at its client."""
    within = ["ip", "netns", "exec", link.client]
    with captured(PORTS[how], path, within=within, device=link.device, address=link.address):
        command = [*within, sys.executable, page_client.__file__, how, link.address, str(PORTS[how])]
        subprocess.run(command, check=True)
    return tcptrace_http.analyze(path)


def took(analysis):
    """From the SYN to the last byte of the last response."""
    last = analysis.transactions["response_last_time"].max()
    return (last - analysis.flows["start"].min()).total_seconds() * 1e9


@pytest.fixture(scope="module", params=[0.02, 0.1], ids=["20ms", "100ms"])
def real(request, tmp_path_factory):
    """The analysis of the best of some retrievals by each protocol over the same path, by protocol."""
    analyses = {}
    tmp_path = tmp_path_factory.mktemp("real")
    with readable_folder() as folder, delayed_link(round_trip_seconds=request.param) as link:
        (folder / "www").mkdir()
        links = "".join(f'<img src="/{number}.html" alt="{"a" * 200}">\n' for number in range(len(IMAGES)))
        (folder / "www" / "index.html").write_text(links)
        for number, size in enumerate(IMAGES):
            (folder / "www" / f"{number}.html").write_bytes(b"x" * size)
        server = f"listen {link.address}:{PORTS['h2']} http2;"
        with nginx_within(folder, link.server, link.address, server=server):
            for how in PORTS:
                paths = (tmp_path / f"{how}-{number}.pcap" for number in range(_RETRIEVALS))
                analyses[how] = [fetched(how, link, path) for path in paths]
    return {how: min(each, key=took) for how, each in analyses.items()}


@pytest.mark.slow
@pytest.mark.parametrize(("source", "other", "strategy"), [("h1", "h2", "http2"), ("h2", "h1", "http11")])
def test_a_page_of_a_real_server_takes_what_was_predicted_of_its_capture(real, source, other, strategy):
    told = tcptrace_http.whatif(real[source], strategies=[strategy], draws=0)
    assert told.modelled_ns == pytest.approx(took(real[source]), rel=WITHIN)
    assert told.row(strategy).elapsed_ns == pytest.approx(took(real[other]), rel=WITHIN)


@pytest.mark.slow
def test_the_streams_of_a_real_server_are_told_as_such(real):
    found = infer(real["h2"])
    assert found.figure("browser.strategy").value == "http2"
    assert found.figure("client.h2_stream_window").value == 1 << 20
    assert found.scenario.browsers[0].visits[0].plan.pipelining >= len(IMAGES)
    assert elapsed_of(as_it_is(found.scenario)) == pytest.approx(took(real["h2"]), rel=WITHIN)
