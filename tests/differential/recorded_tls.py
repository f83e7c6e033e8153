"""Captures of the same objects from one nginx in cleartext and TLS, with curl's key log."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import polars as pl
from detectors.loopback import captured, free_port
from probe.servers import nginx
from probe.tls_servers import HOST, certified, port_of

import tcptrace_http

if TYPE_CHECKING:
    from pathlib import Path

HTTP: Final = """gzip on; gzip_min_length 100;
types { text/html html; text/css css; application/json json; application/octet-stream bin; }"""
TARGETS: Final = ("/page.html", "/large.bin", "/style.css", "/missing", "/empty.json")
#: Options of curl by resulting protocol: flow 0 is cleartext, the others follow in this order.
VERSIONS: Final = {
    "TLS 1.2": ("--tls-max", "1.2"),
    "TLS 1.3": ("--tlsv1.3",),
    "CBC": ("--tls-max", "1.2", "--ciphers", "ECDHE-ECDSA-AES256-SHA384"),
    "ChaCha20": ("--tlsv1.3", "--tls13-ciphers", "TLS_CHACHA20_POLY1305_SHA256"),
}


@dataclass(frozen=True)
class Recorded:
    capture: Path
    keys: Path
    port: int

    def without(self, folder: Path, *frames: int) -> Recorded:
        """Return the capture without these packets."""
        rest = folder / "rest.pcap"
        subprocess.run(["editcap", self.capture, rest, *map(str, frames)], check=True)
        return replace(self, capture=rest)

    def of_flow(self, flow: int, folder: Path) -> Path:
        """Return the packets of one flow."""
        packets = tcptrace_http.read(self.capture).packets
        port = tcptrace_http.analyze(self.capture).flows.filter(flow=flow)["client_port"][0]
        others = packets.filter((pl.col("source_port") != port) & (pl.col("destination_port") != port))["frame"]
        return self.without(folder, *others).capture.rename(folder / f"flow{flow}.pcap")

    @property
    def transactions(self) -> pl.DataFrame:
        return tcptrace_http.analyze(self.capture, keylog=self.keys).transactions


def record(folder: Path) -> Recorded:
    """Return a capture of the objects in cleartext and in each TLS version, and the key log."""
    capture, keys, port = folder / "all.pcap", folder / "keys.log", free_port()
    server = f"listen {HOST}:{port} ssl; ssl_protocols TLSv1.2 TLSv1.3; {certified(folder).directives()}"
    with nginx(folder, http=HTTP, server=server) as clear:
        www = folder / "www"
        (www / "page.html").write_text("<p>A page.</p>\n" * 100)
        (www / "large.bin").write_bytes(bytes(range(256)) * 2000)
        (www / "style.css").write_text("p { color: red }\n" * 3000)
        (www / "empty.json").write_text("{}")
        with captured(port_of(clear), capture, port):
            fetch(clear, keys)
            for options in VERSIONS.values():
                fetch(f"https://{HOST}:{port}", keys, *options)
    return Recorded(capture, keys, port)


def fetch(server: str, keys: Path, *options: str) -> None:
    """Request all targets on one connection."""
    urls = [word for target in TARGETS for word in ("-o", "/dev/null", f"{server}{target}")]
    command = ["curl", "--silent", "--insecure", "--http1.1", "--compressed", *options, *urls]
    subprocess.run(command, check=True, env={"SSLKEYLOGFILE": str(keys), "PATH": "/usr/bin:/bin"})
