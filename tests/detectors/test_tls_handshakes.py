"""Real servers with slow TLS handshakes over a 40 ms link: each cause is named."""

from __future__ import annotations

import socket
import ssl
import subprocess
import time
from typing import TYPE_CHECKING

import polars as pl
import pytest
from probe.link import delayed_link
from probe.servers import nginx, nginx_within, readable_folder
from probe.tls_servers import certified, host_names

import tcptrace_http

from .loopback import HOST, TIMEOUT_SECONDS, Server, captured, free_port, respond

if TYPE_CHECKING:
    from pathlib import Path

    from tcptrace_http import Analysis

ROUND_TRIP_SECONDS = 0.04
TOLERANCE_MS = 4.0
PORT = 443
THINK_SECONDS = 0.1
ALLOWED_MS = 10
CONNECTIONS = 5
#: The link is a process: on a busy machine, it delays a flight without a window limit.
NAMED_MIN = 3


def analysed(path: Path, *, names: int, directives: str = "", version: str = "1.3") -> Analysis:
    """Return the analysis of a capture of curl's requests at the client, one per connection."""
    with delayed_link(round_trip_seconds=ROUND_TRIP_SECONDS) as link, readable_folder() as folder:
        within = ["ip", "netns", "exec", link.client]
        certificate = certified(folder, names=host_names(names)).directives()
        speaks = f"listen {link.address}:{PORT} ssl; ssl_protocols TLSv1.2 TLSv1.3; {certificate}"
        seen = captured(PORT, path, within=within, device=link.device, address=link.address)
        with nginx_within(folder, link.server, link.address, server=speaks + directives), seen:
            fetch = ["curl", "--silent", "--fail", "--insecure", "--tls-max", version, "--output", "/dev/null"]
            for _ in range(CONNECTIONS):
                subprocess.run([*within, *fetch, f"https://{link.address}/large.html"], check=True, timeout=60)
    analysis = tcptrace_http.analyze(path)
    assert analysis.tls_handshakes["version"].to_list() == [f"TLS {version}"] * CONNECTIONS
    return analysis


def lost_ms(analysis: Analysis, detector: str) -> list[float]:
    found = analysis.findings.filter(pl.col("detector") == detector)
    return [lost.total_seconds() * 1e3 for lost in found["lost"]]


def assert_round_trips(lost: list[float]) -> None:
    """Check that most connections lost one round trip, and no other time."""
    assert len(lost) >= NAMED_MIN
    assert lost == pytest.approx([ROUND_TRIP_SECONDS * 1e3] * len(lost), abs=TOLERANCE_MS)


@pytest.mark.slow
@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_chain_that_the_first_window_does_not_hold_is_named(tmp_path, version):
    large = analysed(tmp_path / "large.pcap", names=700, version=version)
    assert_round_trips(lost_ms(large, "tls-flight-exceeds-window"))
    small = analysed(tmp_path / "small.pcap", names=100, version=version)
    assert lost_ms(small, "tls-flight-exceeds-window") == []


@pytest.mark.slow
def test_record_that_the_first_window_does_not_hold_is_named(tmp_path):
    large = analysed(tmp_path / "large.pcap", names=1)
    found = large.findings.filter(pl.col("detector") == "tls-record-exceeds-window")
    # A busy link delays the response to an ACK, which then appears as server time.
    assert not found.is_empty()
    assert found["severity"].unique().to_list() == ["info"]
    late = pl.col("first_record_time") - pl.col("response_first_time")
    told = large.transactions.join(found, left_on=["flow", "index"], right_on=["flow", "transaction"], how="semi")
    late_ms = told.select(late.dt.total_nanoseconds() / 1e6).to_series().to_list()
    assert min(late_ms) >= ROUND_TRIP_SECONDS * 1e3 - TOLERANCE_MS
    small = analysed(tmp_path / "small.pcap", names=1, directives="ssl_buffer_size 4k;")
    assert "tls-record-exceeds-window" not in small.findings["detector"]


@pytest.mark.slow
def test_server_that_takes_no_group_that_the_client_guessed_is_named(tmp_path):
    other = analysed(tmp_path / "other.pcap", names=1, directives="ssl_ecdh_curve secp384r1;")
    assert other.tls_handshakes["hello_retry"].all()
    assert_round_trips(lost_ms(other, "tls-hello-retry"))
    same = analysed(tmp_path / "same.pcap", names=1, directives="ssl_ecdh_curve X25519:secp384r1;")
    assert lost_ms(same, "tls-hello-retry") == []


@pytest.mark.parametrize("think_seconds", [THINK_SECONDS, 0.0])
def test_server_that_looks_up_a_certificate_in_the_handshake_is_named(tmp_path, think_seconds):
    context = certified(tmp_path).context()
    context.sni_callback = lambda *_: time.sleep(think_seconds)
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
    path, port = tmp_path / "slow.pcap", free_port()

    def serve(connection: socket.socket) -> None:
        with context.wrap_socket(connection, server_side=True) as secured:
            respond(secured)

    with Server(port, serve), captured(port, path):
        plain = socket.create_connection((HOST, port), timeout=TIMEOUT_SECONDS)
        with client.wrap_socket(plain, server_hostname="localhost") as secured:
            secured.sendall(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            while secured.recv(1 << 16):
                pass
    lost = lost_ms(tcptrace_http.analyze(path), "slow-handshake-server")
    expected = [think_seconds * 1e3 - ALLOWED_MS] if think_seconds else []
    assert lost == pytest.approx(expected, abs=2 * ALLOWED_MS)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@pytest.mark.parametrize("resumes", [False, True], ids=["forgets", "resumes"])
def test_server_that_keeps_no_session_is_named(tmp_path, version, resumes):
    kept = "ssl_session_cache shared:SSL:1m;" if resumes else "ssl_session_cache off; ssl_session_tickets off;"
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
    client.minimum_version = client.maximum_version = version
    path, port, session = tmp_path / "sessions.pcap", free_port(), None
    with readable_folder() as folder:
        certificate = certified(folder).directives()
        speaks = f"listen {HOST}:{port} ssl; ssl_protocols TLSv1.2 TLSv1.3; {certificate} {kept}"
        with nginx(folder, server=speaks), captured(port, path):
            for _ in range(CONNECTIONS):
                plain = socket.create_connection((HOST, port), timeout=TIMEOUT_SECONDS)
                with client.wrap_socket(plain, server_hostname="localhost", session=session) as secured:
                    secured.sendall(b"GET /large.html HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
                    while secured.recv(1 << 16):
                        pass
                    session = secured.session
    analysis = tcptrace_http.analyze(path)
    assert analysis.tls_handshakes["resumed"].to_list() == [False] + [resumes] * (CONNECTIONS - 1)
    found = analysis.findings.filter(pl.col("detector") == "tls-no-resumption")
    # On loopback, a round trip costs no time.
    assert found["severity"].to_list() == ([] if resumes else ["info"])
    assert all(f"{CONNECTIONS - 1} full TLS handshakes" in summary for summary in found["summary"])
