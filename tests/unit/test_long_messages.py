"""Messages with more segments and ACKs than the core keeps: explained part by part."""

import polars as pl
from captures import ACK, MILLISECOND, PSH, Connection, pcap

import tcptrace_http

#: More than twice the events that a message keeps (EVENTS_MAX in attribution/src/stream.rs is 2**16).
SEGMENTS = 70_000


def _begun(length: int) -> Connection:
    connection = Connection()
    connection.open()
    connection.from_client(b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n", PSH | ACK)
    connection.from_server(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % length, PSH | ACK)
    return connection


def _milliseconds(analysis: tcptrace_http.Analysis) -> dict[str, float]:
    lengths = analysis.waits.group_by("cause").agg(
        ms=(pl.col("end") - pl.col("start")).sum().dt.total_nanoseconds()
    )
    return {cause: round(ns / 1e6, 1) for cause, ns in lengths.iter_rows()}


def test_a_long_message_is_explained_from_its_beginning_to_its_end() -> None:
    connection = _begun(10 * SEGMENTS)
    for number in range(SEGMENTS):
        connection.from_server(b"x" * 10, after=300 * MILLISECOND if number in {100, SEGMENTS // 2} else 1000)
        connection.from_client()
    connection.close()
    analysis = tcptrace_http.analyze(pcap(connection.records))
    assert analysis.transactions["complete"].to_list() == [True]
    assert analysis.anomalies.filter(kind="limit_reached").is_empty()
    found = _milliseconds(analysis)
    assert found["server.data_unavailable"] >= 600
    assert "unobserved" not in found


def test_data_displaced_from_the_log_by_acks_alone_is_reported() -> None:
    connection = _begun(20)
    for _ in range(SEGMENTS):
        connection.from_client(after=1000)
    for _ in range(2):
        connection.from_server(b"x" * 10, after=MILLISECOND)
        connection.from_client()
    connection.close()
    analysis = tcptrace_http.analyze(pcap(connection.records))
    (anomaly,) = analysis.anomalies.filter(kind="limit_reached").iter_rows(named=True)
    assert "were dropped, and their waits are unobserved" in anomaly["detail"]
    assert sum(_milliseconds(analysis).values()) >= SEGMENTS / 1000
