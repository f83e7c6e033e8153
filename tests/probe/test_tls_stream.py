"""TLS over memory against Python's own server side: a stream's output for the received bytes."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest

from tcptrace_http.probe.exchange import Came
from tcptrace_http.probe.target import Target, target_of
from tcptrace_http.probe.tls import TlsClient, TlsStream

from .tls_servers import Certificate, certified

if TYPE_CHECKING:
    from pathlib import Path

BOTH_VERSIONS = pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return certified(tmp_path_factory.mktemp("certificate"))


@pytest.fixture
def target() -> Target:
    return target_of("https://127.0.0.1/")


@pytest.fixture
def client(tmp_path: Path, target: Target) -> TlsClient:
    return TlsClient(target, tmp_path / "keys.log", insecure=True)


@dataclass
class Peer:
    """Server side of one connection."""

    tls: ssl.SSLObject
    incoming: ssl.MemoryBIO
    outgoing: ssl.MemoryBIO

    def says(self, data: bytes) -> bytes:
        self.tls.write(data)
        return self.outgoing.read()


def speaking(certificate: Certificate, version: ssl.TLSVersion) -> ssl.SSLContext:
    context = certificate.context()
    context.minimum_version = context.maximum_version = version
    return context


def shaken(context: ssl.SSLContext, stream: TlsStream) -> tuple[Peer, bytes]:
    """Return the server after a handshake, and its later data (tickets)."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    peer = Peer(context.wrap_bio(incoming, outgoing, server_side=True), incoming, outgoing)
    came, is_done = b"", False
    while not (is_done and stream.is_established):
        incoming.write(stream.advance(came))
        try:
            peer.tls.do_handshake()
            is_done = True
        except ssl.SSLWantReadError:
            pass
        came = b"" if stream.is_established else outgoing.read()
    return peer, outgoing.read()


@BOTH_VERSIONS
def test_data_of_each_side_reaches_the_other(client, certificate, version):
    stream = client.stream(resumes=True)
    peer, tickets = shaken(speaking(certificate, version), stream)
    peer.incoming.write(stream.sealed(b"GET /"))
    assert peer.tls.read() == b"GET /"
    raw = tickets + peer.says(b"HTTP/1.1 200 OK")
    came = stream.opened(raw)
    assert (came.size, came.data, came.has_ended) == (len(raw), b"HTTP/1.1 200 OK", False)


def test_a_part_of_a_record_counts_to_the_response_and_tickets_do_not(client, certificate):
    stream = client.stream(resumes=True)
    peer, tickets = shaken(speaking(certificate, ssl.TLSVersion.TLSv1_3), stream)
    assert tickets
    assert stream.opened(tickets) == Came(0, b"")
    raw = peer.says(b"x" * 1000)
    first, rest = stream.opened(raw[:400]), stream.opened(raw[400:])
    assert (first.size, first.data) == (400, b"")
    assert (rest.size, rest.data) == (len(raw) - 400, b"x" * 1000)


@BOTH_VERSIONS
@pytest.mark.parametrize("resumes", [True, False])
def test_a_closed_connection_leaves_a_session_for_the_next(client, certificate, version, resumes):
    context = speaking(certificate, version)
    for _ in range(3):
        stream = client.stream(resumes=resumes)
        peer, tickets = shaken(context, stream)
        stream.opened(tickets + peer.says(b"response"))
        stream.keep_session()
        peer.incoming.write(stream.closing())
        assert peer.tls.read() == b""
    assert (client.offered, client.resumed) == ((2, 2) if resumes else (0, 0))
    assert client.version == version.name.replace("_", ".")


def test_the_end_of_a_stream_is_reported_with_an_alert_and_without(client, certificate):
    for ends in (True, False):
        stream = client.stream(resumes=False)
        peer, _ = shaken(speaking(certificate, ssl.TLSVersion.TLSv1_2), stream)
        raw = peer.says(b"all")
        if ends:
            with pytest.raises(ssl.SSLWantReadError):
                peer.tls.unwrap()
            assert stream.opened(raw + peer.outgoing.read()).has_ended
        else:
            assert stream.opened(raw).data == b"all"
            assert stream.opened(b"").has_ended


def test_a_damaged_record_is_an_error(client, certificate):
    stream = client.stream(resumes=False)
    peer, tickets = shaken(speaking(certificate, ssl.TLSVersion.TLSv1_3), stream)
    raw = bytearray(tickets + peer.says(b"response"))
    raw[-1] ^= 1
    with pytest.raises(ssl.SSLError):
        stream.opened(bytes(raw))


@pytest.mark.parametrize(("host", "name"), [("a.example", b"a.example"), ("a.example.", b"a.example")])
def test_the_clienthello_has_the_name_and_http11_alone(tmp_path, target, host, name):
    client = TlsClient(replace(target, host=host), tmp_path / "keys.log", insecure=False)
    hello = client.stream(resumes=True).advance(b"")
    # Lengths precede their data (RFC 6066, section 3; RFC 7301, section 3.1).
    assert len(name).to_bytes(2, "big") + name + b"." not in hello
    assert len(name).to_bytes(2, "big") + name in hello
    assert b"\x00\x10\x00\x0b\x00\x09\x08http/1.1" in hello


def test_the_clienthello_has_no_address(client):
    assert b"127.0.0.1" not in client.stream(resumes=True).advance(b"")


def test_the_key_log_is_for_its_owner_alone(tmp_path, client, certificate):
    shaken(speaking(certificate, ssl.TLSVersion.TLSv1_3), client.stream(resumes=True))
    assert "CLIENT_TRAFFIC_SECRET_0 " in (tmp_path / "keys.log").read_text()
    assert (tmp_path / "keys.log").stat().st_mode & 0o777 == 0o600
