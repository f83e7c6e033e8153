"""Bodies, redirects and expectations: rows checked against Python's coders and digests, over several flows."""

from __future__ import annotations

import gzip
import io
import random
from typing import TYPE_CHECKING

import polars as pl
import pytest
import xxhash
from backports import zstd
from captures import MILLISECOND, Connection, pcap
from hypothesis import given
from hypothesis import strategies as st

import tcptrace_http
from tcptrace_http.analysis import Analysis
from tcptrace_http.capture import batches
from tcptrace_http.report import json
from tcptrace_http.trace import native

if TYPE_CHECKING:
    from pathlib import Path

    from captures import Record

MSS = 1460
TABLES = ("bodies", "redirects", "expectations")


def page(seed: int, lines: int = 400) -> bytes:
    """Return HTML with random numbers; it compresses to about a third."""
    random_ = random.Random(seed)
    return b"".join(b"<li id=%d>item %d</li>\n" % (number, random_.randrange(10**6)) for number in range(lines))


def fetch(
    connection: Connection,
    target: str,
    body: bytes,
    *fields: str,
    asks: tuple[str, ...] = (),
    status: str = "200 OK",
) -> None:
    request = "\r\n".join([f"GET {target} HTTP/1.1", "Host: a.example", *asks, "", ""]).encode()
    length = f"Content-Length: {len(body)}"
    head = "\r\n".join([f"HTTP/1.1 {status}", length, *fields, "", ""]).encode()
    connection.from_client(request, after=1_000_000)
    response = head + body
    for start in range(0, len(response), MSS):
        connection.from_server(response[start : start + MSS], after=12_000)
        connection.from_client(after=20_000)


def opened(port: int = 40_000, start: int = 0) -> Connection:
    connection = Connection(client=("10.0.0.1", port), client_seq=2**32 - 40 + port)
    connection.time += start
    connection.open()
    return connection


def merged(*connections: Connection) -> bytes:
    records: list[Record] = [record for each in connections for record in each.records]
    return pcap(sorted(records, key=lambda record: record[0]))


def analyzed(path: Path, *connections: Connection) -> Analysis:
    capture = path / "objects.pcap"
    capture.write_bytes(merged(*connections))
    return tcptrace_http.analyze(capture)


HTML = "Content-Type: text/html; charset=utf-8"


@pytest.mark.parametrize("chunked", [False, True])
def test_the_digest_of_a_body_is_that_of_xxhsum(tmp_path, chunked):
    connection, body = opened(), random.Random(1).randbytes(9000)
    if chunked:
        chunks = (b"%x\r\n%s\r\n" % (len(part), part) for part in (body[:1], body[1:5000], body[5000:]))
        response = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"".join(chunks) + b"0\r\n\r\n"
        connection.from_client(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        for start in range(0, len(response), MSS):
            connection.from_server(response[start : start + MSS], after=12_000)
    else:
        fetch(connection, "/", body)
    assert analyzed(tmp_path, connection).transactions["body_digest"].to_list() == [xxhash.xxh3_64_intdigest(body)]


def test_a_body_with_a_hole_or_another_status_has_no_digest(tmp_path):
    connection = opened()
    fetch(connection, "/", page(1), status="404 Not Found")
    fetch(connection, "/", page(1))
    lost = next(at for at, record in enumerate(connection.records) if b"<li id=200>" in record[1] and at > 20)
    del connection.records[lost]
    analysis = analyzed(tmp_path, connection)
    assert analysis.transactions["missing_bytes"].to_list() == [0, MSS]
    assert analysis.transactions["body_digest"].to_list() == [None, None]
    assert analysis.bodies.is_empty()


def test_the_sizes_of_a_text_are_those_of_pythons_coders(tmp_path):
    connection, body = opened(), page(2, lines=3000)
    fetch(connection, "/", body, HTML)
    row = analyzed(tmp_path, connection).bodies.row(0, named=True)
    assert row["zstd_bytes"] == len(zstd.compress(body, 3))
    # zlib-rs makes other choices than zlib, with similar compression.
    assert row["gzip_bytes"] == pytest.approx(len(gzip.compress(body, 6)), rel=0.03)


@pytest.mark.parametrize("coding", ["", "gzip", "zstd"])
def test_the_delta_equals_pythons_zstd_with_the_earlier_body_as_prefix(tmp_path, coding):
    connection, before = opened(), page(3, lines=1000)
    now = before.replace(b"<li id=500>", b"<li id=500 class=new>")
    pack = {"": bytes, "gzip": gzip.compress, "zstd": zstd.compress}[coding]
    fields = [HTML, *([f"Content-Encoding: {coding}"] if coding else [])]
    fetch(connection, "/", pack(before), *fields)
    fetch(connection, "/", pack(now), *fields)
    row = analyzed(tmp_path, connection).bodies.row(-1, named=True)
    prefix = zstd.ZstdDict(before, is_raw=True).as_prefix
    options = {zstd.CompressionParameter.compression_level: 3, zstd.CompressionParameter.window_log: 21}
    assert row["delta_bytes"] == len(zstd.compress(now, options=options, zstd_dict=prefix)) < 200
    assert (row["is_unchanged"], row["previous_transaction"]) == (False, 0)


def test_other_codings_of_one_url_are_other_objects(tmp_path):
    connection, body = opened(), page(4)
    fetch(connection, "/", body, HTML)
    fetch(connection, "/", gzip.compress(body), HTML, "Content-Encoding: gzip")
    rows = analyzed(tmp_path, connection).bodies
    assert rows.select("previous_flow", "is_unchanged").rows() == [(None, None)]


def test_a_repeat_on_another_connection_is_found_and_another_client_is_none(tmp_path):
    first, second = opened(40_000), opened(40_001, start=50_000_000)
    other = Connection(client=("10.0.0.9", 40_002), client_seq=5)
    other.time += 100_000_000
    other.open()
    body = random.Random(5).randbytes(5000)
    for connection in (first, second, other):
        fetch(connection, "/x", body, 'ETag: "1"')
    rows = analyzed(tmp_path, first, second, other).bodies
    assert rows.select("flow", "previous_flow", "is_unchanged").rows() == [(1, 0, True)]


def test_a_pause_counts_as_a_rtt_at_most(tmp_path):
    connection, body = opened(), random.Random(6).randbytes(6000)
    fetch(connection, "/", body)
    fetch(connection, "/", body)
    # The last data segment of the repetition and its ACK arrive five seconds later.
    for at in range(len(connection.records) - 2, len(connection.records)):
        time, *rest = connection.records[at]
        connection.records[at] = (time + 5_000_000_000, *rest)
    row = analyzed(tmp_path, connection).bodies.row(0, named=True)
    took = row["response_last_time"] - row["response_first_time"]
    assert took.total_seconds() > 5
    assert 0 < row["transfer"].total_seconds() < 0.01


def several_flows(choices: list[tuple[int, int, int]]) -> bytes:
    """Return three connections of one client, with fetches and redirects in turn."""
    connections = [opened(50_000 + number, start=number * 100_000) for number in range(3)]
    for number, url, version in choices:
        # In step: a connection's fetches follow the fetches on the other connections.
        now = max(connection.time for connection in connections)
        connections[number].time = now
        if version == 0:
            fetch(connections[number], f"/{url}", b"", f"Location: /{url + 1}", status="302 Found")
        else:
            fetch(connections[number], f"/{url}", page(version, lines=80), HTML, 'ETag: "1"')
    return merged(*connections)


def rows(content: bytes, *, threads: int, chunk_bytes: int) -> list[pl.DataFrame]:
    core = native.Analyzer(threads=threads)
    for start in range(0, len(content), chunk_bytes):
        core.feed(content[start : start + chunk_bytes])
    core.finish()
    taken = core.take()
    return [pl.DataFrame(taken.table(name)) for name in TABLES]


@given(
    choices=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 3)), min_size=3, max_size=20),
    threads=st.integers(2, 6),
    chunk_bytes=st.integers(200, 50_000),
)
def test_rows_over_several_flows_do_not_depend_on_threads_and_chunks(choices, threads, chunk_bytes):
    content = several_flows(choices)
    whole = rows(content, threads=1, chunk_bytes=1 << 20)
    cut = rows(content, threads=threads, chunk_bytes=chunk_bytes)
    assert all(one.equals(other) for one, other in zip(whole, cut, strict=True))


def test_findings_of_batches_are_those_of_the_whole_though_flows_left_before(tmp_path):
    random_ = random.Random(7)
    choices = [(random_.randrange(3), random_.randrange(3), random_.randrange(4)) for _ in range(600)]
    path = tmp_path / "several.pcap"
    path.write_bytes(several_flows(choices))

    def document(analyses: list[Analysis]) -> bytes:
        file = io.BytesIO()
        json.write([json.document(analyses)], file, is_one=True)
        return file.getvalue()

    in_batches = [Analysis(each) for each in batches(path, rows_in_a_batch=50)]
    assert len(in_batches) > 2
    whole = tcptrace_http.analyze(path, statistics=False)
    assert {"unconditional-repeat", "redirect-chain"} <= set(whole.findings["detector"])
    assert document(in_batches) == document([whole])


def test_requests_of_curl_to_nginx_are_distinguished(sample_traces):
    analysis = tcptrace_http.analyze(sample_traces / "objects_nginx_curl.pcap")
    redirects = analysis.redirects.select("target", "next_host", "next_target", "first_flow").rows()
    assert redirects == [
        ("/old", "a.example", "/old2", 6),
        ("/old2", "a.example", "/page.html", 6),
        ("/other", "b.example", "/page.html", 7),
        ("/d", "a.example", "/d/", 9),
    ]
    repeats = analysis.bodies.filter("is_unchanged")
    assert repeats.select("target", "previous_has_validator").rows() == [
        ("/rand.bin", True),
        ("/noval/rand.bin", False),
    ]
    # The third request carried the ETag, and got a 304.
    requested = analysis.transactions.filter(target="/rand.bin").select("status", "is_conditional").rows()
    assert requested == [(200, False), (200, False), (304, True)]
    (changed,) = analysis.bodies.filter(~pl.col("is_unchanged")).iter_rows(named=True)
    assert (changed["target"], changed["content_encoding"]) == ("/page.html", "gzip")
    assert changed["delta_bytes"] < 60 < changed["body_bytes"]
    # nginx did not compress /plain/: it is as long as the objects that curl requested without gzip.
    uncompressed = analysis.bodies.filter(target="/plain/page.html").row(0, named=True)
    assert uncompressed["accept_encoding"] == "deflate, gzip, br, zstd"
    assert uncompressed["zstd_bytes"] < uncompressed["gzip_bytes"] < uncompressed["body_bytes"] / 3


def at_once(connections: int, fetches: int, *, body: bytes = b"x" * 3000) -> list[Connection]:
    """Return connections a tenth of an RTT apart that fetch the same object repeatedly."""
    made = [opened(40_000 + number, start=number * MILLISECOND // 10) for number in range(connections)]
    for each in made:
        for _ in range(fetches):
            fetch(each, "/same", body, 'ETag: "1"')
    return made


def test_an_object_that_is_fetched_on_many_connections_at_once_is_counted_each_time(tmp_path):
    analysis = analyzed(tmp_path, *at_once(connections=40, fetches=5))
    times = analysis.transactions.select("request_time", "response_last_time")
    first = times["response_last_time"].min()
    again = times.filter(pl.col("request_time") >= first).height
    assert 160 <= again < 200
    assert analysis.bodies["is_unchanged"].sum() == again
    assert (analysis.bodies["previous_time"] <= analysis.bodies["request_time"]).all()
    (summary,) = analysis.findings.filter(detector="unconditional-repeat")["summary"]
    assert f"was fetched {again} times again" in summary


def test_the_response_before_is_the_latest_that_was_complete(tmp_path):
    first, second = opened(40_001), opened(40_002)
    for body in (b"a" * 3000, b"b" * 3000):
        fetch(first, "/changing", body)
    second.time = first.time
    fetch(second, "/changing", b"b" * 3000)
    bodies = analyzed(tmp_path, first, second).bodies
    assert bodies.select("flow", "previous_flow", "previous_transaction", "is_unchanged").rows() == [
        (1, 0, 1, True)
    ]


def test_redirects_of_several_connections_to_one_url_are_all_followed(tmp_path):
    made = [opened(40_000 + number, start=number * MILLISECOND // 10) for number in range(30)]
    for each in made:
        fetch(each, "/a", b"", "Location: /b", status="301 Moved Permanently")
    for each in made:
        fetch(each, "/b", b"")
    redirects = analyzed(tmp_path, *made).redirects
    assert redirects.height == 30
    assert redirects["flow"].n_unique() == redirects["next_flow"].n_unique() == 30


@pytest.mark.parametrize(("redirects", "is_cut"), [(1000, False), (1100, True)])
def test_findings_say_at_least_after_dropped_redirects(tmp_path, redirects, is_cut):
    connection = opened()
    for number in range(redirects):
        fetch(connection, f"/{number}", b"", f"Location: /{number}/", status="301 Moved Permanently")
    fetch(connection, f"/{redirects - 1}/", b"")
    (summary,) = analyzed(tmp_path, connection).findings.filter(detector="redirect-chain")["summary"]
    assert summary.endswith("(at least: not all objects were compared)") == is_cut


@pytest.mark.slow
def test_findings_say_at_least_after_dropped_objects(tmp_path):
    connection = opened()
    for number in range(32_770):
        fetch(connection, f"/{number}", b"%08d" % number * 190)
    for _ in range(3):
        fetch(connection, "/again", b"x" * 8000)
    (summary,) = analyzed(tmp_path, connection).findings.filter(detector="duplicate-object")["summary"]
    assert summary.endswith("(at least: not all objects were compared)")
