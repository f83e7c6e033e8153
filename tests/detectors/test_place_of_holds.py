"""Findings that waits tell have the place of the hold, not of the ACK that shows near the server what it cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

import tcptrace_http
from tests.detectors import packet_script

if TYPE_CHECKING:
    from pathlib import Path

#: At the server: what is left of the first response leaves 82.5 ms after the beginning, with the second one.
FILLED_BY_NEXT = """\
+0.010000 C > S S 0:0(0) win 64240 <mss 1460>
+0.010010 S > C S 0:0(0) ack 1 win 65160 <mss 1460>
+0.030010 C > S . ack 1 win 64240
+0.031000 C > S P 1:101(100) ack 1 win 64240 {GET /a}
+0.041000 S > C . 1:1461(1460) ack 101 win 65160 {200 head=200 body=4840}
+0.041010 S > C . 1461:2921(1460) ack 101 win 65160
+0.062000 C > S . ack 2921 win 64240
+0.062010 S > C . 2921:4381(1460) ack 101 win 65160
+0.062500 C > S P 101:201(100) ack 2921 win 64240 {GET /b}
+0.082500 S > C . 4381:5841(1460) ack 201 win 65160 {filler=660 ; 200 head=200 body=1040}
+0.082510 S > C P 5841:6281(440) ack 201 win 65160
+0.103500 C > S . ack 5841 win 64240
+0.103600 C > S . ack 6281 win 64240
"""


def test_near_the_server_a_hold_ends_when_the_data_left(tmp_path: Path) -> None:
    capture = tmp_path / "server.pcap"
    capture.write_bytes(packet_script.pcap(FILLED_BY_NEXT))
    analysis = tcptrace_http.analyze(capture)
    began = analysis.packets.get_column("time").min()
    held = analysis.findings.filter(pl.col("detector") == "nagle-hold")
    ended = held.select((pl.col("start") + pl.col("lost") - began).dt.total_microseconds()).to_series()
    # To the 1 ms that the link takes.
    assert [72_500 <= microseconds <= 73_510 for microseconds in ended] == [True]
