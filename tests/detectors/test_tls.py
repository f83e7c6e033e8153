"""Real TLS servers on loopback: Nagle holds are found without keys."""

from __future__ import annotations

import socket
import ssl
import subprocess
from datetime import timedelta
from functools import partial
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from probe.servers import LARGE, readable_folder
from probe.tls_servers import Certificate, certified, nginx_tls, port_of, python_tls

import tcptrace_http

from .loopback import HOST, TIMEOUT_SECONDS, Server, captured, free_port

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

#: Length of the responses in which the stall of Python's http.server was first observed.
BODY_BYTES = 67_000
REQUESTS = 3
#: The kernel delays the ACK of a connection's first response; on a busy host, not every such ACK.
CONNECTIONS = 3
#: Names of the same hold, by the held segment's place in the response.
HELD = {"short-initial-segment", "odd-short-final-segment", "nagle-delayed-ack", "tls-ticket-nagle"}
#: Linux's delayed ACK takes 40 ms plus a tick.
STALL_MIN_MS = 39.0
#: Data released by an ACK is sent at once.
RELEASED_MS = 0.2
TOLERANCE_MS = 2.0


class OneWrite(BaseHTTPRequestHandler):
    """Handler that writes each response at once."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Write a short response."""
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" + bytes(100))

    def log_message(self, *_: Any) -> None:
        """Suppress the log."""


class OneWriteAtOnce(OneWrite):
    """Server that does not delay its writes either."""

    disable_nagle_algorithm = True


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return certified(tmp_path_factory.mktemp("certificate"))


#: Python's http.server on a TLS socket.
python_server = partial(python_tls, version=None, body_bytes=BODY_BYTES)


def fetch(port: int, *options: str) -> None:
    """Request the document several times on one connection, as curl does."""
    urls = [f"https://localhost:{port}{LARGE}"] * REQUESTS
    outputs = ["--output", "/dev/null"] * REQUESTS
    command = ["curl", "--silent", "--fail", "--insecure", "--resolve", f"localhost:{port}:{HOST}", *options]
    subprocess.run([*command, *outputs, *urls], check=True, timeout=60)


def longest_pauses_ms(path: Path) -> dict[tuple[int, int], tuple[float, float]]:
    """Return, per response, the longest gap between two packets, and the gap after it."""
    analysis = tcptrace_http.analyze(path)
    times = analysis.segments["time"].to_physical().to_list()
    ends = pl.col("response_first_time", "response_last_time").to_physical()
    pauses = {}
    for flow, index, first, last in analysis.transactions.select("flow", "index", ends).iter_rows():
        within = [time for time in times if first <= time <= last]
        places = range(1, len(within) - 1)
        pauses[flow, index] = max(
            ((within[at] - within[at - 1]) / 1e6, (within[at + 1] - within[at]) / 1e6) for at in places
        )
    return pauses


@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_the_stall_of_pythons_http_server_is_named_within_2_ms(tmp_path, certificate, version):
    path = tmp_path / "held.pcap"
    with python_server(tmp_path, certificate) as url, captured(port_of(url), path):
        for _ in range(CONNECTIONS):
            fetch(port_of(url), "--tls-max", version)
    analysis = tcptrace_http.analyze(path)
    assert analysis.transactions["protocol"].to_list() == ["tls"] * REQUESTS * CONNECTIONS
    assert analysis.transactions["complete"].all()
    assert (analysis.transactions["response_body_bytes"] > BODY_BYTES).all()
    pauses = longest_pauses_ms(path)
    stalled = {place for place, (pause, _) in pauses.items() if pause >= STALL_MIN_MS}
    # A later segment after an ACK on a busy host may be a separate write.
    released = {place for place in stalled if pauses[place][1] <= RELEASED_MS}
    held = analysis.findings.filter(
        pl.col("detector").is_in(HELD), pl.col("lost") >= timedelta(milliseconds=STALL_MIN_MS)
    )
    lost = held.select("flow", "transaction", pl.col("lost").dt.total_nanoseconds() / 1e6)
    lost_ms = {(flow, transaction): lost_ms for flow, transaction, lost_ms in lost.iter_rows()}
    assert released
    assert released <= set(lost_ms) <= stalled
    assert lost_ms == pytest.approx({place: pauses[place][0] for place in lost_ms}, abs=TOLERANCE_MS)
    assert all("TCP_NODELAY" in remedy for remedy in held["remedy"])


def test_no_data_is_held_by_nginx_with_tls(tmp_path, certificate):
    path = tmp_path / "good.pcap"
    with readable_folder() as folder, nginx_tls(folder, certificate) as url, captured(port_of(url), path):
        fetch(port_of(url))
    analysis = tcptrace_http.analyze(path)
    assert analysis.transactions["protocol"].to_list() == ["tls"] * REQUESTS
    assert analysis.findings.filter(pl.col("severity") == "error").is_empty()
    assert HELD.isdisjoint(analysis.findings["detector"])


def test_handshake_and_its_time_are_reported(tmp_path, certificate):
    path = tmp_path / "handshake.pcap"
    with python_server(tmp_path, certificate) as url, captured(port_of(url), path):
        fetch(port_of(url), "--tls-max", "1.3")
        fetch(port_of(url), "--tls-max", "1.2")
    analysis = tcptrace_http.analyze(path)
    newer, older = analysis.tls_handshakes.iter_rows(named=True)
    assert (newer["version"], older["version"]) == ("TLS 1.3", "TLS 1.2")
    assert (newer["round_trips"], older["round_trips"]) == (1, 2)
    assert {newer["server_name"], older["server_name"]} == {"localhost"}
    assert newer["certificate_bytes"] is None
    # The chain has the binary certificate, preceded by three bytes.
    text = certificate.public.read_text()
    assert older["certificate_bytes"] == len(ssl.PEM_cert_to_DER_cert(text)) + 3
    waits = analysis.waits.filter(pl.col("cause") == "setup.tls_handshake")
    assert waits["transaction"].to_list() == [0, 0]
    assert waits["end"].to_list() == [newer["done_time"], older["done_time"]]


def stalls_ms(path: Path) -> dict[int, float]:
    """Return, per connection, the hold of the first response or of the handshake's end, if an ACK ended it."""
    analysis = tcptrace_http.analyze(path)
    ends = analysis.transactions.filter(pl.col("index") == 0).select("flow", "response_first_frame")
    ends = ends.join(analysis.tls_handshakes.select("flow", "first_application_frame"), on="flow")
    is_data, is_client = pl.col("payload_bytes") > 0, pl.col("direction") == "client_to_server"
    data_time, ack_time = pl.when(is_data).then("time"), pl.when(is_client & ~is_data).then("time")
    since_ms = {
        name: (pl.col("time") - times.forward_fill().shift().over("flow")).dt.total_nanoseconds() / 1e6
        for name, times in (("data", data_time), ("ack", ack_time))
    }
    segments = analysis.segments.with_columns(**since_ms).filter(is_data).join(ends, on="flow")
    is_end = (pl.col("frame") == pl.col("response_first_frame")) | (
        pl.col("frame") < pl.col("first_application_frame")
    )
    # A later segment after an ACK on a busy host may be a separate write.
    stalled = segments.filter(is_end, pl.col("data") >= STALL_MIN_MS, pl.col("ack") <= RELEASED_MS)
    return dict(stalled.group_by("flow").agg(pl.col("data").max()).iter_rows())


def assert_named(path: Path, named: str, stalled: dict[int, float]) -> None:
    """Check that only this detector finds the stalls, within 2 ms, and no other TLS detector."""
    found = tcptrace_http.analyze(path).findings.filter(
        pl.col("detector").str.starts_with("tls-"), pl.col("lost") > timedelta(0)
    )
    assert found["detector"].unique().to_list() == ([named] if stalled else [])
    lost = found.select("flow", pl.col("lost").dt.total_nanoseconds() / 1e6)
    lost_ms = {flow: lost_ms for flow, lost_ms in lost.iter_rows() if flow in stalled}
    assert lost_ms == pytest.approx(stalled, abs=TOLERANCE_MS)
    assert all("TCP_NODELAY" in remedy for remedy in found["remedy"])


@pytest.mark.parametrize("handler", [OneWrite, OneWriteAtOnce], ids=["nagle", "nodelay"])
def test_first_response_that_waits_behind_tickets_is_named_within_2_ms(tmp_path, certificate, handler):
    path = tmp_path / "tickets.pcap"
    with python_tls(tmp_path, certificate, handler=handler) as url, captured(port_of(url), path):
        for _ in range(CONNECTIONS):
            fetch(port_of(url), "--tlsv1.3")
    analysis = tcptrace_http.analyze(path)
    assert analysis.tls_handshakes["version"].to_list() == ["TLS 1.3"] * CONNECTIONS
    assert (analysis.tls_handshakes["unasked_bytes"] > 0).all()
    stalled = stalls_ms(path)
    assert bool(stalled) == (handler is OneWrite)
    assert_named(path, "tls-ticket-nagle", stalled)


def serve_in_two_writes(connection: socket.socket, *, context: ssl.SSLContext, nodelay: bool) -> None:
    """Answer one request; the first record of each flight is a separate write."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, nodelay)
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    secured = context.wrap_bio(incoming, outgoing, server_side=True)

    def done(work: Callable[[], object]) -> None:
        while True:
            try:
                work()
            except ssl.SSLWantReadError:
                write()
                incoming.write(connection.recv(1 << 16))
            else:
                write()
                return

    def write() -> None:
        flight = outgoing.read()
        first_bytes = 5 + int.from_bytes(flight[3:5])
        for part in filter(None, (flight[:first_bytes], flight[first_bytes:])):
            connection.sendall(part)

    done(secured.do_handshake)
    done(lambda: secured.read(1 << 16))
    done(lambda: secured.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
    # The client closes.
    connection.recv(1 << 16)


@pytest.mark.parametrize(
    ("version", "named"),
    [(ssl.TLSVersion.TLSv1_2, "tls-handshake-nagle"), (ssl.TLSVersion.TLSv1_3, "tls-ticket-nagle")],
    ids=["1.2", "1.3"],
)
@pytest.mark.parametrize("nodelay", [False, True], ids=["nagle", "nodelay"])
def test_flights_in_two_writes_are_named_within_2_ms(tmp_path, certificate, version, named, nodelay):
    context = certificate.context()
    context.maximum_version = version
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
    path, port = tmp_path / "writes.pcap", free_port()
    serve = partial(serve_in_two_writes, context=context, nodelay=nodelay)
    with Server(port, *[serve] * CONNECTIONS), captured(port, path):
        for _ in range(CONNECTIONS):
            plain = socket.create_connection((HOST, port), timeout=TIMEOUT_SECONDS)
            with client.wrap_socket(plain, server_hostname="localhost") as secured:
                secured.sendall(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
                secured.recv(1 << 16)
    stalled = stalls_ms(path)
    assert bool(stalled) != nodelay
    assert_named(path, named, stalled)
