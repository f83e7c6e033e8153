"""Flows for the chart tests: long flows, and a flow with a loss reported by SACK."""

import struct

from captures import ACK, MILLISECOND, MSS, PSH, REQUEST, Connection, Record, tcp

_SEGMENT = 200
_LOST_EVERY = 1000


def long_flow(segments: int) -> list[Record]:
    """Return one response in this many small segments, with an ACK per two; each thousandth is retransmitted."""
    connection = Connection()
    connection.open()
    head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (segments * _SEGMENT)
    connection.from_client(REQUEST, PSH | ACK, after=MILLISECOND)
    connection.from_server(head, after=MILLISECOND)
    body = bytes(_SEGMENT)
    for number in range(segments):
        connection.from_server(body, after=40_000)
        if number % _LOST_EVERY == _LOST_EVERY - 1:
            connection.server_seq -= _SEGMENT
            connection.from_server(body, after=300 * MILLISECOND)
        if number % 2:
            connection.from_client(after=20_000)
    connection.close()
    return connection.records


def flow_with_sack() -> list[Record]:
    """Return a flow whose third of ten segments is lost, reported in SACK blocks, and retransmitted."""
    connection = Connection()
    connection.open()
    body = bytes(10 * MSS)
    response = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    response = response[: 10 * MSS]
    connection.from_client(REQUEST, PSH | ACK, after=MILLISECOND)
    first = connection.server_seq
    for number in range(10):
        segment = response[number * MSS : (number + 1) * MSS]
        connection.server_seq = first + number * MSS
        if number == 2:
            continue
        connection.from_server(segment, after=100_000)
        if number < 2:
            connection.from_client(after=20_000)
        else:
            _selective_ack(connection, first + 2 * MSS, (first + 3 * MSS, connection.server_seq))
    connection.server_seq = first + 2 * MSS
    connection.from_server(response[2 * MSS : 3 * MSS], after=30 * MILLISECOND)
    connection.server_seq = first + 10 * MSS
    connection.from_client(after=20_000)
    return connection.records


def _selective_ack(connection: Connection, ack: int, block: tuple[int, int]) -> None:
    connection.time += 20_000
    option = struct.pack(">BBBBII", 1, 1, 5, 10, *(edge % 2**32 for edge in block))
    frame = tcp(connection.client, connection.server, connection.client_seq, ack, ACK, options=option)
    connection.records.append((connection.time, frame))
