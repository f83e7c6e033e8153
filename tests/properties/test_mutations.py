"""Captures with overwritten, removed, repeated and inserted bytes: rows or a clear error, nothing else."""

import json
from collections.abc import Iterator

import pytest
from captures import MILLISECOND, Connection, clean_exchange, pcap, pcapng, stalled_exchange
from hypothesis import given, settings
from hypothesis import strategies as st

from tcptrace_http.cli.main import run
from tcptrace_http.cli.plot import CHART_NAMES

UNUSABLE = 2
#: Permitted exit codes: success, violated, unusable, inconclusive.
CODES = {0, 1, UNUSABLE, 3}
WHOLE = [pcap(clean_exchange(2)), pcapng(clean_exchange(2)), pcap(stalled_exchange()), pcapng(stalled_exchange())]

places = st.integers(0, max(len(content) for content in WHOLE))
# Effective wrong bytes: zeros, ones, signs, and lengths off by one.
edge_bytes = st.sampled_from([b"\x00", b"\xff", b"\x7f\xff", b"\x80\x00", b"\xff\xff\xff\xff", bytes(4), b"\r\n"])
replacements = st.one_of(edge_bytes, st.binary(min_size=1, max_size=8))
mutations = st.lists(
    st.tuples(st.sampled_from(["overwrite", "insert", "remove", "repeat"]), places, replacements),
    min_size=1,
    max_size=6,
)


def mutated(content: bytes, changes: list[tuple[str, int, bytes]]) -> bytes:
    mutant = bytearray(content)
    for action, place, piece in changes:
        end = place + len(piece)
        if action == "overwrite":
            mutant[place:end] = piece
        elif action == "insert":
            mutant[place:place] = piece
        elif action == "remove":
            del mutant[place:end]
        else:
            mutant[place:place] = mutant[place : place + 97]
    return bytes(mutant)


def page() -> list[tuple[int, bytes]]:
    """Return a document with links to objects that two connections fetch."""
    connections = [Connection(client=("10.0.0.1", port)) for port in (1029, 1030)]
    for connection in connections:
        connection.open()
    document = b'<html><link rel="stylesheet" href="/a.css"><img src="/b.gif"><script src="/c.js"></script></html>'
    connections[0].exchange(body=document, think=30 * MILLISECOND)
    connections[1].time = connections[0].time
    for connection, target in zip((*connections, connections[0]), ("a.css", "b.gif", "c.js"), strict=True):
        connection.exchange(b"GET /%s HTTP/1.1\r\nHost: a.example\r\n\r\n" % target.encode())
    for connection in connections:
        connection.close()
    return sorted(record for connection in connections for record in connection.records)


def commands(capture: str, other: str, output: str, number: int) -> Iterator[list[str]]:
    """Yield every command that reads captures; the number selects format, side and chart."""

    def one_of(*choices: str) -> str:
        nonlocal number
        number, place = divmod(number, len(choices))
        return choices[place]

    shown = one_of("text", "json", "html", "har", "xplot", "ndjson", "csv-safe", "parquet")
    yield ["analyze", "--format", shown, "-o", f"{output}.xplot" if shown == "xplot" else output, capture]
    judged = one_of("text", "json", "junit", "sarif", "github", "gitlab", "tap", "markdown")
    yield ["check", "--output-file", f"{judged}:{output}", capture]
    sides = [capture, other] if one_of("left", "right") == "left" else [other, capture]
    yield ["diff", "--format", one_of("text", "json", "html"), "-o", output, *sides]
    chart = one_of(*CHART_NAMES)
    yield ["plot", chart, "-o", f"{output}.json", *([capture, other] if chart == "comparison" else [capture])]
    yield ["explain", "--frame", one_of("5", "8"), capture]
    yield ["infer", "-o", output, capture]
    fix = one_of("no-nagle", "keep-alive", "no-loss", "all-fixes")
    strategy = one_of("http10-parallel", "http11-pipelined")
    yield ["whatif", "--fix", fix, "--strategy", strategy, "-o", output, capture]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TCPTRACE_HTTP_TRACEBACK", "1")
        yield tmp_path_factory.mktemp("mutants")


@given(whole=st.sampled_from(WHOLE), changes=mutations)
def test_mutated_capture_is_analysed_or_refused(folder, whole, changes):
    capture, output = folder / "mutant.pcap", folder / "out.json"
    capture.write_bytes(mutated(whole, changes))
    for arguments in (["--format", "json"], ["--format", "text"], ["--format", "csv", "--table", "segments"]):
        code = run(["analyze", "--quiet", "-o", str(output), *arguments, str(capture)])
        assert code in {0, UNUSABLE}
        if code == 0 and "json" in arguments:
            shown = json.loads(output.read_bytes())
            assert_consistent(shown)


@pytest.mark.slow
@settings(max_examples=2000)
@given(whole=st.sampled_from([*WHOLE, pcap(page())]), changes=mutations, number=st.integers(0, 2**16))
def test_no_command_fails_on_a_mutated_capture(folder, whole, changes, number):
    capture, other = folder / "mutant.pcap", folder / "whole.pcap"
    capture.write_bytes(mutated(whole, changes))
    other.write_bytes(whole)
    for arguments in commands(str(capture), str(other), str(folder / "out"), number):
        assert run(arguments) in CODES, arguments


def assert_consistent(shown: dict) -> None:
    """Check the invariants of every analysis, for any capture."""
    flows = [flow["flow"] for flow in shown["flows"]]
    assert flows == sorted(set(flows))
    assert {row["flow"] for row in shown["transactions"]} <= set(flows)
    assert sum(flow["packets"] for flow in shown["flows"]) <= shown["capture"]["tcp_packets"]
    assert shown["capture"]["tcp_packets"] <= shown["capture"]["packets"]
    keys = {(row["flow"], row["index"]) for row in shown["transactions"]}
    for finding in shown["findings"]:
        # Null for a finding on the flow, or on several transactions.
        assert finding["transaction"] is None or (finding["flow"], finding["transaction"]) in keys
        assert finding["flow"] in flows
        assert 0 <= finding["confidence"] <= 1
        assert finding["lost_ns"] >= 0
        assert 1 <= finding["first_frame"] <= finding["last_frame"] <= shown["capture"]["packets"]
    assert_waits_partition(shown["transactions"])


def assert_waits_partition(transactions: list[dict]) -> None:
    """Check that a transaction's waits are contiguous from start to end, for any times."""
    for row in transactions:
        borders = [row["start_time_ns"]]
        for wait in row["waits"]:
            assert wait["start_ns"] == borders[-1]
            assert wait["start_ns"] < wait["end_ns"]
            borders.append(wait["end_ns"])
        assert borders[-1] == row["end_time_ns"]
