"""Real proxy in front of a server whose responses stall: both legs in one capture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
from detectors.loopback import ask, captured, connect, free_port, read_response

import tcptrace_http

from .servers import document, nginx, written

if TYPE_CHECKING:
    from pathlib import Path

COUNT = 12
BODY = b"x" * 1000
#: The upstream connection persists, as in real stalls: a new connection does not delay its ACKs.
UPSTREAM = "upstream origin {{ server {address}; keepalive 1; }}"
PROXY = 'location / { proxy_pass http://origin; proxy_http_version 1.1; proxy_set_header Connection ""; }'


def requests_through_a_proxy(folder: Path, *, is_buffered: bool) -> tcptrace_http.Analysis:
    """Serve requests on one connection to nginx, whose upstream server writes heads separately under Nagle."""
    path, port = folder / "both.pcap", free_port()
    origin = folder / "origin"
    (document(origin) / "page").write_bytes(BODY)
    front = folder / "front"
    with written(origin, nodelay=False, head_alone=True) as url:
        address = url.removeprefix("http://")
        http = UPSTREAM.format(address=address) + ("" if is_buffered else " proxy_buffering off;")
        upstream_port = int(address.rpartition(":")[2])
        with (
            nginx(front, http=http, server=PROXY, port=port),
            captured(port, path, upstream_port),
            connect(port) as connection,
        ):
            for _ in range(COUNT):
                ask(connection, "/page")
                read_response(connection, len(BODY))
    return tcptrace_http.analyze(path)


def test_a_proxy_is_not_blamed_for_upstream_stalls(tmp_path):
    for is_buffered in (True, False):
        folder = tmp_path / str(is_buffered)
        folder.mkdir()
        folder.chmod(0o755)
        analysis = requests_through_a_proxy(folder, is_buffered=is_buffered)
        assert analysis.hops.height == COUNT
        assert (analysis.hops["transaction"] == analysis.hops["upstream_transaction"]).all()
        (front,), (upstream,) = (analysis.hops[name].unique() for name in ("flow", "upstream_flow"))
        stalled = pl.col("cause").cast(pl.String).str.starts_with("stall.")
        of_flow = analysis.waits.with_columns(spent=(pl.col("end") - pl.col("start")).dt.total_nanoseconds())
        held = analysis.findings.filter(stalled)
        assert not held.is_empty()
        assert set(held["flow"]) == {upstream}
        stalls = of_flow.filter(stalled, flow=upstream)["spent"].sum()
        assert stalls > 0
        assert of_flow.filter(stalled, flow=front).is_empty()
        assert of_flow.filter(flow=front, cause="server.upstream")["spent"].sum() > 0.95 * stalls
