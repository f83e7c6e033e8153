"""Memory of scans: constant in the capture's length, with bounded data per missing ACK."""

import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from captures import ACK, PSH, Connection, pcap
from polars.testing import assert_frame_equal

import tcptrace_http

# Limit in tcp/src/segments.rs.
WINDOW_ROWS = 2**20
MEGABYTE = 1_000_000
# VmHWM covers this program alone: ru_maxrss is at least its parent's memory.
PEAK = """
import re, sys, tcptrace_http
table = sys.argv[2]
if sys.argv[3] == "scan":
    rows = sum(batch.height for batch in tcptrace_http.scan(sys.argv[1], table).collect_batches())
else:
    rows = tcptrace_http.analyze(sys.argv[1], tables=[table]).table(table).height
kilobytes = re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read()).group(1)
print(rows, int(kilobytes) * 1024)
"""


def waiting_capture(path: Path, between: int, *, settled: bool = False) -> None:
    """Write a request whose ACK arrives after this many further segments of its sender."""
    connection = Connection()
    connection.open()
    connection.from_client(b"GET / HTTP/1.1\r\n\r\n", PSH | ACK)
    if settled:
        connection.from_server()
    before = len(connection.records)
    connection.from_client()
    repeated = pcap(connection.records[before:])[24:]
    after = len(connection.records)
    connection.from_server(after=1000)
    with path.open("wb") as file:
        file.write(pcap(connection.records[:before]))
        file.write(repeated * between)
        file.write(pcap(connection.records[after:])[24:])


@pytest.mark.slow
@pytest.mark.parametrize(("between", "acked"), [(WINDOW_ROWS - 1, True), (WINDOW_ROWS, False)])
def test_late_acks_are_omitted_and_reported_by_every_reader(tmp_path, between, acked):
    path = tmp_path / "waiting.pcap"
    waiting_capture(path, between)
    eager = tcptrace_http.analyze(path, tables=["segments"])
    request = eager.segments.row(3, named=True)
    assert (request["acked_by_frame"] is not None, request["rtt"] is not None) == (acked, acked)
    said = eager.anomalies.filter(pl.col("kind") == "limit_reached")["detail"].to_list()
    # The message is too long for a complete explanation, and an anomaly says so.
    of_segments = [text[:29] for text in said if "of transaction 0" not in text]
    assert of_segments == ([] if acked else ["1 segments were acknowledged "])
    assert_frame_equal(tcptrace_http.scan(path, "segments").collect(), eager.segments)


def peak(path: Path, table: str, how: str) -> tuple[int, int]:
    # One thread of polars: the number of waiting batches must not depend on the machine.
    environment = os.environ | {"POLARS_MAX_THREADS": "1"}
    command = [sys.executable, "-c", PEAK, str(path), table, how]
    rows, size = subprocess.run(command, env=environment, capture_output=True, check=True).stdout.split()
    return int(rows), int(size)


@pytest.mark.slow
@pytest.mark.parametrize("table", ["packets", "segments"])
def test_memory_does_not_grow_with_the_capture(tmp_path, table):
    short, long = tmp_path / "short.pcap", tmp_path / "long.pcap"
    waiting_capture(short, 200_000, settled=True)
    waiting_capture(long, 2_000_000, settled=True)
    (rows, small), (more_rows, large) = peak(short, table, "scan"), peak(long, table, "scan")
    assert more_rows - rows == 1_800_000
    assert large - small < 40 * MEGABYTE
    # The measure detects kept rows.
    assert peak(long, table, "eager")[1] - peak(short, table, "eager")[1] > 100 * MEGABYTE
