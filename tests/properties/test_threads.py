"""Thread count and batch size: no effect on any row, even with many concurrent flows."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest
from captures import MILLISECOND, Connection, pcap
from hypothesis import given
from hypothesis import strategies as st

from tcptrace_http.analysis import analyze, analyze_in_batches, in_parts
from tcptrace_http.candidates import CANDIDATE_TABLES
from tcptrace_http.capture import SHARED_FROM_BYTES, batches
from tcptrace_http.report import json
from tcptrace_http.trace import native

if TYPE_CHECKING:
    from pathlib import Path

    from captures import Record

TABLES_IN_JSON = ("flows", "transactions", "anomalies")


def many_flows(ports: list[int], *, are_closed: bool = True) -> list[Record]:
    """Return concurrent connections on these ports in turn; a repeated port is reused."""
    records: list[Record] = []
    for number, port in enumerate(ports):
        connection = Connection(client=("10.0.0.1", port), client_seq=2**32 - 40 + number)
        connection.time += number * 1_000_000
        connection.open()
        connection.exchange(body=b"x" * (port % 3000))
        if are_closed and port % 3:
            connection.close()
        records += connection.records
    # The sort is stable: packets of the same time stay in order.
    return sorted(records, key=lambda record: record[0])


def rows(content: bytes, *, threads: int, chunk_bytes: int) -> list[object]:
    core = native.Analyzer(threads=threads)
    for start in range(0, len(content), chunk_bytes):
        core.feed(content[start : start + chunk_bytes])
    core.finish()
    taken = core.take()
    counts = [taken.count(table) for table in CANDIDATE_TABLES]
    return [core.provenance(), *counts, *(taken.json(table, 0, taken.count(table)) for table in TABLES_IN_JSON)]


@given(
    ports=st.lists(st.integers(1024, 1064), min_size=1, max_size=20),
    threads=st.integers(2, 9),
    chunk_bytes=st.integers(200, 50_000),
)
def test_rows_do_not_depend_on_the_number_of_threads(ports, threads, chunk_bytes):
    content = pcap(many_flows(ports))
    assert rows(content, threads=threads, chunk_bytes=chunk_bytes) == rows(content, threads=1, chunk_bytes=1 << 20)


def test_anomalies_of_all_threads_are_listed_in_the_order_of_the_capture():
    content = pcap(many_flows(list(range(2000, 2100)), are_closed=False)[150:])
    core = native.Analyzer(threads=4)
    core.feed(content)
    core.finish()
    assert core.take().count("anomalies") > 1
    assert rows(content, threads=4, chunk_bytes=999) == rows(content, threads=1, chunk_bytes=1 << 20)


def document(path: Path, rows_in_a_batch: int) -> bytes:
    file = io.BytesIO()
    parts = json.document(in_parts(batches(path, rows_in_a_batch=rows_in_a_batch)))
    json.write([parts], file, is_one=True)
    return file.getvalue()


def whole_document(path: Path) -> bytes:
    file = io.BytesIO()
    json.write([json.document([analyze(path)])], file, is_one=True)
    return file.getvalue()


def test_a_document_made_in_batches_is_that_of_the_whole(tmp_path):
    # Enough flows to drop finished ones: 8192 are remembered.
    ports = [1024 + number % 9000 for number in range(13_000)]
    path = tmp_path / "many.pcap"
    path.write_bytes(pcap(many_flows(ports)))
    assert len(list(batches(path, rows_in_a_batch=500))) > 2
    assert document(path, 500) == whole_document(path)
    assert b"connection-per-request" in document(path, 500)
    # More connections than are compared: the counts still include them.
    assert b"(at least: not all flows were compared)" in document(path, 500)


def test_a_document_is_the_same_for_any_number_of_jobs(tmp_path):
    path = tmp_path / "large.pcap"
    path.write_bytes(pcap(several_hosts(flows=17_000)))
    assert path.stat().st_size >= SHARED_FROM_BYTES

    def made_with(jobs: int) -> bytes:
        file = io.BytesIO()
        json.write([json.document(analyze_in_batches(path, jobs=jobs, rows_in_a_batch=3000))], file, is_one=True)
        return file.getvalue()

    alone = made_with(1)
    assert b'"detector":"slow-server"' in alone
    assert made_with(2) == alone
    assert made_with(4) == alone


def several_hosts(*, flows: int) -> list[Record]:
    """Return connections of several clients; every third server is slow, and one connection stays open."""
    records: list[Record] = []
    for number in range(flows):
        connection = Connection(client=(f"10.0.0.{number % 7}", 1024 + number // 7))
        connection.time += number * 1_000_000
        connection.open()
        connection.exchange(body=b"x" * (number % 3000), think=(1 + number % 3 * 30) * MILLISECOND)
        if number % 11:
            connection.close()
        records += connection.records
    return sorted(records, key=lambda record: record[0])


def test_facts_of_the_capture_are_the_same_in_batches(tmp_path):
    # Every third connection lacks its handshake (more than the anomalies listed), every fifth one direction.
    ports = [1024 + number for number in range(9500)]
    packets = many_flows(ports)
    kept = [
        (time, frame)
        for time, frame in packets
        if not (is_syn(frame) and client_port(frame) % 3 == 0)
        and not (client_port(frame) % 5 == 0 and is_of_client(frame))
    ]
    path = tmp_path / "flawed.pcap"
    path.write_bytes(pcap(kept))
    assert len(list(batches(path, rows_in_a_batch=500))) > 2
    whole = whole_document(path)
    assert document(path, 500) == whole
    assert whole.count(b'"detector":"mid-stream-start"') == 1
    assert whole.count(b'"detector":"one-sided-capture"') == 1


def is_syn(frame: bytes) -> bool:
    return bool(frame[47] & 2)


def is_of_client(frame: bytes) -> bool:
    return frame[26:30] == bytes([10, 0, 0, 1])


def client_port(frame: bytes) -> int:
    at = 34 if is_of_client(frame) else 36
    return int.from_bytes(frame[at : at + 2])


def test_transactions_of_a_flow_that_continues_leave_before_it_ends(tmp_path):
    connection = Connection()
    connection.open()
    for number in range(2000):
        connection.exchange(body=b"x" * (number % 50))
    path = tmp_path / "long.pcap"
    path.write_bytes(pcap(connection.records))
    # The first batch is complete after a chunk of the file at the earliest.
    counts = [each.rows.count("transactions") for each in batches(path, rows_in_a_batch=300)]
    assert len(counts) > 2
    assert all(counts[:-1])
    assert document(path, 300) == whole_document(path)


@pytest.mark.parametrize("name", ["lan_hdrsep_small.pcap", "ssr_cubic_on.pcap", "fmt_pcapng.pcapng"])
def test_findings_of_batches_are_those_of_the_whole(sample_traces, name):
    assert document(sample_traces / name, 1) == whole_document(sample_traces / name)


def test_a_flow_that_is_over_and_long_past_is_forgotten_and_its_ports_are_used_again():
    ports = [*range(1024, 1024 + 9000), 1024]
    content = pcap(many_flows(ports))
    core = native.Analyzer()
    core.feed(content)
    core.finish()
    assert core.take().count("flows") == len(ports)
