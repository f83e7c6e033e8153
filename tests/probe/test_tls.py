"""Probes of https: real servers, good and bad, and servers with broken handshakes."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from detectors.loopback import Server, resets_on_close

from tcptrace_http import analyze
from tcptrace_http.check import preset
from tcptrace_http.errors import ProbeError
from tcptrace_http.probe import Limits, probe

from .configurations import HELD
from .link import delayed_link
from .servers import LARGE, free_port, nginx, nginx_within, readable_folder
from .test_bad_servers import counting, timed
from .tls_servers import HOST, Certificate, certified, host_names, nginx_tls, python_tls

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator
    from pathlib import Path

    from .conftest import Probed

UNUSABLE = 2
BOTH_VERSIONS = pytest.mark.parametrize("version", ["1.2", "1.3"])
BOTH_WAYS = pytest.mark.parametrize("ways", [(), ("--no-capture",)], ids=["packets", "sockets"])
FORGETFUL = "ssl_session_cache off; ssl_session_tickets off;"
THINK_SECONDS = 0.06
#: Names of a certificate that exceeds ten segments.
MANY_NAMES = 700
ROUND_TRIP_SECONDS = 0.04


@pytest.fixture(scope="module")
def certificate() -> Iterator[Certificate]:
    with readable_folder() as folder:
        yield certified(folder)


@pytest.fixture
def trusted(certificate: Certificate, monkeypatch: pytest.MonkeyPatch) -> Certificate:
    """Return a certificate whose authority the system trusts."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate.authority))
    return certificate


def violations(probed: Probed, name: str) -> list[dict[str, Any]]:
    return [
        one for outcome in probed.report["outcomes"] if outcome["name"] == name for one in outcome["violations"]
    ]


@BOTH_WAYS
@BOTH_VERSIONS
def test_a_good_server_passes(tmp_path, probed, trusted, version, ways):
    with nginx_tls(tmp_path, trusted, version) as url:
        shown = probed(url + LARGE, *ways)
    assert shown.code == 0, (shown.error, shown.report)
    assert not shown.failing
    status = {one["name"]: one["status"] for one in shown.report["outcomes"]}
    assert status["tls-no-resumption"] == "passed"
    controls = ("all was asked", "the document was there", "connections were reused", "ACKs were delayed")
    assert {status[name] for name in controls} == {"passed"}


@BOTH_WAYS
@BOTH_VERSIONS
def test_the_stall_of_pythons_http_server_fails(tmp_path, probed, certificate, version, ways):
    with python_tls(tmp_path, certificate, version) as url:
        shown = probed(url + LARGE, "--insecure", *ways)
    assert shown.code == 1, (shown.error, shown.report)
    held = shown.failing & set(HELD)
    assert held
    # With TLS 1.3, the first response also waits for the tickets' ACK.
    assert shown.failing - held <= {"tls-ticket-nagle"}
    assert "disable_nagle_algorithm" in shown.settings
    # The stalled object is named, because the probe has its own secrets.
    named = [one for name in held for one in violations(shown, name)]
    assert {(one["method"], one["target"], one["status"]) for one in named} == {("GET", LARGE, 200)}


@BOTH_VERSIONS
def test_a_server_that_resumes_no_session_is_reported(tmp_path, probed, trusted, version):
    with nginx_tls(tmp_path, trusted, version, FORGETFUL) as url:
        for ways in ((), ("--no-capture",)):
            shown = probed(url + LARGE, *ways, "--preset", "satellite")
            assert shown.code == 1, (shown.error, shown.report)
            assert shown.failing == {"tls-no-resumption"}
            assert "ssl_session_cache" in shown.settings
            (violation,) = violations(shown, "tls-no-resumption")
            assert "the server resumed none" in violation["message"]
            # TLS 1.3 always takes one round trip.
            assert (violation["lost_ns"] > 0) == (version == "1.2")


@pytest.mark.parametrize("think_seconds", [THINK_SECONDS, 0.0])
def test_a_server_that_is_slow_in_every_handshake_is_reported(tmp_path, probed, certificate, think_seconds):
    rule = ("--insecure", "--select", "slow-handshake-server", "--fail-on", "warning")
    # A response held by tickets does not prove a short path, which the detector needs.
    with python_tls(tmp_path, certificate, nagle=False, on_hello=lambda *_: time.sleep(think_seconds)) as url:
        shown = probed(url + LARGE, *rule)
    assert shown.code == (1 if think_seconds else 0), (shown.error, shown.report)
    found = violations(shown, "slow-handshake-server")
    # A busy machine sleeps longer: the minimum is the server's own time.
    if think_seconds:
        assert min(one["lost_ns"] for one in found) == pytest.approx((think_seconds - 0.01) * 1e9, abs=20e6)


@pytest.mark.slow
@BOTH_VERSIONS
@pytest.mark.parametrize("names", [MANY_NAMES, 1])
def test_a_chain_that_exceeds_the_first_window_fails(tmp_path, names, version):
    certificate = certified(tmp_path, names=host_names(names))
    with delayed_link(round_trip_seconds=ROUND_TRIP_SECONDS) as link:
        within = ["ip", "netns", "exec"]
        settings = ("net.ipv4.tcp_slow_start_after_idle=0", "net.ipv4.tcp_congestion_control=reno")
        subprocess.run([*within, link.server, "sysctl", "-qw", *settings], check=True)
        speaks = f"listen {link.address}:443 ssl; ssl_protocols TLSv{version}; {certificate.directives()}"
        with nginx_within(tmp_path, link.server, link.address, server=speaks):
            run = "from tcptrace_http.cli.main import main; main()"
            command = [sys.executable, "-c", run, "probe", f"https://{link.address}{LARGE}", "--insecure"]
            shown = subprocess.run([*within, link.client, *command], capture_output=True, text=True, check=False)
    assert shown.returncode == (1 if names == MANY_NAMES else 0), (shown.stderr, shown.stdout)
    # On a busy machine, the link delays a flight without a window limit: not all flights count.
    assert ("error: tls-flight-exceeds-window: " in shown.stdout) == (names == MANY_NAMES)


def test_a_certificate_of_an_unknown_authority_is_reported_and_may_be_taken(tmp_path, probed, certificate):
    with nginx_tls(tmp_path, certificate) as url:
        refused = timed(probed, url + LARGE)
        taken = timed(probed, url + LARGE, "--insecure", "--max-requests", 1)
    assert refused.code == UNUSABLE
    assert "is not trusted (unable to get local issuer certificate)" in refused.error
    assert "--insecure" in refused.error
    assert refused.error.count("\n") == 1
    assert taken.report["transactions"] == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"days": -1}, "certificate has expired"),
        ({"names": ("DNS:other.example",)}, "certificate is not valid for '127.0.0.1'"),
    ],
)
def test_a_certificate_that_is_wrong_is_reported(tmp_path, probed, monkeypatch, options, said):
    certificate = certified(tmp_path, **options)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate.authority))
    with nginx_tls(tmp_path, certificate) as url:
        shown = timed(probed, url + LARGE)
    assert shown.code == UNUSABLE
    assert f"the certificate of {url.removeprefix('https://')} is not trusted (" in shown.error
    assert said in shown.error
    assert shown.error.count("\n") == 1


def test_a_certificate_that_signs_itself_is_reported(tmp_path, probed):
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=itself"]
    own = Certificate(tmp_path / "own.pem", tmp_path / "key.pem", tmp_path / "own.pem")
    subprocess.run([*command, "-keyout", own.key, "-out", own.public], check=True, capture_output=True)
    with nginx_tls(tmp_path, own) as url:
        shown = timed(probed, url + LARGE)
    assert shown.code == UNUSABLE
    assert "is not trusted (self-signed certificate)" in shown.error


def test_a_server_that_speaks_no_tls_is_reported(tmp_path, probed):
    with nginx(tmp_path) as url:
        shown = timed(probed, url.replace("http://", "https://") + LARGE)
    assert shown.code == UNUSABLE
    assert f"{url.removeprefix('http://')} speaks no TLS; probe it by http://" in shown.error


def shuts(connection: socket.socket) -> None:
    connection.recv(1 << 16)


def resets(connection: socket.socket) -> None:
    resets_on_close(connection)
    connection.recv(1 << 16)


@pytest.mark.parametrize("turn", [shuts, resets, lambda _: None], ids=["shuts", "resets", "at once"])
def test_a_server_that_closes_in_the_handshake_is_reported(probed, turn):
    port = free_port()
    with Server(port, turn):
        shown = timed(probed, f"https://{HOST}:{port}/")
    assert shown.code == UNUSABLE
    assert f"{HOST}:{port} closed the connection in the TLS handshake" in shown.error


def test_a_server_that_takes_no_client_without_a_certificate_is_reported(probed, certificate):
    context = certificate.context()
    context.maximum_version = context.minimum_version.TLSv1_2
    context.verify_mode = context.verify_mode.CERT_REQUIRED
    context.load_verify_locations(certificate.authority)
    port = free_port()

    def refuse(connection: socket.socket) -> None:
        with suppress(OSError):
            context.wrap_socket(connection, server_side=True)

    with Server(port, refuse):
        shown = timed(probed, f"https://{HOST}:{port}/", "--insecure")
    assert shown.code == UNUSABLE
    assert f"the TLS handshake with {HOST}:{port} failed (" in shown.error
    assert "handshake failure" in shown.error


def test_a_server_that_says_nothing_in_the_handshake_is_reported():
    port = free_port()
    quiet = Limits(silence=0.2)
    with (
        Server(port, lambda connection: shuts(connection) or shuts(connection)),
        pytest.raises(ProbeError, match="does not answer in the TLS handshake"),
    ):
        probe(f"https://{HOST}:{port}/", policy=preset("recommended"), limits=quiet, captures=False)


@pytest.mark.parametrize("first", ["http", "https"])
def test_a_redirect_to_the_other_scheme_is_not_followed(tmp_path, probed, trusted, first):
    other = f"{'https' if first == 'http' else 'http'}://{HOST}/elsewhere"
    with nginx_tls(tmp_path, trusted, directives=f"return 302 {other};") as secured:
        if first == "https":
            shown = timed(probed, secured + LARGE)
        else:
            with counting({"Location": other}, 302) as (url, _):
                shown = timed(probed, url)
    assert shown.code == UNUSABLE
    assert f"it leads to another server, {other}" in shown.error


def secrets_of(log: Path) -> set[str]:
    return {line.rpartition(" ")[2] for line in log.read_text().splitlines() if line and not line.startswith("#")}


def test_the_secrets_are_in_nothing_but_the_log_that_is_asked_for(tmp_path, capfd, monkeypatch, trusted):
    from tcptrace_http.cli.main import run

    own, log, save = tmp_path / "own", tmp_path / "keys.log", tmp_path / "kept.pcap"
    own.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(own))
    monkeypatch.setenv("SSLKEYLOGFILE", str(log))
    formats = ("text", "json", "junit", "sarif", "github", "gitlab", "tap", "markdown")
    outputs = [word for name in formats for word in ("--output-file", f"{name}:{tmp_path / name}")]
    (tmp_path / "newer").mkdir()
    with nginx_tls(tmp_path, trusted, "1.2") as older, nginx_tls(tmp_path / "newer", trusted, "1.3") as newer:
        for url in (older, newer):
            limits = ("--max-requests", "30", "--preset", "strict")
            run(["probe", url + LARGE, "--save", str(save), *limits, "--output-format", "json", *outputs])
            shown = capfd.readouterr()
            secrets = secrets_of(log)
            said = [shown.out.encode(), shown.err.encode(), save.read_bytes()]
            said += [(tmp_path / name).read_bytes() for name in formats]
            # One session of TLS 1.2; for TLS 1.3, one secret per connection and direction.
            assert len(secrets) == 1 if url == older else len(secrets) > 8
            assert said[0]
            for text in said:
                assert not any(secret.encode() in text or bytes.fromhex(secret) in text for secret in secrets)
    assert not list(own.iterdir())
    assert log.stat().st_mode & 0o777 == 0o600
    # The secrets are correct: the stored capture is readable with them, and not without.
    assert analyze(save).transactions["protocol"].unique().to_list() == ["tls"]
    opened = analyze(save, keylog=log).transactions
    assert opened["status"].is_in([200, 206]).all()
    assert set(opened["target"]) == {LARGE}


def test_without_being_asked_for_the_secrets_are_nowhere(tmp_path, probed, monkeypatch, trusted):
    own = tmp_path / "own"
    own.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(own))
    monkeypatch.delenv("SSLKEYLOGFILE", raising=False)
    with nginx_tls(tmp_path, trusted) as url:
        before = set(tmp_path.iterdir())
        probed(url + LARGE, "--save", tmp_path / "kept.pcap", "--max-requests", 5)
        assert set(tmp_path.iterdir()) - before == {tmp_path / "kept.pcap"}
        assert not list(own.iterdir())
    assert not re.search(rb"(CLIENT|SERVER)_(RANDOM|TRAFFIC|HANDSHAKE)", (tmp_path / "kept.pcap").read_bytes())


def test_a_key_log_that_cannot_be_written_is_reported(tmp_path, probed, monkeypatch, trusted):
    monkeypatch.setenv("SSLKEYLOGFILE", str(tmp_path))
    with nginx_tls(tmp_path, trusted) as url:
        shown = probed(url + LARGE, "--no-capture", "--max-requests", 2)
    assert "SSLKEYLOGFILE cannot be written: Is a directory" in shown.notes


def test_each_connection_but_the_full_handshakes_resumes_a_session(tmp_path, probed, trusted):
    save = tmp_path / "kept.pcap"
    with nginx_tls(tmp_path, trusted) as url:
        assert probed(url + LARGE, "--save", save).code == 0
    handshakes = analyze(save).tls_handshakes
    # The first connection, and three deliberate connections.
    assert handshakes.filter(~pl.col("resumed")).height == 4
    assert set(handshakes["alpn_offered"]) == {"http/1.1"}
    assert handshakes["alert"].null_count() == handshakes.height


def test_a_server_in_cleartext_is_not_judged_by_rules_for_tls(tmp_path, probed):
    with nginx(tmp_path) as url:
        for ways in ((), ("--no-capture",)):
            shown = probed(url + LARGE, *ways, "--max-requests", 5)
            assert not [one for one in shown.report["outcomes"] if one["name"].startswith("tls-")]
            assert "tls-" not in shown.notes
