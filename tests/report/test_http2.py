"""HTTP/2 streams in the reports: their numbers, gRPC calls, resets, and HAR entries."""

import io
import json
import re

import polars as pl
import pytest
from captures import Connection, pcap
from charts.specifications import rows
from http2_exchanges import grpc_calls, page

import tcptrace_http
from report.test_har import archive, problems
from tcptrace_http.charts import waterfall
from tcptrace_http.report import html, limits, text

TARGETS = ("/", "/a.css", "/b.js", "/c.png")


def written(analysis) -> str:
    file = io.BytesIO()
    text.write([analysis], file, width=200, colour=False)
    return file.getvalue().decode()


def transactions_of(analysis) -> list[list[str]]:
    """Return the cells of the table of transactions, headings first."""
    lines = written(analysis).partition("\nTransactions (")[2].splitlines()[1:]
    return [re.split(r"\s{2,}", line.strip()) for line in lines[: lines.index("")]]


@pytest.fixture(scope="module")
def of_page():
    return tcptrace_http.analyze(pcap(page(TARGETS)))


@pytest.fixture(scope="module")
def of_calls():
    return tcptrace_http.analyze(pcap(grpc_calls()))


def test_each_transaction_has_its_stream(of_page):
    headings, *cells = transactions_of(of_page)
    assert headings[1] == "stream"
    assert "messages" not in headings
    streams = dict(zip(TARGETS, "1357", strict=True))
    assert {row[3]: row[1] for row in cells} == streams


def test_http1_has_no_column_for_streams(sample_traces):
    analysis = tcptrace_http.analyze(sample_traces / "objects_nginx_curl.pcap")
    assert "stream" not in transactions_of(analysis)[0]


def test_grpc_calls_have_their_status_messages_and_reset(of_calls):
    headings, *cells = transactions_of(of_calls)
    shown = [dict(zip(headings, row, strict=True)) for row in cells]
    assert [(it["target"], it["status"], it["messages"], it["reset by"]) for it in shown] == [
        ("Cart/Echo", "OK", "1→2", "-"),
        ("Cart/Nothing", "UNIMPLEMENTED", "1→1", "-"),
        ("Cart/Slow", "-", "1→0", "client CANCEL"),
    ]


def test_html_has_stream_columns_only_with_streams(of_page, of_calls, sample_traces):
    clear = tcptrace_http.analyze(sample_traces / "objects_nginx_curl.pcap")
    columns = [_columns_of(analysis) for analysis in (clear, of_page, of_calls)]
    assert [sorted({"stream", "grpc_status"} & set(each)) for each in columns] == [
        [],
        ["stream"],
        ["grpc_status", "stream"],
    ]


def _columns_of(analysis) -> list[str]:
    table = html.page(analysis).partition("const TABLES = ")[2].partition(";\n")[0]
    return json.loads(table)["transactions"]["columns"]


def test_waterfall_names_streams(of_page):
    parts = of_page.retrieval_transactions, of_page.transactions, of_page.waits, of_page.critical_path
    names = {row["name"] for row in rows(waterfall.draw(*parts))[0]}
    assert names == {f"0.{place} stream {2 * place + 1} {target}" for place, target in enumerate(TARGETS)}


def test_archive_is_valid_and_has_the_http2_fields(of_page, of_calls):
    for analysis in (of_page, of_calls):
        document = archive(analysis)
        assert problems(document) == []
        for entry in document["log"]["entries"]:
            assert entry["request"]["httpVersion"] == "HTTP/2"
            assert entry["request"]["headersSize"] == -1
            assert entry["_h2"]["request_header_bytes"] > 9
            assert not entry["_h2"]["pushed"]
            timings = [each for name, each in entry["timings"].items() if name != "ssl" and each != -1]
            assert entry["time"] == pytest.approx(sum(timings))
    assert [entry["_h2"]["stream"] for entry in archive(of_page)["log"]["entries"]] == [1, 3, 5, 7]


def test_archive_shows_grpc_calls(of_calls):
    entries = {entry["_h2"]["grpc"]["method"]: entry["_h2"] for entry in archive(of_calls)["log"]["entries"]}
    assert entries["Echo"]["grpc"] == {
        "service": "shop.v1.Cart",
        "method": "Echo",
        "status": 0,
        "status_name": "OK",
        "request_messages": 1,
        "response_messages": 2,
    }
    assert entries["Nothing"]["grpc"]["status_name"] == "UNIMPLEMENTED"
    assert "reset" not in entries["Echo"]
    assert entries["Slow"]["reset"] == {"by": "client_to_server", "error": "CANCEL"}


def test_capture_point_that_is_unknown_is_reported_of_http2(of_page):
    flows = of_page.flows.with_columns(observation_point=pl.lit("unknown"))
    told = list(limits._of_flows(flows))
    assert told == ["Capture point: unknown for 1 HTTP/2 flow."]


def test_report_without_http_names_the_versions_that_are_read():
    opened = Connection()
    opened.open()
    analysis = tcptrace_http.analyze(pcap(opened.records))
    assert "No HTTP/1.x, HTTP/2 or TLS was found; HTTP/3 cannot be read." in list(limits.capture_limits(analysis))
