"""Captures in an object store or on a web server: read in pieces, and named by patterns."""

import functools
import http.server
import subprocess
import sys
import threading

import pytest

import tcptrace_http
from tcptrace_http.capture import expand
from tcptrace_http.cli.main import run
from tcptrace_http.corpus.store import open_store
from tcptrace_http.errors import CaptureError

NAME = "heidemann_1996_figure2.pcap"


@pytest.fixture
def remote_capture(bucket, sample_traces) -> str:
    store = open_store(bucket)
    store.write(f"captures/{NAME}", (sample_traces / NAME).read_bytes())
    return store.uri(f"captures/{NAME}")


@pytest.fixture
def web_server(sample_traces):
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=sample_traces)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_capture_in_a_bucket_has_the_same_rows_as_the_file(remote_capture, sample_traces):
    remote = tcptrace_http.analyze(remote_capture)
    local = tcptrace_http.analyze(sample_traces / NAME)
    assert remote.findings.equals(local.findings)
    assert remote.transactions.equals(local.transactions)


def test_a_capture_on_a_web_server_is_read_with_any_query(web_server, sample_traces):
    remote = tcptrace_http.analyze(f"{web_server}/{NAME}?signature=a%2Fb")
    assert remote.findings.equals(tcptrace_http.analyze(sample_traces / NAME).findings)


def test_the_command_takes_a_pattern_of_a_bucket(remote_capture, capsys):
    pattern = remote_capture.replace(NAME, "*.pcap")
    assert run(["analyze", "--format", "csv", "--table", "flows", pattern]) == 0
    assert remote_capture in capsys.readouterr().out


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("x/*.pcap", ["x/a.pcap", "x/b.pcap"]),
        ("*/a.pcap", ["x/a.pcap", "y/a.pcap"]),
        ("**/a.pcap", ["a.pcap", "x/a.pcap", "x/deep/a.pcap", "y/a.pcap"]),
        ("x/[bc].pcap", ["x/b.pcap"]),
        ("x/**", ["x/a.pcap", "x/b.pcap", "x/deep/a.pcap"]),
    ],
)
def test_a_pattern_selects_objects_like_files(bucket, pattern, names):
    store = open_store(bucket)
    for key in ("a.pcap", "x/a.pcap", "x/b.pcap", "x/deep/a.pcap", "y/a.pcap"):
        store.write(key, b"")
    assert list(expand([f"{bucket}/{pattern}"])) == [f"{bucket}/{name}" for name in names]


def test_a_pattern_without_an_object_is_an_error(bucket):
    with pytest.raises(CaptureError, match="no file matches"):
        list(expand([f"{bucket}/*.pcap"]))


def test_an_absent_capture_is_reported_with_its_url(bucket):
    with pytest.raises(CaptureError, match=f"{bucket}/none.pcap: no such object"):
        tcptrace_http.analyze(f"{bucket}/none.pcap")


def test_an_absent_capture_of_a_web_server_is_reported_with_its_status(web_server):
    with pytest.raises(CaptureError, match=r"none\.pcap: cannot be opened: HTTP Error 404"):
        tcptrace_http.analyze(f"{web_server}/none.pcap")


_READER = """
import sys
from tcptrace_http.capture_stream import CaptureStream
from tcptrace_http.corpus.executors import _peak_bytes as peak
def size(url):
    with CaptureStream(url) as stream:
        return sum(len(chunk) for chunk in stream.chunks())
size(sys.argv[1])
before = peak()
print(size(sys.argv[2]), peak() - before)
"""


def test_a_large_object_is_read_without_holding_it(bucket):
    store = open_store(bucket)
    length = 64 * 1024 * 1024
    store.write("small", bytes(1024))
    store.write("large", bytes(length))
    command = [sys.executable, "-c", _READER, store.uri("small"), store.uri("large")]
    read, grown = map(int, subprocess.run(command, check=True, capture_output=True).stdout.split())
    assert read == length
    assert grown < length // 4
