"""Notebook views: one flow, one transaction, their HTML, and charts of frames."""

import copy

import polars as pl
import pytest
from captures import ACK, MILLISECOND, PSH, Connection, pcap, stalled_exchange

import tcptrace_http
from tcptrace_http.errors import NothingToDraw, UnknownName
from tcptrace_http.quantity import duration


@pytest.fixture
def analysis(tmp_path):
    path = tmp_path / "stalled.pcap"
    path.write_bytes(pcap(stalled_exchange()))
    return tcptrace_http.analyze(path, tables={"segments"})


def test_flow_has_its_row_and_related_rows(analysis):
    flow = analysis.flow(0)
    assert flow.fields == analysis.flows.row(0, named=True)
    assert (flow.client, flow.server_port) == ("10.0.0.1", 8080)
    assert flow.segments.equals(analysis.segments)
    assert flow.transactions.equals(analysis.transactions)
    assert flow.waits.equals(analysis.waits)
    assert flow.findings["detector"].to_list() == ["short-initial-segment"]
    assert "client" in dir(flow)
    assert repr(flow) == "<flow 0: 10.0.0.1:1029 to 10.0.0.2:8080, 1 transaction>"


def test_transaction_has_its_row_and_related_rows(analysis):
    transaction = analysis.transaction(0, 0)
    assert transaction.fields == analysis.transactions.row(0, named=True)
    assert transaction.status == 200
    assert transaction.waits.height == analysis.waits.height > 0
    frames = transaction.segments["frame"]
    assert (frames.min(), frames.max()) == (
        transaction.waits["first_frame"].min(),
        transaction.waits["last_frame"].max(),
    )
    assert repr(transaction) == "<transaction 0.0: GET /page 200>"


def test_views_do_not_change_and_compare_by_their_rows(analysis):
    flow = analysis.flow(0)
    with pytest.raises(AttributeError):
        flow.fields = {}
    assert flow == analysis.flow(0)
    assert len({flow, analysis.flow(0), analysis.transaction(0, 0)}) == 2
    assert copy.copy(flow) == flow
    with pytest.raises(AttributeError, match="no column 'colour'"):
        _ = flow.colour


@pytest.mark.parametrize("numbers", [(7,), (0, 7), (7, 0)])
def test_missing_number_is_an_error_that_lists_the_numbers(analysis, numbers):
    ask = analysis.flow if len(numbers) == 1 else analysis.transaction
    with pytest.raises(UnknownName, match="counted from 0"):
        ask(*numbers)


def test_captured_text_is_escaped(tmp_path):
    attack = b"<script>alert(1)</script>"
    connection = Connection()
    connection.open()
    connection.from_client(b"GET /%s HTTP/1.1\r\nHost: %s\r\n\r\n" % (attack, attack), PSH | ACK, MILLISECOND)
    connection.from_server(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", PSH | ACK, MILLISECOND)
    connection.close()
    path = tmp_path / "<i>attack.pcap"
    path.write_bytes(pcap(connection.records))
    analysis = tcptrace_http.analyze(path)
    for shown in (analysis, analysis.flow(0), analysis.transaction(0, 0)):
        html = shown._repr_html_()
        assert "&lt;script&gt;" in html
        assert "<script" not in html
        assert "<i>" not in html


def test_overview_opens_with_the_verdict(analysis):
    html = analysis._repr_html_()
    assert "short-initial-segment costs the most" in html.partition("</p>")[0]
    assert "181.0 ms" in html
    assert "<caption>Detectors, the most time lost first (1)</caption>" in html


def test_overview_of_many_rows_says_how_many_it_shows(sample_traces):
    analysis = tcptrace_http.analyze(sample_traces / "objects_nginx_curl.pcap")
    html = analysis._repr_html_()
    count = analysis.transactions.height
    assert f"<caption>Transactions, the slowest first ({count}, 10 of them)</caption>" in html


@pytest.mark.parametrize("chart", ["time_sequence", "window", "rtt", "throughput"])
def test_frame_of_segments_draws_itself(analysis, tmp_path, chart):
    path = tmp_path / "segments.parquet"
    analysis.segments.write_parquet(path)
    made = getattr(pl.read_parquet(path).tcp.plot, chart)().to_dict()
    assert made["layer"]
    assert "flow" in made["title"]["text"]


def test_frame_that_has_no_segments_says_so(analysis):
    with pytest.raises(NothingToDraw, match="no segments: they lack"):
        _ = analysis.transactions.tcp.plot


def test_frame_of_several_flows_asks_for_one(sample_traces):
    segments = tcptrace_http.analyze(sample_traces / "objects_nginx_curl.pcap", tables={"segments"}).segments
    with pytest.raises(NothingToDraw, match="13 flows: name one"):
        segments.tcp.plot.rtt()
    assert segments.tcp.plot.rtt(flow=3).to_dict()["title"]["text"].endswith("flow 3 were acknowledged")


def test_analysis_shows_its_size_and_lost_time(analysis):
    said = repr(analysis)
    assert said.startswith("<analysis of ")
    counts = said.rpartition("stalled.pcap: ")[2]
    assert counts == (f"{analysis.capture.packets} packets, 1 flow, 1 transaction, 1 finding, 181.0 ms lost>")
    assert html_of(said) in analysis._repr_html_()


def html_of(text):
    return text.replace("<", "&lt;").replace(">", "&gt;")


def test_overview_groups_findings_and_says_how_long_transactions_took(sample_traces):
    analysis = tcptrace_http.analyze(sample_traces / "lan_hdrsep_small.pcap")
    html = analysis._repr_html_()
    assert html.count("<td>short-initial-segment</td>") == 1
    lost = int(analysis.findings["lost"].dt.total_nanoseconds().sum())
    assert duration(lost) in html
    assert "<th>elapsed</th>" in html
    slowest = analysis.transactions.select((pl.col("end_time") - pl.col("start_time")).max()).item()
    assert f"<td>{duration(round(slowest.total_seconds() * 1e9))}</td>" in html
