"""One page by HTTP/1.1 and by HTTP/2: aligned by target, split by cause, no comparison of unlike segments."""

import pytest
from captures import Connection, pcap
from http2_exchanges import AUTHORITY, page

import tcptrace_http
from difference.laws import assert_everything_is_there_once, assert_split_is_exact

TARGETS = ("/", "/a.css", "/b.js", "/c.png")
THINK = 5_000_000


def by_http1() -> bytes:
    connection = Connection()
    connection.open()
    for number, target in enumerate(TARGETS):
        referer = f"Referer: http://{AUTHORITY}/\r\n" if number else ""
        connection.exchange(f"GET {target} HTTP/1.1\r\nHost: {AUTHORITY}\r\n{referer}\r\n".encode(), think=THINK)
    return pcap(connection.records)


@pytest.fixture(scope="module")
def versions():
    return tcptrace_http.diff(tcptrace_http.analyze(by_http1()), tcptrace_http.analyze(pcap(page(TARGETS))))


def test_transactions_are_aligned_by_method_and_target(versions):
    assert_split_is_exact(versions)
    assert_everything_is_there_once(versions)
    pairs = versions.transactions.select("how", "method", "left_target", "right_target").rows()
    assert pairs == [("same", "GET", target, target) for target in TARGETS]


def test_waits_behind_other_streams_are_a_cause_of_their_own(versions):
    causes = versions.transaction_causes.filter(cause="send_limited.multiplexed_behind")
    assert causes.height > 0
    assert (causes["left"].to_physical() == 0).all()
    assert (causes["difference"].to_physical() < 0).all()


def test_segments_of_two_versions_are_not_compared(versions):
    assert [it.kind for it in versions.divergences] == ["version"]
    assert "no model has streams of HTTP/2" in set(versions.residuals["fails"])


def test_overlapping_streams_are_not_compared_by_segments():
    difference = tcptrace_http.diff(*(tcptrace_http.analyze(pcap(page(TARGETS, size))) for size in (4000, 9000)))
    told = {it.kind: it.left_transaction for it in difference.divergences}
    assert told["streams"] == 1
    assert {it.left_transaction for it in difference.divergences if it.kind != "streams"} <= {0}
