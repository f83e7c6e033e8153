"""HTTP/2 of widespread peers against tshark: HAProxy, Caddy (Go's net/http), Chromium, Python's gRPC."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

import polars as pl
import pytest
from detectors.loopback import captured, free_port
from probe.servers import caddy, haproxy, nginx, readable_folder
from probe.tls_servers import HOST, Certificate, certified, port_of

import tcptrace_http

from . import grpc_peer
from .http2_agreement import differences
from .tshark_http2 import frames

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

IMAGES: Final = 12
#: Root has no namespaces for the sandbox in a container; the pages are ours.
CHROMIUM: Final = ("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--ignore-certificate-errors")


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with readable_folder() as made:
        yield made


@pytest.fixture(scope="module")
def certificate(folder: Path) -> Certificate:
    return certified(folder)


def write_page(folder: Path) -> None:
    (folder / "www").mkdir(exist_ok=True)
    images = "".join(f'<img src="/{number}.svg">' for number in range(IMAGES))
    (folder / "www" / "page.html").write_text(f"<!doctype html><title>A page</title>{images}")
    for number in range(IMAGES):
        text = f'<svg xmlns="http://www.w3.org/2000/svg"><!-- {"x" * 3000 * number} --></svg>'
        (folder / "www" / f"{number}.svg").write_text(text)


TARGETS: Final = ("/page.html", *(f"/{number}.svg" for number in range(IMAGES)), "/missing")


def nghttp(url: str) -> None:
    """Fetch the page and its images at once, in cleartext."""
    urls = [f"{url}{target}" for target in TARGETS]
    subprocess.run(["nghttp", "--null-out", *urls], check=True, capture_output=True)


def curl(keys: Path, url: str) -> None:
    """Fetch the page and its images at once."""
    urls = [word for target in TARGETS for word in ("-o", "/dev/null", f"{url}{target}")]
    command = ["curl", "--silent", "--insecure", "--parallel", "--http2", *urls]
    subprocess.run(command, check=True, env={**os.environ, "SSLKEYLOGFILE": str(keys)})


def browse(keys: Path, url: str, profile: Path) -> None:
    """Load the page in Chromium."""
    command = [*CHROMIUM, f"--user-data-dir={profile}", "--dump-dom", f"{url}/page.html"]
    told = subprocess.run(command, check=True, capture_output=True, env={**os.environ, "SSLKEYLOGFILE": str(keys)})
    assert b"A page" in told.stdout


def assert_agreement(capture: Path, keys: Path, *, clear: list[int], secure: list[int]) -> tcptrace_http.Analysis:
    options = [f"-dtcp.port=={port},http2" for port in clear]
    found = frames(capture, [*options, "-o", f"tls.keylog_file:{keys}"])
    analysis = tcptrace_http.analyze(capture, keylog=keys if keys.exists() else None)
    assert differences(analysis, found, [*clear, *secure]) == []
    return analysis


@pytest.mark.parametrize("front", [haproxy, caddy])
def test_streams_of_a_front_server_are_those_of_tshark(front, folder, certificate, tmp_path):
    write_page(folder)
    capture, keys = tmp_path / "front.pcap", tmp_path / "keys.log"
    with ExitStack() as servers:
        upstream = servers.enter_context(nginx(folder))
        clear, secure = servers.enter_context(front(folder, upstream, certificate))
        ports = [port_of(clear), port_of(secure)]
        with captured(ports[0], capture, ports[1]):
            nghttp(clear)
            curl(keys, secure)
            browse(keys, secure, tmp_path / "profile")
    analysis = assert_agreement(capture, keys, clear=ports[:1], secure=ports[1:])
    statuses = analysis.transactions.filter(protocol="h2")["status"].to_list()
    assert statuses.count(200) >= 3 * (IMAGES + 1)
    assert statuses.count(404) >= 2


def test_calls_of_grpc_are_those_of_tshark(tmp_path):
    capture, port = tmp_path / "grpc.pcap", free_port()
    with captured(port, capture):
        subprocess.run([sys.executable, grpc_peer.__file__, f"{HOST}:{port}"], check=True)
    analysis = assert_agreement(capture, tmp_path / "none", clear=[port], secure=[])
    messages = ("grpc_request_messages", "grpc_response_messages")
    calls = analysis.transactions.sort("stream").select("target", "grpc_status", *messages)
    assert calls.rows() == [
        (f"/{grpc_peer.SERVICE}/{method}", status, 1, count) for method, _, _, count, status in grpc_peer.CALLS
    ]
    assert analysis.findings.filter(pl.col("confidence") > 0.5).is_empty()
