"""Captures of 20,000 packets per kind of traffic in the benchmark, with constant bytes."""

from __future__ import annotations

import random
from itertools import islice
from typing import TYPE_CHECKING, Final

from tests.captures import ACK, MILLISECOND, MSS, PSH, START, Connection, pcap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.captures import Record

PACKETS: Final = 20_000
_SEED: Final = 1996
_WORDS: Final = b"segment window header server delayed packet request answer timer option stream buffer".split()
# Parameters of a load, as in the benchmark.
_CONNECTIONS: Final = 48
_DOCUMENTS: Final = 64
# Parameters of a page, and of its browser.
_OBJECTS, _BROWSER_CONNECTIONS = 50, 6
# One segment in this many is lost.
_LOST_EVERY: Final = 60


def capture(kind: str, *, packets: int = PACKETS) -> bytes:
    """Return a capture of that kind as a pcap file."""
    records = sorted(islice(KINDS[kind](random.Random(_SEED)), packets), key=lambda record: record[0])
    return pcap(records)


def _connection(number: int, at: int) -> Connection:
    host, port = divmod(number, 20_000)
    connection = Connection(client=(f"10.1.{host}.2", 1024 + port), server=("10.0.0.2", 80), time=at)
    connection.open()
    return connection


def _html(draw: random.Random, length: int, links: tuple[str, ...] = ()) -> bytes:
    head = b"<!doctype html><title>page</title>" + b"".join(b'<img src="%s">' % link.encode() for link in links)
    words = b" ".join(draw.choices(_WORDS, k=length // 7 + 1))
    return (head + b"<p>" + words)[:length].ljust(length)


def _documents(draw: random.Random, times: int) -> list[bytes]:
    """Return document sizes from 200 bytes up to this factor, log-uniform."""
    return [_html(draw, int(200 * times ** draw.random())) for _ in range(_DOCUMENTS)]


def _response(body: bytes, *, status: bytes = b"200 OK", media_type: bytes = b"text/html") -> bytes:
    return (
        b"HTTP/1.1 %s\r\nServer: bench\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n"
        % (status, media_type, len(body))
        + body
    )


def _request(target: str, method: str = "GET") -> bytes:
    fields = "Host: bench.example\r\nUser-Agent: load\r\nAccept: */*"
    return f"{method} {target} HTTP/1.1\r\n{fields}\r\n\r\n".encode()


def _exchange(connection: Connection, request: bytes, response: bytes) -> None:
    """Add a request, and a response with an ACK per second segment."""
    connection.from_client(request, PSH | ACK, after=MILLISECOND)
    starts = range(0, len(response), MSS)
    for number, start in enumerate(starts):
        connection.from_server(response[start : start + MSS], after=MILLISECOND if start == 0 else 12_000)
        if number % 2 == 1 or start == starts[-1]:
            connection.from_client(after=20_000)


def _pages(draw: random.Random) -> Iterator[Record]:
    """Yield interleaved keep-alive connections: HTML of 200 bytes to 100 kB, several methods and statuses."""
    documents = _documents(draw, 500)
    connections = [_connection(number, START + number * 100_000) for number in range(_CONNECTIONS)]
    while True:
        for connection in connections:
            place = draw.randrange(len(documents))
            method, status = draw.choices(
                [("GET", b"200 OK"), ("POST", b"303 See Other"), ("GET", b"404 Not Found")], weights=[8, 1, 1]
            )[0]
            body = documents[place] if status.startswith(b"200") else b""
            _exchange(connection, _request(f"/p/{place}", method), _response(body, status=status))
            yield from connection.records
            connection.records.clear()


def _connections(draw: random.Random) -> Iterator[Record]:
    """Yield connections of one request each."""
    documents = _documents(draw, 100)
    number = 0
    while True:
        connection = _connection(number, START + number * MILLISECOND)
        _exchange(connection, _request("/"), _response(draw.choice(documents)))
        connection.close()
        yield from connection.records
        number += 1


def _texts(draw: random.Random) -> Iterator[Record]:
    """Yield documents generated anew for each request."""
    connection = _connection(0, START)
    while True:
        _exchange(connection, _request("/"), _response(_html(draw, int(200 * 100 ** draw.random()))))
        yield from connection.records
        connection.records.clear()


def _download(draw: random.Random) -> Iterator[Record]:
    """Yield one long response."""
    connection = _connection(0, START)
    body = draw.randbytes(PACKETS * MSS)
    _exchange(connection, _request("/download"), _response(body, media_type=b"application/octet-stream"))
    yield from connection.records


def _browser(draw: random.Random) -> Iterator[Record]:
    """Yield pages of many objects that a browser fetches over a few connections."""
    at, number = START, 0
    while True:
        targets = tuple(f"/{number}/{index}.png" for index in range(_OBJECTS))
        connections = [
            _connection(number * _BROWSER_CONNECTIONS + index, at) for index in range(_BROWSER_CONNECTIONS)
        ]
        _exchange(connections[0], _request(f"/{number}/"), _response(_html(draw, 20_000, targets)))
        for index, target in enumerate(targets):
            connection = connections[index % _BROWSER_CONNECTIONS]
            connection.time = max(connection.time, connections[0].time)
            body = draw.randbytes(int(1000 * 40 ** draw.random()))
            _exchange(connection, _request(target), _response(body, media_type=b"image/png"))
        for connection in connections:
            yield from connection.records
        at = max(connection.time for connection in connections) + 500 * MILLISECOND
        number += 1


def _lossy(draw: random.Random) -> Iterator[Record]:
    """Yield responses with lost segments, retransmitted after three duplicate ACKs."""
    connections = [_connection(number, START + number * 100_000) for number in range(8)]
    response = _response(_html(draw, 60_000))
    while True:
        for connection in connections:
            _lossy_exchange(connection, response, draw.randrange(_LOST_EVERY))
            yield from connection.records
            connection.records.clear()


def _lossy_exchange(connection: Connection, response: bytes, first_lost: int) -> None:
    connection.from_client(_request("/"), PSH | ACK, after=MILLISECOND)
    begun = connection.server_seq
    segments = [response[start : start + MSS] for start in range(0, len(response), MSS)]
    for number, segment in enumerate(segments):
        if number % _LOST_EVERY != first_lost or number + 4 >= len(segments):
            connection.from_server(segment, after=12_000)
            connection.from_client(after=20_000)
            continue
        hole = begun + number * MSS
        connection.server_seq = hole + MSS
        for behind in segments[number + 1 : number + 4]:
            connection.from_server(behind, after=12_000)
            _acknowledge_again(connection, hole)
        resume, connection.server_seq = connection.server_seq, hole
        connection.from_server(segment, after=2 * MILLISECOND)
        connection.server_seq = resume
        connection.from_client(after=20_000)
        del segments[number + 1 : number + 4]
        begun += 3 * MSS


def _acknowledge_again(connection: Connection, hole: int) -> None:
    sent, connection.server_seq = connection.server_seq, hole
    connection.from_client(after=20_000)
    connection.server_seq = sent


KINDS: Final[dict[str, Callable[[random.Random], Iterator[Record]]]] = {
    "pages": _pages,
    "connections": _connections,
    "texts": _texts,
    "download": _download,
    "browser": _browser,
    "lossy": _lossy,
}
