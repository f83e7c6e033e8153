"""JSON contract: its fields, its numbers, and one form in every renderer."""

import json

import pytest
from captures import MSS, SERVER_ISN, START, clean_exchange, pcap
from http2_exchanges import grpc_calls

CAPTURE = {"path", "packets", "tcp_packets", "first_time_ns", "last_time_ns", "truncated", "link_types"}
FLOW = set(
    "flow client client_port server server_port packets client_bytes server_bytes client_retransmissions"
    " server_retransmissions initial_rtt_ns mss_server observation_point closed_by".split()
)
TRANSACTION = set(
    "flow index protocol method target host status request_frame response_first_frame response_last_frame"
    " request_time_ns response_first_time_ns response_last_time_ns response_header_bytes"
    " response_body_bytes complete waits start_time_ns end_time_ns stream grpc_status".split()
)
FINDING = set(
    "detector severity flow transaction first_frame last_frame lost_ns confidence summary remedy reference".split()
)
RETRIEVAL = set(
    "retrieval client flow transaction url start_ns end_ns elapsed_ns transactions flows bytes how_grouped"
    " confidence critical_path".split()
)
WAIT = {"cause", "start_ns", "end_ns", "first_frame", "last_frame"}


@pytest.fixture
def document(cli):
    def shown(*arguments):
        result = cli("analyze", "--format", "json", *arguments)
        assert result.code == 0, result.err
        return json.loads(result.out)

    return shown


def test_document_has_the_fields_of_the_contract(document, stalled):
    shown = document(stalled)
    assert list(shown) == [
        "schema_version", "capture", "flows", "transactions", "hops", "retrievals", "findings",
        "inconclusive", "anomalies",
    ]  # fmt: skip
    assert shown["schema_version"] == 1
    assert set(shown["capture"]) == CAPTURE
    assert set(shown["flows"][0]) >= FLOW
    assert set(shown["transactions"][0]) == TRANSACTION
    assert set(shown["findings"][0]) >= FINDING
    assert set(shown["transactions"][0]["waits"][0]) == WAIT


def test_numbers_are_those_of_the_capture(document, clean):
    assert SERVER_ISN + 4000 > 2**32, "the sequence numbers of the capture wrap"
    shown = document(clean)
    records = clean_exchange(3)
    assert shown["capture"] == {
        "path": str(clean),
        "packets": len(records),
        "tcp_packets": len(records),
        "first_time_ns": START,
        "last_time_ns": records[-1][0],
        "truncated": False,
        "link_types": ["ETHERNET"],
    }
    (flow,) = shown["flows"]
    assert (flow["client"], flow["client_port"], flow["server_port"]) == ("10.0.0.1", 1029, 8080)
    assert (flow["mss_server"], flow["closed_by"], flow["packets"]) == (MSS, "client", len(records))
    assert [row["index"] for row in shown["transactions"]] == [0, 1, 2]
    assert {row["response_body_bytes"] for row in shown["transactions"]} == {4000}
    assert shown["transactions"][0]["request_frame"] == 4
    assert all(row["complete"] for row in shown["transactions"])
    assert not any("stall" in wait["cause"] for row in shown["transactions"] for wait in row["waits"])
    assert shown["findings"] == shown["inconclusive"] == shown["anomalies"] == []


def test_a_retrieval_has_its_page_time_and_the_critical_path_that_sums_to_it(document, stalled):
    shown = document(stalled)
    page = shown["retrievals"][0]
    assert set(page) == RETRIEVAL
    assert (page["client"], page["flow"], page["transaction"]) == ("10.0.0.1", 0, 0)
    assert page["end_ns"] - page["start_ns"] == page["elapsed_ns"]
    assert sum(step["end_ns"] - step["start_ns"] for step in page["critical_path"]) == page["elapsed_ns"]
    assert "stall.nagle_delayed_ack" in {step["cause"] for step in page["critical_path"]}
    assert sum(page["transactions"] for page in shown["retrievals"]) == len(shown["transactions"])


def test_stall_is_a_finding_and_a_wait_of_its_transaction(document, stalled):
    shown = document(stalled)
    (finding,) = [row for row in shown["findings"] if row["severity"] == "error"]
    assert finding["detector"] == "short-initial-segment"
    assert 175_000_000 < finding["lost_ns"] < 185_000_000
    waits = shown["transactions"][0]["waits"]
    (wait,) = [wait for wait in waits if wait["cause"] == "stall.nagle_delayed_ack"]
    assert wait["end_ns"] - wait["start_ns"] == finding["lost_ns"]


def test_rows_rendered_from_frames_equal_those_of_the_core(document, stalled, clean, joined):
    for capture in (stalled, clean, joined):
        assert document("--where", "true", capture) == document(capture)


def test_streams_of_http2_have_their_numbers_and_grpc_statuses(document, tmp_path):
    path = tmp_path / "calls.pcap"
    path.write_bytes(pcap(grpc_calls()))
    shown = document(path)
    told = [(row["protocol"], row["stream"], row["grpc_status"]) for row in shown["transactions"]]
    assert told == [("h2", 1, 0), ("h2", 3, 12), ("h2", 5, None)]
    assert document(path, "--where", "stream = 3")["transactions"] == [shown["transactions"][1]]


def test_one_capture_is_an_object_and_several_or_a_glob_are_an_array(document, stalled, clean, tmp_path):
    assert isinstance(document(clean), dict)
    assert [one["capture"]["path"] for one in document(clean, stalled)] == [str(clean), str(stalled)]
    assert isinstance(document(tmp_path / "cle*.pcap"), list)


def test_where_keeps_rows_related_to_the_selected_transactions(document, clean, stalled, joined):
    assert [row["index"] for row in document("--where", "index = 1", clean)["transactions"]] == [1]
    shown = document("--where", "status = 404", stalled)
    assert shown["transactions"] == shown["flows"] == shown["findings"] == []
    assert document("--where", "status = 404", joined)["findings"] == []
    assert document("--where", "status = 200", joined)["findings"] == document(joined)["findings"]
    shown = document("--table", "findings", "--where", "severity = 'error'", stalled)
    assert len(shown["findings"]) == len(shown["transactions"]) == len(shown["flows"]) == 1


def test_flows_unjudged_for_a_capture_flaw_are_reported(document, joined):
    shown = document(joined)
    (finding,) = shown["findings"]
    assert (finding["detector"], finding["severity"], finding["lost_ns"]) == ("mid-stream-start", "info", 0)
    assert (finding["flow"], finding["transaction"], finding["start_ns"]) == (0, None, None)
    rows = shown["inconclusive"]
    assert {"detector", "because", "flows", "flow", "reason"} == set(rows[0])
    assert {row["because"] for row in rows} == {"mid-stream-start"}
    assert ("slow-start-restart", 1, 0) in {(row["detector"], row["flows"], row["flow"]) for row in rows}


def test_path_that_is_no_utf8_is_valid_json(cli, tmp_path):
    path = tmp_path / "caf\udce9.pcap"
    path.write_bytes(pcap(clean_exchange()))
    result = cli("analyze", "--format", "json", path)
    assert json.loads(result.out)["capture"]["path"] == str(path)
    assert cli("analyze", path).code == 0
    assert cli("analyze", "--format", "csv", path, path).code == 0
