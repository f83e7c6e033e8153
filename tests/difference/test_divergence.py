"""First divergence of two flows: size, order, loss, hold, window, path; with the frames of both."""

from dataclasses import replace

import pytest
from captures import ACK, MILLISECOND, PSH, REQUEST, Connection, clean_exchange, pcap, stalled_exchange

import tcptrace_http
from reference_sim import retrieval
from tcptrace_http.difference.divergence import KINDS

BODY = b"x" * 4000


@pytest.fixture
def divergences(tmp_path):
    """Return the divergences of two record lists by kind."""

    def found(left, right):
        paths = []
        for name, records in (("left", left), ("right", right)):
            path = tmp_path / f"{name}.pcap"
            path.write_bytes(pcap(records))
            paths.append(path)
        return {it.kind: it for it in tcptrace_http.diff(*paths).divergences}

    return found


def exchange(*parts, pause=0, think=2 * MILLISECOND):
    """Return one response in these segments, each acknowledged, with ``pause`` before the second."""
    connection = Connection()
    connection.open()
    connection.from_client(REQUEST, PSH | ACK, after=MILLISECOND)
    for number, part in enumerate(parts):
        wait = think if number == 0 else 12_000 + (pause if number == 1 else 0)
        connection.from_server(part, PSH | ACK, after=wait)
        connection.from_client(after=20_000)
    connection.close()
    return connection.records


HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(BODY)
WHOLE = HEAD + BODY
IN_FULL = [WHOLE[:1460], WHOLE[1460:2920], WHOLE[2920:]]
HEAD_ALONE = [HEAD, BODY[:1460], BODY[1460:2920], BODY[2920:]]


def test_same_exchange_does_not_part_ways(divergences):
    assert divergences(clean_exchange(3), clean_exchange(3)) == {}


def test_header_on_its_own_is_another_size(divergences):
    found = divergences(exchange(*HEAD_ALONE), exchange(*IN_FULL))
    assert set(found) == {"size"}
    # After handshake and request, the response begins in frame 5.
    assert (found["size"].left_frame, found["size"].right_frame) == (5, 5)


def test_think_time_is_the_servers(divergences):
    found = divergences(exchange(*IN_FULL, think=2 * MILLISECOND), exchange(*IN_FULL, think=50 * MILLISECOND))
    assert set(found) == {"server"}
    it = found["server"]
    assert (it.left_frame, it.right_frame, it.cause) == (5, 5, "server.think")
    assert (it.left_wait_ns, it.right_wait_ns) == (2 * MILLISECOND, 50 * MILLISECOND)


def test_data_held_until_a_delayed_ack_is_a_hold(divergences):
    found = divergences(stalled_exchange(180 * MILLISECOND), stalled_exchange(MILLISECOND))
    assert found["hold"].cause == "stall.nagle_delayed_ack"
    assert found["hold"].left_wait_ns == 181 * MILLISECOND
    assert "size" not in found


def simulated(strategy="http11", network="wan", page="eggert-text", stack="reno"):
    return retrieval(strategy=strategy, page=page, network=network, client_stack=stack)


def kinds(left, right):
    return {it.kind for it in tcptrace_http.diff(left, right).divergences}


def test_longer_path_shows_as_a_longer_path():
    assert "path" in kinds(simulated(network="satellite"), simulated(network="lan"))


def test_slower_bottleneck_has_another_pace():
    assert "rate" in kinds(
        simulated(network="modem", page="heidemann"), simulated(network="lan", page="heidemann")
    )


def test_window_that_opens_slower_is_a_window():
    one = simulated(page="bhalekar-1-large", stack="reno")
    other = simulated(page="bhalekar-1-large", stack="linux-6")
    assert "window" in kinds(one, other)


def test_loss_is_reported_with_the_frame_that_was_retransmitted():
    difference = tcptrace_http.diff(
        replace(simulated(network="wan-loss", page="bhalekar-1-large"), seed=7),
        simulated(page="bhalekar-1-large"),
    )
    (loss,) = [it for it in difference.divergences if it.kind == "loss" and it.cause is None]
    assert difference.left.analysis.recoveries["resent_frame"].to_list() == [loss.left_frame]


def test_every_kind_has_a_meaning():
    difference = tcptrace_http.diff(simulated(network="wan-bursts"), simulated(network="lan"))
    assert difference.divergences
    for it in difference.divergences:
        assert KINDS[it.kind] in it.words
