"""Loads of the benchmark: requests, connections and path of each capture."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.bench.documents import DOCUMENTS

__all__ = ["CLIENT", "LOADS", "SERVER", "Load", "keep_alive", "nginx_configuration"]

SERVER: Final = "10.77.0.1"
CLIENT: Final = "10.77.0.2"
_GIGABIT: Final = "rate 1gbit burst 64kb latency 20ms"
_SHORT_QUEUE: Final = "rate 20mbit burst 16kb limit 64kb"
_NGINX: Final = """\
daemon off; master_process off; worker_processes 1; pid {folder}/nginx.pid;
error_log {folder}/error.log; events {{ worker_connections 4096; }}
http {{
  types {{ text/html html; text/css css; text/javascript js; image/png png; }}
  access_log off; keepalive_requests 1000000; sendfile on; tcp_nopush on;
  client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2; fastcgi_temp_path {folder}/t3;
  uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5;
  server {{
    listen {server}:80; listen {server}:81 http2; root {folder};
    error_page 405 =200 $uri;  # a POST is answered with the file
    location /page/ {{ add_header Cache-Control no-store; }}
    location /moved/ {{ rewrite ^/moved(/.*)$ $1 permanent; }}
    location = /submit {{ return 303 /pages/00.html; }}
    location = /done {{ access_log {folder}/done.log; return 204; }}
  }}
}}
"""
_SCRIPT: Final = Path(__file__).with_name("requests.lua")
_WRK: Final = ("wrk", "--threads", "1", "--duration", "600s", "--script", str(_SCRIPT))


@dataclass(frozen=True, slots=True)
class Load:
    """Load of a capture: its client, the token bucket at both ends, and the switch between them.

    ``{folder}`` in the command stands for the folder of the server's documents.
    """

    name: str
    command: tuple[str, ...]
    shaping: str = "rate 600mbit burst 64kb latency 20ms"
    bottleneck: str = ""


def keep_alive(name: str, responses: int) -> Load:
    """Return ten connections with bodies of 1 MB, without a specific media type."""
    return Load(name, ("ab", "-q", "-k", "-n", str(responses), "-c", "10", f"http://{SERVER}/large"))


def nginx_configuration(folder: Path) -> str:
    """Return the configuration of the server of all loads, with its files in the folder."""
    return _NGINX.format(folder=folder, server=SERVER)


def _short() -> Load:
    # -r: a reset connection must not end the run.
    return Load("short", ("ab", "-q", "-r", "-n", "20000", "-c", "20", f"http://{SERVER}/small"))


def _pages(name: str, responses: int, connections: int = 48, bottleneck: str = "") -> Load:
    arguments = (str(responses), "pages", str(DOCUMENTS), "mixed")
    command = (*_WRK, "--connections", str(connections), f"http://{SERVER}", "--", *arguments)
    return Load(name, command, _GIGABIT, bottleneck)


def _connections(name: str, responses: int) -> Load:
    closing = ("--connections", "48", "--header", "Connection: close")
    arguments = (str(responses), "small_pages", str(DOCUMENTS))
    return Load(name, (*_WRK, *closing, f"http://{SERVER}", "--", *arguments), _GIGABIT)


def _streams(name: str, batches: int) -> Load:
    batch = f"h2load --requests=96 --clients=48 --max-concurrent-streams=1 http://{SERVER}:81/small"
    return Load(name, ("sh", "-c", f"for batch in $(seq {batches}); do {batch} || exit 1; done"), _GIGABIT)


def _download(name: str) -> Load:
    return Load(name, ("curl", "--silent", "--output", "/dev/null", f"http://{SERVER}/{name}"), _GIGABIT)


def _browser() -> Load:
    # Root in a container has no namespaces for the sandbox; the page is ours.
    options = ("--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir={folder}/profile")
    debugger = "--remote-debugging-port=0"  # without it a headless browser ends with the first load
    return Load("browser", ("chromium", *options, debugger, f"http://{SERVER}/page/index.html"), _GIGABIT)


_ALL: Final = (
    keep_alive("keep_alive", 1150),
    _short(),
    _pages("pages", 64_000),
    _pages("pages_tenth", 6_400),
    _connections("connections", 20_000),
    _connections("connections_tenth", 2_000),
    # Cleartext HTTP/2.
    _streams("streams", 417),
    _streams("streams_tenth", 42),
    _download("download"),
    _download("download_tenth"),
    _browser(),
    _pages("lossy", 6_000, 8, _SHORT_QUEUE),
)
LOADS: Final = {load.name: load for load in _ALL}
