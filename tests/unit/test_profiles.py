"""Profile of a sender and its path, and the savings of a larger initial window."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest

import tcptrace_http
from tcptrace_http.detectors._slow_start import with_lost
from tests.detectors import packet_script

if TYPE_CHECKING:
    from pathlib import Path

MS = 1_000_000
HANDSHAKE = [
    "+0.000000 C > S S 0:0(0) win 64240 <mss 1000>",
    "+0.050000 S > C S 0:0(0) ack 1 win 65160 <mss 1000>",
    "+0.050030 C > S . ack 1 win 64240",
    "+0.051000 C > S P 1:101(100) ack 1 win 64240 {GET /a}",
]


def server_profile(lines: list[str], tmp_path: Path) -> dict[str, object]:
    """Return the server's profile after a handshake and a request."""
    capture = tmp_path / "learnt.pcap"
    capture.write_bytes(packet_script.pcap("".join(f"{line}\n" for line in [*HANDSHAKE, *lines])))
    profiles = tcptrace_http.analyze(capture).profiles
    return profiles.row(by_predicate=pl.col("direction") == "server_to_client", named=True)


def first_flight(segments: int, body: int) -> list[str]:
    """Return the first segments of a response, sent together, and their ACK."""
    lines = [
        f"+0.1010{place:02} S > C P {1 + 1000 * place}:{1001 + 1000 * place}(1000) ack 101 win 65160"
        + (f" {{200 head=100 body={body - 100}}}" if place == 0 else "")
        for place in range(segments)
    ]
    return [*lines, f"+0.101100 C > S . ack {1 + 1000 * segments} win 64240"]


def test_first_flight_is_the_initial_window_if_more_data_waited_for_its_ack(tmp_path: Path) -> None:
    waited = "+0.151130 S > C P 4001:5001(1000) ack 101 win 65160"
    found = server_profile([*first_flight(4, 5000), waited], tmp_path)
    assert (found["initial_window_bytes"], found["initial_window_segments"]) == (4000, 4)
    found = server_profile(first_flight(4, 4000), tmp_path)
    assert (found["initial_window_bytes"], found["first_flight_bytes"]) == (None, 4000)


def test_short_segment_that_does_not_wait_for_a_short_one_shows_that_nagle_is_off(tmp_path: Path) -> None:
    short = [
        "+0.101000 S > C P 1:301(300) ack 101 win 65160 {200 head=100 body=900}",
        "+0.111000 S > C P 301:701(400) ack 101 win 65160",
        "+0.121000 S > C P 701:1001(300) ack 101 win 65160",
        "+0.141000 C > S . ack 1001 win 64240",
    ]
    assert server_profile(short, tmp_path)["nagle"] == "off"


def test_longest_delay_of_an_ack_is_reported_with_its_frame(tmp_path: Path) -> None:
    lone = [
        "+0.101000 S > C P 1:1001(1000) ack 101 win 65160 {200 head=100 body=900}",
        "+0.141000 C > S . ack 1001 win 64240",
    ]
    found = server_profile(lone, tmp_path)
    assert found["ack_delay"].total_seconds() == pytest.approx(0.04)  # type: ignore[attr-defined]
    assert (found["delayed_acks"], found["ack_delay_frame"]) == (1, 6)


@pytest.mark.parametrize(
    ("offsets", "response_bytes", "lost_ms"),
    [
        pytest.param([2000, 6000, 14_000], 30_000, 90, id="what comes behind it waits all the same"),
        pytest.param([2000, 6000], 9000, 90, id="all would have gone at once"),
        pytest.param([2000, 6000], 14_000, 40, id="one round trip is left, the longest"),
        pytest.param([14_000], 30_000, None, id="no wait is spared"),
    ],
)
def test_waits_of_data_that_a_larger_window_would_have_let_go_are_lost(
    offsets: list[int], response_bytes: int, lost_ms: int | None
) -> None:
    waits = [40 * MS, 50 * MS, 45 * MS][: len(offsets)]
    rows = pl.LazyFrame(
        {"offsets": [offsets], "waits_ns": [waits], "window": [10_000], "response_bytes": [response_bytes]}
    )
    lost = with_lost(rows).collect()["lost"].dt.total_milliseconds().to_list()
    assert lost == ([] if lost_ms is None else [lost_ms])
