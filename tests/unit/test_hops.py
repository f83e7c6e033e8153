"""Both legs of a proxy's exchanges, and the upstream waits of the front leg."""

from __future__ import annotations

from itertools import pairwise

import polars as pl
import pytest
from captures import ACK, FIN, MILLISECOND, PSH, START, SYN, Connection, pcap
from hypothesis import example, given, settings
from hypothesis import strategies as st

import tcptrace_http
from tcptrace_http.report import har

CLIENT, PROXY, ORIGIN = ("10.0.0.1", 1029), ("10.0.0.2", 8080), ("10.0.0.3", 9000)
MICROSECOND = 1000


def head(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body)


def request(target: str = "/page", host: str = "a.example") -> bytes:
    return f"GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()


class Leg(Connection):
    """Connection captured at the proxy; each call sends one message."""

    def opened(self, at: int) -> Leg:
        self.time = at
        self.from_client(flags=SYN)
        self.from_server(flags=SYN | ACK, after=50 * MICROSECOND)
        self.from_client(after=50 * MICROSECOND)
        return self

    def ask(self, at: int, message: bytes) -> None:
        self.time = at
        self.from_client(message, flags=ACK | PSH)

    def answer(self, at: int, *pieces: bytes) -> None:
        self.time = at
        for piece in pieces:
            self.from_server(piece, flags=ACK | PSH)

    def acknowledge(self, at: int) -> None:
        self.time = at
        self.from_client()


def legs(number: int = 0) -> tuple[Leg, Leg]:
    """Return a front and an upstream leg, both established before ``START`` + 1 ms."""
    front = Leg((CLIENT[0], CLIENT[1] + number), PROXY).opened(START)
    return front, Leg((PROXY[0], 40_000 + number), ORIGIN).opened(START)


def analysed(*connections: Connection) -> tcptrace_http.Analysis:
    records = [record for connection in connections for record in connection.records]
    return tcptrace_http.analyze(pcap(sorted(records, key=lambda it: it[0])))


def exchange(front: Leg, upstream: Leg, at: int, *, think: int, gap: int, body: bytes = b"x" * 1200) -> None:
    """Send a response of two writes ``gap`` apart, which the proxy forwards on arrival."""
    front.ask(at, request())
    requested = at + 200 * MICROSECOND
    upstream.ask(requested, request())
    come = requested + think
    upstream.answer(come, head(body))
    front.answer(come + 80 * MICROSECOND, head(body))
    upstream.acknowledge(come + gap - 100 * MICROSECOND)
    front.acknowledge(come + gap - 50 * MICROSECOND)
    upstream.answer(come + gap, body)
    front.answer(come + gap + 90 * MICROSECOND, body)
    upstream.acknowledge(come + gap + 150 * MICROSECOND)
    front.acknowledge(come + gap + 200 * MICROSECOND)


def slow_upstream() -> tuple[Leg, Leg]:
    """Return an upstream server with 30 ms of processing, and a Nagle hold of 40 ms in its body."""
    front, upstream = legs()
    exchange(front, upstream, START + MILLISECOND, think=30 * MILLISECOND, gap=40 * MILLISECOND)
    return front, upstream


def pairs(analysis: tcptrace_http.Analysis) -> list[tuple[str, str]]:
    """Return the hops by the clients' ports, which identify the legs."""
    ports = dict(analysis.flows.select("flow", "client_port").iter_rows())
    columns = analysis.hops.select("flow", "transaction", "upstream_flow", "upstream_transaction")
    return [(f"{ports[a]}.{b}", f"{ports[c]}.{d}") for a, b, c, d in columns.iter_rows()]


def causes(analysis: tcptrace_http.Analysis, flow: int) -> dict[str, int]:
    """Return nanoseconds by cause, over the transactions of a flow."""
    length = (pl.col("end") - pl.col("start")).dt.total_nanoseconds().sum()
    own = analysis.waits.filter(flow=flow).group_by(pl.col("cause").cast(pl.String)).agg(length)
    return dict(own.iter_rows())


def assert_partition(analysis: tcptrace_http.Analysis) -> None:
    for row in analysis.transactions.iter_rows(named=True):
        own = analysis.waits.filter(flow=row["flow"], transaction=row["index"])
        assert own["start"][0] == row["start_time"]
        assert own["end"][-1] == row["end_time"]
        assert all(before["end"] == after["start"] for before, after in pairwise(own.iter_rows(named=True)))
        assert (own["start"] < own["end"]).all()


def test_a_proxy_waits_for_its_upstream_and_the_findings_are_those_of_the_upstream_leg():
    front, upstream = slow_upstream()
    analysis = analysed(front, upstream)
    assert pairs(analysis) == [("1029.0", "40000.0")]
    assert analysis.hops["evidence"].item() == "nesting target address host body-size body-digest"
    assert analysis.hops["confidence"].item() > 0.95
    of_front = causes(analysis, 0)
    assert of_front["server.upstream"] == pytest.approx(70 * MILLISECOND, abs=MILLISECOND // 5)
    assert not [cause for cause in of_front if cause.startswith("stall.")]
    assert causes(analysis, 1)["stall.nagle_delayed_ack"] > 39 * MILLISECOND
    assert set(analysis.findings["flow"]) == {1}
    assert {"short-initial-segment", "slow-server"} <= set(analysis.findings["detector"])
    assert_partition(analysis)


def test_the_front_leg_alone_is_reported_as_before():
    front, _ = slow_upstream()
    alone = analysed(front)
    assert alone.hops.is_empty()
    assert "server.upstream" not in causes(alone, 0)
    assert {"short-initial-segment", "slow-server"} <= set(alone.findings["detector"])


def test_waits_name_the_upstream_transaction_in_tables_and_archives():
    analysis = analysed(*slow_upstream())
    is_upstream = pl.col("cause") == "server.upstream"
    named = analysis.waits.filter(is_upstream).select("upstream_flow", "upstream_transaction").unique()
    assert named.rows() == [(1, 0)]
    assert analysis.waits.filter(~is_upstream)["upstream_flow"].is_null().all()
    entries = har.document([analysis])["log"]["entries"]
    told = {wait["cause"]: wait.get("upstream") for entry in entries for wait in entry["_waits"]}
    assert told["server.upstream"] == "1.0"
    assert told["server.think"] is None


def test_a_selection_of_transactions_keeps_their_hops_and_waits():
    analysis = analysed(*slow_upstream())
    front = analysis.where("flow = 0")
    assert front.hops.height == 1
    assert front.waits.equals(analysis.waits.filter(flow=0))
    assert analysis.where("flow = 1").hops.is_empty()


def test_two_requests_for_one_target_that_are_not_nested_are_no_hop():
    front, other = legs()
    front.ask(START + MILLISECOND, request())
    front.answer(START + 2 * MILLISECOND, head(b"same"), b"same")
    other.ask(START + 3 * MILLISECOND, request())
    other.answer(START + 4 * MILLISECOND, head(b"same"), b"same")
    analysis = analysed(front, other)
    assert analysis.may_have_hops
    assert analysis.hops.is_empty()


def test_a_request_that_is_answered_after_the_other_did_not_serve_it():
    front, other = legs()
    front.ask(START + MILLISECOND, request())
    other.ask(START + 2 * MILLISECOND, request())
    front.answer(START + 3 * MILLISECOND, head(b"same"), b"same")
    other.answer(START + 4 * MILLISECOND, head(b"same"), b"same")
    assert analysed(front, other).hops.is_empty()


@pytest.mark.parametrize("target", ["/other", "/page/more"])
def test_another_target_is_no_hop(target):
    front, other = legs()
    front.ask(START + MILLISECOND, request())
    other.ask(START + 2 * MILLISECOND, request(target))
    other.answer(START + 3 * MILLISECOND, head(b"same"), b"same")
    front.answer(START + 4 * MILLISECOND, head(b"same"), b"same")
    assert analysed(front, other).hops.is_empty()


@pytest.mark.parametrize(("body", "is_evidence"), [(b"same", True), (b"else", False)])
def test_a_prefix_may_be_replaced_if_the_bodies_are_the_same(body, is_evidence):
    front, upstream = legs()
    front.ask(START + MILLISECOND, request("/app/v1/page?q=1"))
    upstream.ask(START + 2 * MILLISECOND, request("/v1/page?q=1", "origin"))
    upstream.answer(START + 3 * MILLISECOND, head(body), body)
    front.answer(START + 4 * MILLISECOND, head(b"same"), b"same")
    hops = analysed(front, upstream).hops
    assert hops["evidence"].to_list() == ["nesting target-end address body-size body-digest"] * is_evidence


def test_a_target_in_absolute_form_is_the_same_target():
    front, upstream = legs()
    front.ask(START + MILLISECOND, request("http://a.example/page"))
    upstream.ask(START + 2 * MILLISECOND, request())
    upstream.answer(START + 3 * MILLISECOND, head(b"same"), b"same")
    front.answer(START + 4 * MILLISECOND, head(b"same"), b"same")
    assert pairs(analysed(front, upstream)) == [("1029.0", "40000.0")]


def test_concurrent_requests_for_one_target_are_matched_in_order_and_less_sure():
    both = [legs(number) for number in range(2)]
    for number, (front, upstream) in enumerate(both):
        front.ask(START + (1 + number) * MILLISECOND, request())
        upstream.ask(START + (3 + number) * MILLISECOND, request())
    for front, upstream in both:
        upstream.answer(START + 20 * MILLISECOND, head(b"same"), b"same")
        front.answer(START + 21 * MILLISECOND, head(b"same"), b"same")
    analysis = analysed(*both[0], *both[1])
    assert pairs(analysis) == [("1029.0", "40000.0"), ("1030.0", "40001.0")]
    first, second = analysis.hops.iter_rows(named=True)
    assert "in-order" in first["evidence"]
    assert first["confidence"] < second["confidence"]


def test_bodies_show_concurrent_requests_for_one_target_apart():
    both = [legs(number) for number in range(2)]
    for number, (front, upstream) in enumerate(both):
        front.ask(START + (1 + number) * MILLISECOND, request())
        # The proxy requests the second object first.
        upstream.ask(START + (4 - number) * MILLISECOND, request())
    for body, (front, upstream) in zip((b"one", b"other"), both, strict=True):
        upstream.answer(START + 20 * MILLISECOND, head(body), body)
        front.answer(START + 21 * MILLISECOND, head(body), body)
    analysis = analysed(*both[0], *both[1])
    assert pairs(analysis) == [("1029.0", "40000.0"), ("1030.0", "40001.0")]
    assert not analysis.hops["evidence"].str.contains("in-order").any()


def test_a_proxy_that_asks_again_has_two_upstream_legs():
    front, first = legs()
    second = Leg((PROXY[0], 41_000), ("10.0.0.4", 9000)).opened(START)
    front.ask(START + MILLISECOND, request())
    first.ask(START + 2 * MILLISECOND, request())
    first.answer(START + 12 * MILLISECOND, b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
    second.ask(START + 13 * MILLISECOND, request())
    second.answer(START + 43 * MILLISECOND, head(b"same"), b"same")
    front.answer(START + 44 * MILLISECOND, head(b"same"), b"same")
    analysis = analysed(front, first, second)
    assert pairs(analysis) == [("1029.0", "40000.0"), ("1029.0", "41000.0")]
    assert causes(analysis, 0)["server.upstream"] == pytest.approx(40 * MILLISECOND, abs=MILLISECOND // 5)
    assert_partition(analysis)


def test_on_one_host_each_server_of_a_chain_has_the_next_as_its_upstream():
    host = "127.0.0.1"
    chain = [Leg((host, 50_000 + port), (host, port)).opened(START) for port in (8080, 8081, 8082)]
    for number, leg in enumerate(chain):
        leg.ask(START + (1 + number) * MILLISECOND, request())
    for number, leg in enumerate(reversed(chain)):
        leg.answer(START + (30 + number) * MILLISECOND, head(b"same"), b"same")
    analysis = analysed(*chain)
    assert pairs(analysis) == [("58080.0", "58081.0"), ("58081.0", "58082.0")]


def test_a_proxy_with_two_addresses_is_identified_by_the_capture_point():
    """Check legs on different addresses: the front leg is public, the upstream leg on loopback."""
    front = Leg(CLIENT, PROXY)
    front.time = START
    front.from_client(flags=SYN)
    front.from_server(flags=SYN | ACK, after=10 * MICROSECOND)
    front.from_client(after=20 * MILLISECOND)
    upstream = Leg(("127.0.0.1", 40_000), ("127.0.0.1", 9000)).opened(START)
    at = front.time
    front.ask(at + MILLISECOND, request())
    front.from_server(after=10 * MICROSECOND)
    upstream.ask(at + 2 * MILLISECOND, request())
    upstream.answer(at + 12 * MILLISECOND, head(b"same"), b"same")
    front.answer(at + 13 * MILLISECOND, head(b"same"), b"same")
    front.acknowledge(at + 33 * MILLISECOND)
    analysis = analysed(front, upstream)
    assert analysis.flows["observation_point"][0] == "server"
    assert pairs(analysis) == [("1029.0", "40000.0")]
    assert "address" not in analysis.hops["evidence"].item()


def test_a_host_with_one_server_has_no_proxy():
    host = "127.0.0.1"
    both = [Leg((host, 50_000 + number), (host, 8080)).opened(START) for number in range(2)]
    for number, leg in enumerate(both):
        leg.ask(START + (1 + number) * MILLISECOND, request())
    for number, leg in enumerate(reversed(both)):
        leg.answer(START + (30 + number) * MILLISECOND, head(b"same"), b"same")
    analysis = analysed(*both)
    assert not analysis.may_have_hops
    assert analysis.hops.is_empty()


def test_holds_of_a_proxys_own_socket_stay_its_own():
    """Check a complete upstream response whose last segment Nagle's algorithm holds on the front leg."""
    front, upstream = legs()
    body = b"x" * 1200
    front.ask(START + MILLISECOND, request())
    upstream.ask(START + 2 * MILLISECOND, request())
    upstream.answer(START + 3 * MILLISECOND, head(body), body)
    front.answer(START + 4 * MILLISECOND, head(body))
    front.acknowledge(START + 44 * MILLISECOND)
    front.answer(START + 44 * MILLISECOND + 90 * MICROSECOND, body)
    front.acknowledge(START + 45 * MILLISECOND)
    upstream.acknowledge(START + 45 * MILLISECOND)
    analysis = analysed(front, upstream)
    assert pairs(analysis) == [("1029.0", "40000.0")]
    assert causes(analysis, 0)["stall.nagle_delayed_ack"] > 39 * MILLISECOND
    assert "short-initial-segment" in analysis.findings.filter(flow=0)["detector"].to_list()
    assert_partition(analysis)


@pytest.mark.parametrize("is_held", [True, False])
def test_a_slow_front_leg_waits_for_upstream_only_during_its_silence(is_held):
    """Check an upstream body that arrives at once after a silence; the client's window then limits its flights."""
    front, upstream = legs()
    body = b"x" * (1460 * 30)
    segments = [body[at : at + 1460] for at in range(0, len(body), 1460)]
    front.ask(START + MILLISECOND, request())
    upstream.ask(START + 2 * MILLISECOND, request())
    upstream.answer(START + 12 * MILLISECOND, head(body))
    front.answer(START + 12 * MILLISECOND + 80 * MICROSECOND, head(body))
    come = START + 62 * MILLISECOND
    if is_held:
        upstream.acknowledge(come - 100 * MICROSECOND)
        front.acknowledge(come - 50 * MICROSECOND)
    upstream.answer(come, *segments)
    upstream.acknowledge(come + 200 * MICROSECOND)
    at = come + 300 * MICROSECOND
    for first in range(0, 30, 10):
        front.answer(at, *segments[first : first + 10])
        at += 15 * MILLISECOND
        front.acknowledge(at)
        at += 50 * MICROSECOND
    analysis = analysed(front, upstream)
    of_front = causes(analysis, 0)
    assert of_front["server.upstream"] == pytest.approx(60 * MILLISECOND, abs=MILLISECOND)
    assert not [cause for cause in of_front if "nagle" in cause]
    assert sum(spent for cause, spent in of_front.items() if cause.startswith("send_limited.")) > 25 * MILLISECOND
    assert_partition(analysis)


SPANS = st.integers(0, 60).map(lambda milliseconds: milliseconds * MILLISECOND + MILLISECOND)


@settings(max_examples=25)
@given(exchanges=st.lists(st.tuples(SPANS, SPANS, st.integers(1, 1400), SPANS), min_size=1, max_size=4))
@example(exchanges=[(MILLISECOND, 41 * MILLISECOND, 1200, MILLISECOND)] * 2)
def test_waits_of_both_legs_partition_their_time(exchanges):
    front, upstream = legs()
    at = START
    for think, gap, size, later in exchanges:
        at += later
        exchange(front, upstream, at, think=think, gap=gap, body=b"x" * size)
        at = front.time
    for leg in (front, upstream):
        leg.from_client(flags=ACK | FIN, after=MILLISECOND)
    analysis = analysed(front, upstream)
    assert analysis.hops.height == len(exchanges)
    assert_partition(analysis)
    spent = causes(analysis, 0)["server.upstream"]
    assert spent == pytest.approx(
        sum(think + gap for think, gap, _, _ in exchanges), abs=len(exchanges) * MILLISECOND
    )


def test_no_segment_bound_a_wait_for_upstream():
    waits = analysed(*slow_upstream()).waits
    bound = ("direction", "constraint", "released_by", "offset", "bytes")
    bound += ("behind_frame", "behind_offset", "behind_bytes")
    upstream = waits.filter(pl.col("cause") == "server.upstream").select(bound)
    assert upstream.height > 0
    assert upstream.null_count().row(0) == (upstream.height,) * len(bound)
    passed_on = waits.filter(pl.col("cause") == "server.data_unavailable", flow=0)
    assert passed_on.drop_nulls("constraint")["constraint"].unique().to_list() == ["application"]
    assert passed_on["released_by"].is_null().all()
