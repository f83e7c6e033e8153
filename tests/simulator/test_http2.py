"""HTTP/2 in simulations: the h2 package, tshark and our analysis read the scenario's exchanges."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from itertools import pairwise

import h2.config
import h2.connection
import h2.events
import h2.settings
import hpack
import hyperframe.frame
import pytest

import tcptrace_http
from reference_sim.http2 import FIRST_WINDOW, Http2, WriteOrder
from reference_sim.page import Constant, Object, Page
from reference_sim.scenario import Record
from reference_sim.scenario_file import parse
from reference_sim.scenario_writer import toml_of
from reference_sim.simulation import simulate
from reference_sim.stack import Nagle
from reference_sim.stacks import stack
from reference_sim.strategies import STRATEGIES
from reference_sim.workloads import retrieval
from tcptrace_http.errors import ScenarioError

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
QUIET = replace(stack("linux-6"), nagle=Nagle.OFF)
SIZES = (20_000, 3_000, 50_000, 0, 17_000, 120_000)
CHOICES = {
    "plain": Http2(),
    "round-robin": Http2(order=WriteOrder.ROUND_ROBIN, frame_bytes=16_384),
    "priority": Http2(order=WriteOrder.PRIORITY),
    "narrow-streams": Http2(stream_window=5_000, connection_window=1 << 20),
    "late-requests": Http2(waits_for_settings=True, stream_window=1 << 20, connection_window=1 << 20),
}


def page(sizes=SIZES, urgencies=()):
    fields = dict(enumerate(urgencies))
    objects = (
        Object(
            target=f"/{number}",
            content_type="text/html",
            size=Constant(value=size),
            request_fields=(f"Priority: u={fields[number]}",) if number in fields else (),
        )
        for number, size in enumerate(sizes)
    )
    return Page(name="streams", host="www.example.com", objects=tuple(objects))


def by_streams(choice, strategy="http2", **choices):
    common = {"page": page(), "network": "lan", "client_stack": QUIET, "record": Record.everything()}
    made = STRATEGIES[strategy].but("chosen", "as chosen", http2=choice)
    return retrieval(strategy=made, **{**common, **choices})


def segments(simulation, folder):
    """Return sender and payload of each data segment, as seen by the client."""
    path = folder / "x.pcap"
    simulation.write_pcap(path, at="client")
    command = [
        "tshark",
        "-n",
        "-r",
        path,
        "-Y",
        "tcp.len>0",
        "-T",
        "fields",
        "-e",
        "tcp.dstport",
        "-e",
        "tcp.payload",
    ]
    output = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    rows = (line.split("\t") for line in output.splitlines())
    return [("client" if port == "80" else "server", bytes.fromhex(payload)) for port, payload in rows]


def frames(data):
    """Return the complete frames at the beginning of these bytes, and the remaining bytes."""
    found = []
    while len(data) >= 9:
        frame, length = hyperframe.frame.Frame.parse_frame_header(memoryview(data[:9]))
        if len(data) < 9 + length:
            break
        frame.parse_body(memoryview(data[9 : 9 + length]))
        found.append(frame)
        data = data[9 + length :]
    return found, data


class Model:
    """Client of the h2 package that follows a capture: it raises if the server breaks a rule."""

    def __init__(self, choice):
        self._client = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
        code = h2.settings.SettingCodes.INITIAL_WINDOW_SIZE
        self._client.local_settings = h2.settings.Settings(
            client=True, initial_values={code: choice.stream_window}
        )
        self._client.initiate_connection()
        self._server = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
        self._left = b""
        self._has_preface = False
        self.requests, self.bodies, self.statuses, self.ended = {}, {}, {}, []

    def sent(self, data):
        """Pass data that the client sent."""
        for event in self._server.receive_data(data):
            if isinstance(event, h2.events.RequestReceived):
                self.requests[event.stream_id] = dict(event.headers)
                self._client.send_headers(event.stream_id, event.headers, end_stream=True)
        self._left += data
        if not self._has_preface:
            assert self._left.startswith(PREFACE)
            self._has_preface, self._left = True, self._left[len(PREFACE) :]
        found, self._left = frames(self._left)
        for frame in found:
            if isinstance(frame, hyperframe.frame.WindowUpdateFrame):
                self._client.increment_flow_control_window(frame.window_increment, frame.stream_id or None)

    def received(self, data):
        """Pass data that the client received."""
        for event in self._client.receive_data(data):
            if isinstance(event, h2.events.ResponseReceived):
                self.statuses[event.stream_id] = dict(event.headers)[b":status"]
            if isinstance(event, h2.events.DataReceived):
                self.bodies[event.stream_id] = self.bodies.get(event.stream_id, b"") + event.data
            if isinstance(event, h2.events.StreamEnded):
                self.ended.append(event.stream_id)


def distant(scenario):
    """Return the scenario over a path of 100 ms."""
    links = tuple(replace(link, delay=50_000_000) for link in scenario.network.links)
    return replace(scenario, network=replace(scenario.network, links=links))


def replayed(scenario, folder):
    model = Model(scenario.servers[0].http2)
    for side, data in segments(simulate(scenario), folder):
        (model.sent if side == "client" else model.received)(data)
    return model


@pytest.mark.parametrize("name", CHOICES)
def test_h2_package_reads_both_ends_frames(name, tmp_path):
    """Check that the h2 client raises on an exceeded window, a closed stream and a bad header block."""
    model = replayed(by_streams(CHOICES[name]), tmp_path)
    targets = [request[b":path"].decode() for request in model.requests.values()]
    assert sorted(targets) == [f"/{number}" for number in range(len(SIZES))]
    assert {request[b":authority"] for request in model.requests.values()} == {b"www.example.com"}
    assert set(model.statuses.values()) == {b"200"}
    sizes = {
        target: len(model.bodies.get(stream, b"")) for stream, target in zip(model.requests, targets, strict=True)
    }
    assert sizes == {f"/{number}": size for number, size in enumerate(SIZES)}
    assert sorted(model.ended) == sorted(model.requests)


def test_header_blocks_need_the_dynamic_table(tmp_path):
    scenario = by_streams(Http2())
    data = b"".join(data for side, data in segments(simulate(scenario), tmp_path) if side == "server")
    blocks = [frame.data for frame in frames(data)[0] if isinstance(frame, hyperframe.frame.HeadersFrame)]
    decoder = hpack.Decoder()
    fields = [dict(decoder.decode(block)) for block in blocks]
    lengths = {int(each["content-length"]) for each in fields}
    assert lengths == set(SIZES)
    assert len(blocks[1]) < len(blocks[0]) / 2
    with pytest.raises(hpack.HPACKDecodingError):
        hpack.Decoder().decode(blocks[1])


def test_a_long_head_continues_in_continuation_frames(tmp_path):
    scenario = by_streams(Http2())
    scenario = replace(scenario, servers=(replace(scenario.servers[0], min_head_bytes=40_000),))
    model = replayed(scenario, tmp_path)
    assert len(model.ended) == len(SIZES)


@pytest.mark.parametrize("name", CHOICES)
def test_our_analysis_reads_the_transactions_of_the_truth(name):
    simulation = simulate(by_streams(CHOICES[name]))
    ours = tcptrace_http.analyze(simulation.pcap()).transactions
    true = simulation.truth.transactions
    names = ("target", "request_header_bytes", "response_wire_bytes")
    told = {target: rest for target, *rest in ours.select(*names).rows()}
    assert set(ours["protocol"]) == {"h2"}
    assert told == {
        target: [request, head + body]
        for target, request, head, body in true.select(
            "target", "request_bytes", "response_head_bytes", "response_body_bytes"
        ).rows()
    }
    last = dict(ours.select("target", "response_last_time").rows())
    assert last == dict(true.select("target", "response_last_received").rows())


def ends(scenario):
    rows = simulate(scenario).truth.transactions.sort("response_last_received")
    return [target for target in rows["target"] if target != "/0"]


LARGE = (1000, 100_000, 100_000, 100_000)


def test_the_order_of_writes_decides_which_stream_ends_first():
    sequential = ends(by_streams(Http2(connection_window=1 << 20, stream_window=1 << 20), page=page(LARGE)))
    assert sequential == ["/1", "/2", "/3"]
    urgent = page(LARGE, urgencies=(3, 5, 4, 0))
    # Order is irrelevant for data in a send buffer.
    small = replace(QUIET, send_buffer=16_384)
    choice = Http2(connection_window=1 << 20, stream_window=1 << 20, order=WriteOrder.PRIORITY)
    assert ends(by_streams(choice, page=urgent, server_stack=small)) == ["/3", "/2", "/1"]


def gaps(order):
    """Return milliseconds between the ends of three responses of a length."""
    choice = Http2(connection_window=1 << 20, stream_window=1 << 20, order=order)
    rows = simulate(by_streams(choice, page=page(LARGE))).truth.transactions
    times = sorted(rows.filter(rows["target"] != "/0")["response_last_received"])
    return [(after - before).total_seconds() * 1000 for before, after in pairwise(times)]


def test_streams_in_turn_end_together():
    assert max(gaps(WriteOrder.ROUND_ROBIN)) < 0.3 * min(gaps(WriteOrder.SEQUENTIAL))


@pytest.mark.parametrize("window", ["stream_window", "connection_window"])
def test_a_window_lets_half_of_it_or_all_go_each_rtt(window):
    """Check window updates at half the window: frames that end there cause an update at once."""
    wide = {"stream_window": 1 << 24, "connection_window": 1 << 24}
    narrow = {**wide, window: FIRST_WINDOW}
    size = 2_000_000
    elapsed = {}
    for name, windows in (("wide", wide), ("narrow", narrow)):
        scenario = distant(by_streams(Http2(**windows), page=page((size,))))
        (row,) = simulate(scenario).truth.retrievals.iter_rows(named=True)
        elapsed[name] = (row["end"] - row["start"]).total_seconds()
    assert size / FIRST_WINDOW * 0.1 <= elapsed["narrow"] <= 1.05 * size / (FIRST_WINDOW / 2) * 0.1
    assert elapsed["wide"] < elapsed["narrow"] / 2


def test_waiting_for_settings_takes_a_rtt():
    def start(waits):
        truth = simulate(distant(by_streams(Http2(waits_for_settings=waits)))).truth
        opened, sent = truth.connections["established"][0], truth.transactions["request_first_sent"].min()
        return (sent - opened).total_seconds()

    round_trip = 2 * 0.05
    assert start(waits=True) - start(waits=False) == pytest.approx(round_trip, rel=0.05)


def test_streams_come_whole_when_segments_are_lost():
    truth = simulate(by_streams(Http2(stream_window=1 << 20, connection_window=1 << 20), network="wan")).truth
    assert truth.packets["received"].null_count() > 0
    assert truth.transactions["response_last_received"].null_count() == 0


def test_secured_streams_offer_h2():
    simulation = simulate(by_streams(Http2(), strategy="http2-tls"))
    (row,) = tcptrace_http.analyze(simulation.pcap()).tls_handshakes.iter_rows(named=True)
    assert row["alpn_offered"] == "h2"
    assert simulation.truth.transactions["response_last_received"].null_count() == 0


def test_choices_stand_in_a_scenario_file():
    scenario = by_streams(CHOICES["priority"])
    assert parse(toml_of(scenario)) == scenario


@pytest.mark.parametrize("wrong", [{"stream_window": 0}, {"connection_window": 1000}, {"frame_bytes": 20_000}])
def test_a_window_that_http2_does_not_have_is_refused(wrong):
    with pytest.raises(ScenarioError, match=next(iter(wrong))):
        Http2(**wrong)
