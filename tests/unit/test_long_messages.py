"""A message of more segments and ACKs than are kept: what fell out is unobserved, and said."""

import polars as pl
from captures import ACK, PSH, Connection, pcap

import tcptrace_http

#: More than twice the events that a message keeps (EVENTS_MAX in attribution/src/stream.rs is 2**16).
SEGMENTS = 70_000


def test_what_falls_out_of_a_long_message_is_unobserved_with_an_anomaly() -> None:
    connection = Connection()
    connection.open()
    connection.from_client(b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n", PSH | ACK)
    connection.from_server(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (10 * SEGMENTS), PSH | ACK)
    for _ in range(SEGMENTS):
        connection.from_server(b"x" * 10, after=1000)
        connection.from_client()
    connection.close()
    analysis = tcptrace_http.analyze(pcap(connection.records))
    assert analysis.transactions["complete"].to_list() == [True]
    (anomaly,) = analysis.anomalies.filter(kind="limit_reached").iter_rows(named=True)
    assert "were forgotten, and what they waited for is unobserved" in anomaly["detail"]
    waits = analysis.waits.with_columns(length=pl.col("end") - pl.col("start"))
    unobserved = waits.filter(cause="unobserved")["length"].sum()
    assert unobserved > waits["length"].sum() / 2
