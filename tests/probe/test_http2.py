"""Probes of HTTP/2: nginx in cleartext and TLS, good and bad, and servers without HTTP/2."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import tcptrace_http

from .servers import LARGE, free_port, nginx, readable_folder
from .tls_servers import HOST, Certificate, certified, nginx_tls

if TYPE_CHECKING:
    from collections.abc import Iterator

CONTROLS = ("all was asked", "the document was there", "connections were reused", "streams were answered")
UNUSABLE = 2


@pytest.fixture(scope="module")
def certificate() -> Iterator[Certificate]:
    with readable_folder() as folder:
        yield certified(folder)


def statuses(probed) -> dict[str, str]:
    return {one["name"]: one["status"] for one in probed.report["outcomes"]}


def test_a_good_server_in_cleartext_passes(tmp_path, probed):
    port = free_port()
    kept = tmp_path / "probe.pcap"
    with nginx(tmp_path, server=f"listen {HOST}:{port} http2;"):
        shown = probed(f"http://{HOST}:{port}{LARGE}", "--http2", "--save", kept)
    assert shown.code == 0, (shown.error, shown.report)
    status = statuses(shown)
    assert {status[name] for name in (*CONTROLS, "ACKs were delayed")} == {"passed"}
    assert not {"lost-pipelined-requests", "keep-alive-refused"} & status.keys()
    analysis = tcptrace_http.analyze(kept)
    assert set(analysis.transactions["version"]) == {"HTTP/2"}
    assert analysis.h2_connections["streams"].max() > 12


@pytest.mark.parametrize("ways", [(), ("--no-capture",)], ids=["packets", "sockets"])
def test_a_good_server_in_tls_passes(tmp_path, probed, certificate, monkeypatch, ways):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate.authority))
    port = free_port()
    speaks = f"listen {HOST}:{port} ssl http2; {certificate.directives()}"
    with nginx(tmp_path, server=speaks):
        shown = probed(f"https://{HOST}:{port}{LARGE}", "--http2", *ways)
    assert shown.code == 0, (shown.error, shown.report)
    assert {statuses(shown)[name] for name in (*CONTROLS, "tls-no-resumption")} == {"passed"}


def test_heads_before_bodies_with_nagle_fail(tmp_path, probed):
    port = free_port()
    with nginx(tmp_path, http="tcp_nodelay off;", server=f"listen {HOST}:{port} http2;"):
        shown = probed(f"http://{HOST}:{port}{LARGE}", "--http2")
    assert "short-initial-segment" in shown.failing
    assert "tcp_nodelay on" in shown.settings


def test_a_server_without_http2_is_reported(tmp_path, probed, certificate):
    with nginx(tmp_path) as url:
        clear = probed(url + LARGE, "--http2")
    assert clear.code == UNUSABLE
    assert "HTTP/2; probe it without --http2" in clear.error
    with nginx_tls(tmp_path, certificate) as url:
        secured = probed(url + LARGE, "--http2", "--insecure")
    assert secured.code == UNUSABLE
    assert "takes no h2 (ALPN)" in secured.error
