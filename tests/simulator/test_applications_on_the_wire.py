"""Messages of simulated applications in tshark's dissection: the truth's messages, and no others."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import polars as pl
import pytest

from reference_sim.page import Constant, Object
from reference_sim.pages import PAGES
from reference_sim.scenario import KeepAlive, SlowReading
from reference_sim.simulation import simulate
from reference_sim.strategies import STRATEGIES
from reference_sim.strategy import Protocol
from reference_sim.workloads import retrieval

from .wireshark import complaints, dissect, values

# One strategy per kind of choice; another test has all strategies.
EVERYDAY = ("http10-parallel", "http11-pipelined", "segment-filled")
# HTTP/2 has a module of its own.
HTTP = sorted(
    name for name, strategy in STRATEGIES.items() if strategy.protocol is Protocol.HTTP and strategy.http2 is None
)


def at_client(simulation):
    """Return the transactions of the connections that the first browser's node opened."""
    connections = simulation.truth.connections
    own = connections.filter(pl.col("client_node") == connections["client_node"][0])["connection"]
    return simulation.truth.transactions.filter(pl.col("connection").is_in(own.implode()))


def assert_is_on_the_wire(frames, transactions):
    """Check all requests and responses, and the body lengths."""
    assert list(complaints(frames)) == []
    assert Counter(values(frames, "http.request.method")) == Counter(transactions["method"])
    assert Counter(values(frames, "http.request.uri")) == Counter(transactions["target"])
    answered = transactions.drop_nulls("response_last_received")
    assert Counter(values(frames, "http.response.code")) == Counter(map(str, answered["status"]))
    with_body = answered.filter(pl.col("status") != 304)
    lengths = Counter(map(int, values(frames, "http.content_length")))
    assert lengths == Counter(with_body["response_body_bytes"])


def retrieved(strategy, *, page="heidemann", network="thesis", **choices):
    return retrieval(strategy=strategy, page=page, network=network, **choices)


def with_server(scenario, **changes):
    return replace(scenario, servers=tuple(replace(server, **changes) for server in scenario.servers))


def with_browser(scenario, **changes):
    return replace(scenario, browsers=tuple(replace(browser, **changes) for browser in scenario.browsers))


@pytest.mark.parametrize("strategy", EVERYDAY)
def test_tshark_sees_the_messages_of_the_truth(tmp_path, strategy):
    simulation = simulate(retrieved(strategy))
    assert simulation.truth.retrievals["end"].null_count() == 0
    assert_is_on_the_wire(dissect(simulation, tmp_path), at_client(simulation))


@pytest.mark.slow
@pytest.mark.parametrize("strategy", HTTP)
def test_tshark_sees_the_messages_of_every_strategy(tmp_path, strategy):
    network = "satellite-hub" if strategy == "optimized-browser" else "thesis"
    simulation = simulate(retrieved(strategy, network=network))
    assert simulation.truth.retrievals["end"].null_count() == 0
    assert_is_on_the_wire(dissect(simulation, tmp_path), at_client(simulation))


@pytest.mark.slow
@pytest.mark.parametrize("page", sorted(PAGES))
def test_tshark_sees_the_messages_of_every_page(tmp_path, page):
    simulation = simulate(retrieved("http11-pipelined", page=page))
    assert_is_on_the_wire(dissect(simulation, tmp_path), at_client(simulation))


def test_bodies_of_many_kinds_and_lengths_are_dissected_without_complaint(tmp_path):
    kinds = {
        "text/html": (1, 63, 64, 65, 5000),
        "image/gif": (35, 36, 290, 291, 292, 3000),
        "image/png": (82, 83, 4000),
        "image/jpeg": (26, 27, 70_000),
        "text/css": (1000,),
        "application/octet-stream": (1, 1000),
    }
    bodies = [(kind, size) for kind, sizes in kinds.items() for size in sizes]
    objects = [
        Object(target=f"/{kind}/{size}", content_type=kind, size=Constant(value=size)) for kind, size in bodies
    ]
    gzip = [
        Object(
            target=f"/gzip/{size}",
            content_type="text/html",
            size=Constant(value=size),
            response_fields=("Content-Encoding: gzip",),
        )
        for size in (23, 24, 1000, 66_000, 140_000)
    ]
    page = PAGES["heidemann"].with_objects((*objects, *gzip))
    simulation = simulate(retrieved("http10-parallel", page=page))
    frames = dissect(simulation, tmp_path)
    assert_is_on_the_wire(frames, at_client(simulation))
    assert values(frames, "image-gif.version") == ["GIF89a"] * len(kinds["image/gif"])


def test_a_response_smaller_than_its_head_is_well_formed(tmp_path):
    page = PAGES["heidemann"].with_objects((Object(target="/", content_type="text/html", size=Constant(value=9)),))
    scenario = with_server(retrieved("http11", page=page), sizes_include_heads=True, min_head_bytes=500)
    simulation = simulate(scenario)
    assert_is_on_the_wire(dissect(simulation, tmp_path), at_client(simulation))


def test_requests_that_a_closing_server_left_are_retransmitted_on_the_wire(tmp_path):
    keep_alive = KeepAlive(max_requests=2)
    simulation = simulate(with_server(retrieved("http11-pipelined"), keep_alive=keep_alive))
    transactions = at_client(simulation)
    assert transactions["response_last_received"].null_count() > 0
    frames = dissect(simulation, tmp_path)
    answered = transactions.drop_nulls("response_last_received")
    assert len(values(frames, "http.response.code")) == answered.height == len(PAGES["heidemann"].objects)
    assert list(complaints(frames)) == []


def test_a_slow_reader_has_its_responses_later_than_its_host(tmp_path):
    scenario = retrieved("http11")
    fast, slow = (
        simulate(with_browser(scenario, reading=reading))
        for reading in (None, SlowReading(after_bytes=1000, pause=2 * 10**9))
    )
    assert_is_on_the_wire(dissect(slow, tmp_path), at_client(slow))
    first, second = (simulation.truth.transactions["response_last_received"] for simulation in (fast, slow))
    assert second.max() > first.max()


@pytest.mark.parametrize("waits", [False, True])
def test_tshark_dissects_the_control_connection_as_ftp(tmp_path, waits):
    scenario = retrieved("ftp")
    scenario = replace(scenario, transfers=(replace(scenario.transfers[0], waits_for_replies=waits),))
    simulation = simulate(scenario)
    files = simulation.truth.retrievals
    assert files["end"].null_count() == 0
    frames = dissect(simulation, tmp_path)
    assert list(complaints(frames)) == []
    commands = Counter(values(frames, "ftp.request.command"))
    assert commands["USER"] == commands["QUIT"] == 1
    # tshark names only the first line of a segment: complete if each command waits for its reply.
    if waits:
        assert commands["RETR"] == commands["PORT"] == files.height
        codes = Counter(values(frames, "ftp.response.code"))
        assert codes["150"] == codes["226"] == files.height
