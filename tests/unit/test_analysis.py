"""Python interface: tables on request, selections, and the meaning of names."""

import polars as pl
import pytest
from captures import Connection, clean_exchange, pcap, stalled_exchange
from charts.flows import flow_with_sack

import tcptrace_http
from tcptrace_http.schema import TABLES, polars_schema


@pytest.fixture
def clean(tmp_path):
    path = tmp_path / "clean.pcap"
    path.write_bytes(pcap(clean_exchange(3)))
    return path


@pytest.fixture
def stalled(tmp_path):
    path = tmp_path / "stalled.pcap"
    path.write_bytes(pcap(stalled_exchange()))
    return path


@pytest.mark.parametrize("name", TABLES)
def test_table_has_the_declared_columns_and_types(stalled, name):
    analysis = tcptrace_http.analyze(stalled, tables=["packets", "segments"])
    assert dict(analysis.table(name).schema) == polars_schema(TABLES[name])


def test_statistics_without_a_request_are_omitted_and_never_zero(clean):
    with_them, without = tcptrace_http.analyze(clean), tcptrace_http.analyze(clean, statistics=False)
    always = [column.name for column in TABLES["flows"].columns if not column.is_statistic]
    assert without.flows.columns == always
    assert with_them.flows.select(always).equals(without.flows)
    assert with_them.where("client_rtt_samples > 0", table="flows").flows.height == 1
    with pytest.raises(tcptrace_http.FilterError, match="statistics=True"):
        without.where("client_rtt_samples > 0", table="flows")


def test_capture_without_candidates_has_no_findings(clean):
    analysis = tcptrace_http.analyze(clean)
    assert not analysis.has_candidates
    assert analysis.findings.is_empty()
    assert dict(analysis.findings.schema) == polars_schema(TABLES["findings"])


def test_segments_that_were_not_asked_for_are_read_from_the_capture_again(clean):
    asked_for = tcptrace_http.analyze(clean, tables=["segments"])
    assert asked_for.segments.height == len(clean_exchange(3))
    assert tcptrace_http.analyze(clean).segments.equals(asked_for.segments)


def test_segments_of_a_deleted_capture_are_an_error_with_a_remedy(clean):
    analysis = tcptrace_http.analyze(clean)
    clean.unlink()
    with pytest.raises(KeyError, match="tables="):
        _ = analysis.segments


def test_selection_keeps_related_rows_and_does_not_change_the_analysis(clean):
    analysis = tcptrace_http.analyze(clean, tables=["segments"])
    selected = analysis.where("flow = 1")
    assert [selected.table(name).height for name in ("transactions", "flows", "segments")] == [0, 0, 0]
    assert analysis.transactions.height == 3
    assert analysis.where('"index" > 0').transactions["index"].to_list() == [1, 2]
    assert analysis.where("flow = 0", table="flows").transactions.height == 3


def test_selection_of_a_page_keeps_its_transactions_and_of_a_transaction_its_page(clean):
    analysis = tcptrace_http.analyze(clean)
    every = analysis.retrieval_transactions
    page = analysis.where("retrieval = 0", table="retrievals")
    members = every.filter(retrieval=0).select("flow", index="transaction")
    assert page.transactions.select("flow", "index").equals(members)
    assert page.retrievals["retrieval"].to_list() == [0]
    assert set(page.critical_path["retrieval"]) == {0}
    last = analysis.where('"index" = 2').retrievals["retrieval"].to_list()
    assert last == every.filter(transaction=2)["retrieval"].to_list()


def test_findings_are_ordered_by_time_lost_and_fill_the_waits(stalled):
    analysis = tcptrace_http.analyze(stalled)
    assert analysis.findings["lost"].is_sorted(descending=True)
    (wait,) = analysis.waits.filter(pl.col("cause").cast(pl.String).str.starts_with("stall.")).iter_rows(
        named=True
    )
    (transaction,) = analysis.transactions.iter_rows(named=True)
    assert transaction["request_time"] <= wait["start"] < wait["end"] <= transaction["response_last_time"]
    assert wait["end"] - wait["start"] == analysis.findings["lost"][0]


def test_expression_that_does_not_fit_is_an_error_with_the_columns(clean):
    with pytest.raises(tcptrace_http.FilterError, match="its columns are flow client"):
        tcptrace_http.analyze(clean).where("colour = 'red'", table="flows")


def test_names_are_explained_from_python_too():
    assert "handshake" in tcptrace_http.explain("flows.initial_rtt")
    with pytest.raises(tcptrace_http.UnknownName, match="did you mean initial_rtt"):
        tcptrace_http.explain("initial_rt")


def test_trace_read_twice_is_the_same(clean):
    first, second = tcptrace_http.read(clean), tcptrace_http.read(clean)
    assert first.packets.equals(second.packets)
    assert first.packets.select(pl.col("payload_bytes").sum()).item() > 3 * 4000


@pytest.mark.parametrize(("count", "has_candidates"), [(2, False), (3, True)])
def test_few_connections_of_two_hosts_are_no_bundle(tmp_path, count, has_candidates):
    records = []
    for number in range(count):
        connection = Connection(client=("10.0.0.1", 40_000 + number), client_seq=2**32 - 40 + number)
        connection.time += number * 1_000_000_000
        connection.open()
        connection.exchange(body=b"x" * 100)
        records += connection.records
    path = tmp_path / "few.pcap"
    path.write_bytes(pcap(records))
    analysis = tcptrace_http.analyze(path)
    assert analysis.flows["transactions"].to_list() == [1] * count
    assert analysis.has_candidates == has_candidates
    assert analysis.findings.is_empty()


@pytest.mark.parametrize("joined_at", [0, 6])
def test_edges_of_sack_blocks_are_numbered_as_acks_are(tmp_path, joined_at):
    """Check scoring across the wrap of sequence numbers, and of a flow joined midway."""
    path = tmp_path / "sack.pcap"
    path.write_bytes(pcap(flow_with_sack()[joined_at:]))
    analysis = tcptrace_http.analyze(path, tables=["packets", "segments"])
    both = analysis.segments.join(analysis.packets.select("frame", "ack_raw", "sack_edges_raw"), on="frame")
    reported = both.filter(pl.col("sack_edges").list.len() > 0)
    assert reported.height == 7
    for ack, edges, ack_raw, raw in reported.select("ack", "sack_edges", "ack_raw", "sack_edges_raw").iter_rows():
        assert [edge - ack for edge in edges] == [(edge - ack_raw) % 2**32 for edge in raw]
    assert both.filter(pl.col("sack_edges_raw").list.len() == 0)["sack_edges"].list.len().max() == 0
