"""Findings on uploads: they name the client as sender and the server as receiver, and change the right host."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tcptrace_http

from . import packet_script

CASES = Path(__file__).parent / "cases"


def finding(page: str, title: str, detector: str) -> dict[str, object]:
    """Return the finding of a case file, as text and columns."""
    text = (CASES / page).read_text()
    found = re.search(rf"^## {re.escape(title)}$.*?^```trace\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert found, title
    rows = tcptrace_http.analyze(packet_script.pcap(found[1])).findings.iter_rows(named=True)
    (told,) = (row for row in rows if row["detector"] == detector)
    return told


@pytest.mark.parametrize(
    ("page", "title", "detector", "summary", "remedy"),
    [
        (
            "receive_window_limit.md",
            "Fires: an upload of eight flights of two segments, as large as the server's window",
            "receive-window-limit",
            "the request waited 7 times for the server's receive window",
            "server: do not set SO_RCVBUF",
        ),
        (
            "receive_window_limit.md",
            "Fires: eight flights of two segments, as large as the client's window, one per RTT",
            "receive-window-limit",
            "the response waited 7 times for the client's receive window",
            "client: do not set SO_RCVBUF",
        ),
        (
            "small_send_buffer.md",
            "Fires: an upload with six segments in flight, RTT after RTT",
            "small-send-buffer",
            "the request waited 6 times for room in the client's send buffer",
            "Leave the client's send buffer to its kernel",
        ),
        (
            "zero_window.md",
            "Fires: the server does not read an upload for half a second",
            "zero-window",
            "the server offered no window for 500.0 ms while the request waited",
            "let the server's application read the request sooner",
        ),
        (
            "zero_window.md",
            "Fires: the client does not read for half a second",
            "zero-window",
            "the client offered no window for 500.0 ms while the response waited",
            "let the client's application read sooner",
        ),
        (
            "nagle_hold.md",
            "Fires: head and body of a POST in two writes, over 100 ms",
            "nagle-hold",
            "data of the request waited behind a short segment",
            "on the client's socket",
        ),
        (
            "nagle_delayed_ack.md",
            "Fires: a client sends its request in two writes",
            "nagle-delayed-ack",
            "whose ACK the server delayed",
            "on the client's socket",
        ),
    ],
)
def test_sentence_and_remedy_name_the_right_host(
    page: str, title: str, detector: str, summary: str, remedy: str
) -> None:
    told = finding(page, title, detector)
    assert summary in str(told["summary"])
    assert remedy in str(told["remedy"])


def test_evidence_of_an_upload_has_the_servers_window_and_the_bytes_of_the_request() -> None:
    title = "Fires: an upload of eight flights of two segments, as large as the server's window"
    told = finding("receive_window_limit.md", title, "receive-window-limit")
    assert "23360 bytes" in str(told["evidence"])
    assert "window 2920 bytes" in str(told["evidence"])


def test_server_that_does_not_read_an_upload_is_no_client_that_does_not() -> None:
    script = """
+0.000000 C > S S 0:0(0) win 64240 <mss 1460>
+0.020000 S > C S 0:0(0) ack 1 win 2920 <mss 1460>
+0.020030 C > S . ack 1 win 64240
+0.020100 C > S . 1:1461(1460) ack 1 win 64240 {POST / head=200 body=4180}
+0.020120 C > S . 1461:2921(1460) ack 1 win 64240
+0.040200 S > C . ack 2921 win 500
+0.540200 S > C . ack 2921 win 65160
+0.540250 C > S P 2921:4381(1460) ack 1 win 64240
+0.560400 S > C P 1:201(200) ack 4381 win 65160 {200 head=100 body=100}
+0.560450 C > S . ack 201 win 64240
"""
    causes = tcptrace_http.analyze(packet_script.pcap(script)).waits["cause"].to_list()
    assert "send_limited.receive_window" in causes
    assert "client.not_reading" not in causes
