"""What waited for a full send buffer is worth a finding where a larger one would have spared round trips."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import polars as pl

import tcptrace_http
from tcptrace_http.detectors._buffer_waits import long_waits
from tcptrace_http.detectors.small_send_buffer import find
from tests.detectors import packet_script

if TYPE_CHECKING:
    from pathlib import Path


def flights_of_six(rounds: int) -> str:
    """Six segments in flight, each time a round trip of 100 ms later, behind the ACKs of those before."""
    lines = [
        "+0.000000 C > S S 0:0(0) win 64240 <mss 1000>",
        "+0.100000 S > C S 0:0(0) ack 1 win 65160 <mss 1000>",
        "+0.100030 C > S . ack 1 win 64240",
        "+0.101000 C > S P 1:101(100) ack 1 win 64240 {GET /a}",
    ]
    for start in range(0, 6 * rounds, 2):
        at_us = 201800 + start // 6 * 100500 + start % 6 * 20
        head = f" {{200 head=200 body={6000 * rounds - 200}}}" if start == 0 else ""
        offsets = [1 + 1000 * (start + each) for each in range(3)]
        lines += [
            f"+0.{at_us:06} S > C P {offsets[0]}:{offsets[1]}(1000) ack 101 win 65160{head}",
            f"+0.{at_us + 10:06} S > C P {offsets[1]}:{offsets[2]}(1000) ack 101 win 65160",
            f"+0.{at_us + 15:06} C > S . ack {offsets[2]} win 64240",
        ]
    return "".join(f"{line}\n" for line in lines)


def long_waits_of(*, waits: int, waited_ms: float, rtt_ms: float, queued_ms: float = 0) -> pl.DataFrame:
    """What is found of a response that waited so often, so long in all, on such a path with such a queue."""
    flows = pl.DataFrame(
        {
            "flow": [0],
            "client": ["10.0.0.1"],
            "server": ["10.0.0.2"],
            "server_path_rtt": [timedelta(milliseconds=rtt_ms)],
            "client_path_rtt": [timedelta(0)],
        },
        schema_overrides={"server_path_rtt": pl.Duration("ns"), "client_path_rtt": pl.Duration("ns")},
    )
    waited = pl.LazyFrame(
        {
            "flow": [0],
            "transaction": [0],
            "first_frame": [1],
            "last_frame": [9],
            "waited": [timedelta(milliseconds=waited_ms)],
            "waits": [waits],
        },
        schema_overrides={"waited": pl.Duration("ns")},
    )
    queues = pl.DataFrame(
        {"flow": [0], "transaction": [0], "mean_delay": [timedelta(milliseconds=queued_ms)]},
        schema_overrides={"flow": flows["flow"].dtype, "mean_delay": pl.Duration("ns")},
    )
    tables = {"flows": flows, "queues": queues.filter(pl.lit(queued_ms) > 0)}
    return long_waits(tables, waited).collect()


def lost_ms(*, waits: int, waited_ms: float, rtt_ms: float) -> list[float]:
    """What it has lost."""
    found = long_waits_of(waits=waits, waited_ms=waited_ms, rtt_ms=rtt_ms)
    return [lost.total_seconds() * 1000 for lost in found["lost"]]


def test_waits_of_several_round_trips_lose_what_a_window_that_doubles_would_not_have_needed() -> None:
    assert lost_ms(waits=7, waited_ms=700, rtt_ms=100) == [400]
    assert lost_ms(waits=2, waited_ms=200, rtt_ms=100) == []


def test_a_window_that_doubles_takes_round_trips_with_their_queue() -> None:
    for queued_ms, found in [(150, 1), (200, 0)]:
        waits = long_waits_of(waits=7, waited_ms=700, rtt_ms=100, queued_ms=queued_ms)
        assert waits.height == found


def test_waits_that_are_no_longer_than_a_host_takes_to_go_on_are_no_finding() -> None:
    assert lost_ms(waits=10, waited_ms=10, rtt_ms=0.5) != []
    assert lost_ms(waits=11, waited_ms=10, rtt_ms=0.5) == []


def test_a_single_wait_is_a_warning_however_long_it_was() -> None:
    severities = [long_waits_of(waits=waits, waited_ms=700, rtt_ms=100)["severity"].to_list() for waits in (1, 2)]
    assert severities == [["warning"], [None]]


def test_flights_of_one_size_are_no_finding_if_something_else_held_most_of_them(tmp_path: Path) -> None:
    capture = tmp_path / "flights.pcap"
    capture.write_bytes(packet_script.pcap(flights_of_six(7)))
    analysis = tcptrace_http.analyze(capture)
    tables = {name: getattr(analysis, name) for name in ("flows", "flights", "queues", "waits")}
    assert find(tables).collect().height == 1
    is_later = pl.col("cause").cast(pl.String).eq("send_limited.send_buffer").cum_sum() > 1
    tables["waits"] = tables["waits"].filter(~is_later)
    assert find(tables).collect().height == 0
