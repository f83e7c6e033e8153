"""HTTP/2 against tshark: frames by type, and each stream's request, status and bytes.

Real servers: nginx in cleartext and TLS, nghttpd (pushes, trailers, padding), Apache httpd (Upgrade: h2c).
"""

from __future__ import annotations

import subprocess
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import polars as pl
import pytest
from detectors import packet_script
from detectors.loopback import captured, free_port
from probe.servers import apache, nghttpd, nginx, readable_folder
from probe.tls_servers import HOST, certified, port_of

import tcptrace_http

from .http2_agreement import differences, our_frame_types, our_streams, their_frame_types
from .tshark_http2 import NAMES, Frame, frames, streams

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TARGETS: Final = ("/large.html", "/missing", "/small.txt", "/page.html")
PUSHED: Final = "/small.txt"
#: The client cancels stream 1 (CANCEL, 8) after 100 of its 300 bytes.
CANCELLED: Final = """
+0.000000 C > S S 0:0(0) win 64240 <mss 1460, sackOK, wscale 7>
+0.000400 S > C S 0:0(0) ack 1 win 65160 <mss 1460, sackOK, wscale 7>
+0.000430 C > S . ack 1 win 502
+0.001000 C > S P 1:74(73) ack 1 win 502 {h2 PREFACE ; h2 SETTINGS ; h2 HEADERS 1 GET /large end bytes=40}
+0.002000 S > C P 1:159(158) ack 74 win 502 {h2 SETTINGS ; h2 HEADERS 1 200 bytes=40 ; h2 DATA 1 100}
+0.002100 C > S P 74:87(13) ack 159 win 502 {h2 RST_STREAM 1 8}
+0.002200 S > C P 159:368(209) ack 74 win 502 {h2 DATA 1 200 end}
+0.002300 C > S . ack 368 win 502
"""
UPGRADES: Final = "LoadModule http2_module /usr/lib/apache2/modules/mod_http2.so\nProtocols h2c http/1.1"


@dataclass(frozen=True)
class Recorded:
    capture: Path
    keys: Path
    ports: list[int]
    frames: list[Frame]

    def analysis(self) -> tcptrace_http.Analysis:
        return tcptrace_http.analyze(self.capture, keylog=self.keys)


@pytest.fixture(scope="module")
def recorded() -> Iterator[Recorded]:
    with readable_folder() as folder:
        yield record(folder)


def record(folder: Path) -> Recorded:
    """Return captures of several clients of each server, one after the other."""
    capture, keys = folder / "h2.pcap", folder / "keys.log"
    clear, secure = free_port(), free_port()
    listens = f"listen {HOST}:{clear} http2; listen {HOST}:{secure} ssl http2; {certified(folder).directives()}"
    with ExitStack() as servers:
        servers.enter_context(nginx(folder, server=listens))
        pushes = servers.enter_context(
            nghttpd(folder, "--padding=64", "--trailer=x-sum: 1", f"--push=/page.html={PUSHED}")
        )
        (folder / "apache").mkdir()
        upgrades = servers.enter_context(apache(folder / "apache", http=UPGRADES, mpm="event"))
        for www in (folder / "www", folder / "apache" / "www"):
            (www / "small.txt").write_text("small\n")
            (www / "page.html").write_text("<p>A page.</p>\n" * 1000)
        ports = [clear, secure, port_of(pushes), port_of(upgrades)]
        with captured(clear, capture, *ports[1:]):
            ask(keys, clear, pushes, upgrades, f"https://{HOST}:{secure}")
    known = [f"-dtcp.port=={port},http2" for port in (clear, port_of(pushes))]
    options = [*known, f"-dtcp.port=={port_of(upgrades)},http", "-o", f"tls.keylog_file:{keys}"]
    return Recorded(capture, keys, ports, frames(capture, options))


def ask(keys: Path, clear: int, pushes: str, upgrades: str, secure: str) -> None:
    """Make the clients' requests: serial, concurrent, with several header frames, with a body."""
    at_clear, at_pushes = f"http://{HOST}:{clear}", pushes
    curl(keys, at_clear, "--http2-prior-knowledge", targets=TARGETS[:1])
    curl(keys, secure, "--http2")
    curl(keys, secure, "--http2", "--parallel", "--tls-max", "1.2")
    nghttp("--upgrade", f"{upgrades}{TARGETS[0]}")
    nghttp("--multiply=3", *(f"{at_clear}{target}" for target in TARGETS))
    nghttp("--padding=100", "--continuation", f"{at_clear}{TARGETS[0]}")
    nghttp(f"{at_pushes}/page.html", f"{at_pushes}/large.html")
    nghttp(f"--data={keys}", "--trailer=x-end: 1", "--expect-continue", f"{at_pushes}/page.html")


def curl(keys: Path, server: str, *options: str, targets: tuple[str, ...] = TARGETS) -> None:
    urls = [word for target in targets for word in ("-o", "/dev/null", f"{server}{target}")]
    command = ["curl", "--silent", "--insecure", *options, *urls]
    subprocess.run(command, check=True, env={"SSLKEYLOGFILE": str(keys), "PATH": "/usr/bin:/bin"})


def nghttp(*words: str) -> None:
    subprocess.run(["nghttp", "--null-out", *words], check=True, capture_output=True)


def test_frames_of_each_type_are_those_that_tshark_lists(recorded: Recorded) -> None:
    theirs = their_frame_types(recorded.frames)
    seen = {kind for counts in theirs.values() for kind, count in counts.items() if count}
    assert seen >= set(NAMES) - {"rst_stream", "ping"}
    assert our_frame_types(recorded.analysis()) == theirs


def test_streams_are_those_that_tshark_lists(recorded: Recorded) -> None:
    theirs = streams(recorded.frames, recorded.ports)
    # The request of stream 1 came by HTTP/1.1.
    (upgraded,) = recorded.analysis().h2_connections.filter("is_upgrade")["flow"]
    first = theirs[upgraded, 1]
    assert (first.method, first.target) == (None, None)
    theirs[upgraded, 1] = replace(first, method="GET", target=TARGETS[0])
    assert our_streams(recorded.analysis()) == theirs


def test_waits_of_streams_add_up(recorded: Recorded) -> None:
    analysis = recorded.analysis()
    # A response pushed within one segment took no time, and has no waits.
    durations = (pl.col("end") - pl.col("start")).sum().alias("sum")
    waits = analysis.waits.group_by(flow="flow", index="transaction").agg(durations)
    joined = analysis.transactions.join(waits, on=["flow", "index"], how="left")
    took = pl.col("end_time") - pl.col("start_time")
    assert joined.filter(pl.col("sum").fill_null(pl.duration()) != took).is_empty()
    assert joined["sum"].null_count() < joined.height / 2


def test_stream_specific_facts_are_reported(recorded: Recorded) -> None:
    analysis = recorded.analysis()
    assert analysis.transactions.filter("is_pushed")["target"].unique().to_list() == [PUSHED]
    assert analysis.h2_connections["is_upgrade"].sum() == 1
    of_nghttpd = analysis.flows.filter(server_port=recorded.ports[2])["flow"].to_list()
    answers = analysis.transactions.filter(pl.col("flow").is_in(of_nghttpd), ~pl.col("is_pushed"), status=200)
    assert answers["has_trailers"].all()
    assert not {"malformed_http2", "broken_hpack", "undecrypted_tls"} & set(analysis.anomalies["kind"].to_list())


def test_data_behind_a_reset_belongs_to_no_stream(tmp_path: Path) -> None:
    capture = tmp_path / "cancelled.pcap"
    capture.write_bytes(packet_script.pcap(CANCELLED))
    analysis = tcptrace_http.analyze(capture)
    assert differences(analysis, frames(capture, ["-dtcp.port==80,http2"]), [80]) == []
    assert our_streams(analysis)[0, 1].body_bytes == [0, 100]
    assert our_frame_types(analysis)[0]["data"] == 2


def test_a_lost_packet_makes_streams_unknown_and_not_others(recorded: Recorded, tmp_path: Path) -> None:
    """Check that a missing packet changes no column of a stream, except to null."""
    whole = known(recorded.analysis())
    rest = tmp_path / "rest.pcap"
    told = 0
    for frame in range(10, recorded.analysis().capture.packets, 12):
        subprocess.run(["editcap", recorded.capture, rest, str(frame)], check=True)
        left = known(replace(recorded, capture=rest).analysis())
        assert left.keys() <= whole.keys(), frame
        for stream, values in left.items():
            pairs = list(zip(values, whole[stream], strict=True))
            assert all(value in (None, "<unknown>", there) for value, there in pairs), (frame, stream)
            told += sum(value == there for value, there in pairs)
    assert told > len(whole)


def known(analysis: tcptrace_http.Analysis) -> dict[tuple[int, int], tuple[object, ...]]:
    """Return the requests by client port and stream."""
    ports = analysis.flows.select("flow", "client_port")
    rows = analysis.transactions.filter(protocol="h2").join(ports, on="flow").iter_rows(named=True)
    return {(row["client_port"], row["stream"]): (row["method"], row["target"], row["status"]) for row in rows}
