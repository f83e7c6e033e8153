"""Option ``explain --frame``: release time per constraint, the binding constraint, and the deciding file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from captures import MILLISECOND, START, clean_exchange, pcap, tcp
from detectors import packet_script

from tcptrace_http.explained_segment import DECIDED_IN
from tcptrace_http.schema import CAUSES, CONSTRAINTS, DIRECTIONS, NAGLE_VARIANTS

NATIVE = Path(__file__).resolve().parents[2] / "tcptrace_http" / "native"
OPENING = """
+0.000000 C > S S 0:0(0) win 64240 <mss 1460>
+0.050000 S > C S 0:0(0) ack 1 win 65160 <mss 1460>
+0.050020 C > S . ack 1 win 64240
+0.050100 C > S P 1:101(100) ack 1 win 64240 {GET /}
"""
#: The rest of the body waits for the ACK of the second, short segment, which the client delays.
NAGLE = (
    OPENING
    + """
+0.100300 S > C P 1:201(200) ack 101 win 65160 {200 head=200 body=700}
+0.140400 C > S . ack 201 win 64240
+0.190600 S > C P 201:901(700) ack 101 win 65160
+0.190650 C > S . ack 901 win 64240
"""
)
#: Two segments, then four, then the rest: each flight waits for the ACKs of the previous flight.
SLOW_START = (
    OPENING
    + """
+0.100300 S > C . 1:1461(1460) ack 101 win 65160 {200 head=200 body=10020}
+0.100310 S > C . 1461:2921(1460) ack 101 win 65160
+0.100330 C > S . ack 2921 win 64240
+0.150500 S > C . 2921:4381(1460) ack 101 win 65160
+0.150510 S > C . 4381:5841(1460) ack 101 win 65160
+0.150520 S > C . 5841:7301(1460) ack 101 win 65160
+0.150540 C > S . ack 7301 win 64240
+0.200700 S > C . 7301:8761(1460) ack 101 win 65160
+0.200710 S > C P 8761:10221(1460) ack 101 win 65160
+0.200730 C > S . ack 10221 win 64240
"""
)
#: The server needs 200 ms for the response.
THINKING = (
    OPENING
    + """
+0.300300 S > C P 1:901(900) ack 101 win 65160 {200 head=200 body=700}
+0.300330 C > S . ack 901 win 64240
"""
)


@pytest.fixture
def explained(cli, tmp_path):
    """Return the JSON document of a frame of a packet script."""

    def shown(script, frame):
        path = tmp_path / "case.pcap"
        path.write_bytes(packet_script.pcap(script))
        result = cli("explain", "--frame", frame, "--format", "json", path)
        assert result.code == 0, result.err
        return json.loads(result.out)

    return shown


def release(document, constraint):
    (found,) = (each for each in document["releases"] if each["constraint"] == constraint)
    return found


def test_short_segment_behind_a_delayed_ack_is_bound_by_nagle(explained):
    shown = explained(NAGLE, 7)
    assert (shown["binding"]["constraint"], shown["binding"]["cause"]) == ("nagle", "stall.nagle_delayed_ack")
    nagle = release(shown, "nagle")
    assert nagle["is_binding"]
    assert nagle["released_by"] == shown["binding"]["released_by"] == 6
    assert nagle["ack_delay_ns"] == pytest.approx(40.1 * MILLISECOND, abs=MILLISECOND)
    assert nagle["decided_in"] == "sender/src/nagle.rs"
    # The windows had room all the time.
    assert release(shown, "receive_window")["time_ns"] < nagle["time_ns"]
    assert release(shown, "congestion_window")["state"] == "open"


def test_first_segment_of_a_flight_in_slow_start_is_bound_by_the_congestion_window(explained):
    shown = explained(SLOW_START, 8)
    assert shown["binding"]["constraint"] == "congestion_window"
    assert shown["binding"]["cause"] == "send_limited.slow_start"
    window = release(shown, "congestion_window")
    assert (window["released_by"], window["ack_delay_ns"], window["is_binding"]) == (7, 0, True)
    assert release(shown, "nagle")["state"] == "exempt"
    assert shown["profile"]["shown_window_bytes"] == 2920


def test_first_segment_of_an_answer_is_bound_by_the_application(explained):
    shown = explained(THINKING, 5)
    assert (shown["binding"]["constraint"], shown["binding"]["cause"]) == ("application", "server.think")
    application = release(shown, "application")
    assert application["is_binding"]
    assert (application["state"], application["decided_in"]) == ("unknown", "attribution/src/transaction.rs")
    think = next(wait for wait in shown["waits"] if wait["cause"] == "server.think")
    assert think["end_ns"] - think["start_ns"] == pytest.approx(200 * MILLISECOND, abs=2 * MILLISECOND)


@pytest.mark.parametrize("frame", [4, 5, 7])
def test_binding_constraint_is_that_of_the_table_of_waits(explained, cli, tmp_path, frame):
    shown = explained(NAGLE, frame)
    transactions = json.loads(cli("analyze", "--format", "json", tmp_path / "case.pcap").out)["transactions"]
    waits = [wait for wait in transactions[0]["waits"] if wait["last_frame"] == frame]
    assert [wait["cause"] for wait in shown["waits"]] == [wait["cause"] for wait in waits]
    assert shown["binding"]["cause"] in {wait["cause"] for wait in waits}


def test_releases_are_in_the_order_of_time(explained):
    for script, frames in ((NAGLE, (4, 5, 7)), (SLOW_START, (5, 6, 8, 9, 10, 12, 13)), (THINKING, (4, 5))):
        for frame in frames:
            times = [each["time_ns"] for each in explained(script, frame)["releases"] if each["time_ns"]]
            assert times == sorted(times)


def test_document_has_the_fields_of_the_contract(explained):
    shown = explained(NAGLE, 7)
    assert list(shown) == [
        "schema_version", "capture", "frame", "flow", "client", "server", "transaction", "direction", "time_ns",
        "offset", "bytes", "releases", "binding", "profile", "waits",
    ]  # fmt: skip
    assert (shown["frame"], shown["flow"], shown["transaction"]) == (7, 0, 0)
    assert (shown["offset"], shown["bytes"], shown["direction"]) == (200, 700, DIRECTIONS[1])
    assert {each["constraint"] for each in shown["releases"]} <= set(CONSTRAINTS)
    assert shown["binding"]["cause"] in CAUSES
    profile = shown["profile"]
    assert profile["round_trip_ns"] == profile["round_trip_to_sender_ns"] + profile["round_trip_to_receiver_ns"]
    assert profile["round_trip_ns"] == pytest.approx(50 * MILLISECOND, abs=MILLISECOND)
    assert profile["mss"] == 1460
    assert profile["nagle"] in NAGLE_VARIANTS


def test_text_marks_the_binding_constraint_and_names_the_file_that_decides_it(cli, stalled):
    text = cli("explain", "--frame", "7", stalled).out.decode()
    (marked,) = (line.split() for line in text.splitlines() if line.startswith("  *"))
    assert marked[1] == "nagle"
    assert marked[-1] == "sender/src/nagle.rs"
    assert "ACK in frame 6, delayed by 180.0 ms" in text
    assert "MSS 1,460 bytes" in text


def test_every_constraint_has_a_file_that_decides_it():
    assert set(CONSTRAINTS) <= set(DECIDED_IN)


@pytest.mark.parametrize("source", sorted({*DECIDED_IN.values()}))
def test_files_that_decide_are_there(source):
    assert (NATIVE / source).is_file()


def test_frame_that_is_not_in_the_capture_is_refused(cli, clean):
    result = cli("explain", "--frame", "9999", clean)
    assert (result.code, result.out) == (2, b"")
    assert f"{clean}: frame 9999 is not in the capture: give a number from 1 to" in result.err


def test_frame_without_data_is_refused(cli, clean):
    result = cli("explain", "--frame", "3", clean)
    assert (result.code, result.out) == (2, b"")
    assert "frame 3 has no data; give the frame of a segment with data" in result.err


def test_frame_without_tcp_is_refused(cli, tmp_path):
    path = tmp_path / "arp.pcap"
    path.write_bytes(pcap([(START, bytes(12) + b"\x08\x06" + bytes(28)), *clean_exchange()]))
    result = cli("explain", "--frame", "1", path)
    assert result.code == 2
    assert "frame 1 has no TCP segment" in result.err


def test_frame_of_a_flow_without_http_is_refused(cli, tmp_path):
    path = tmp_path / "other.pcap"
    ends = (("10.0.0.1", 1029), ("10.0.0.2", 22))
    path.write_bytes(pcap([(START, tcp(*ends, 1, 1, 16, b"\x00\x01\x02 no HTTP"))]))
    result = cli("explain", "--frame", "1", path)
    assert result.code == 2
    assert "frame 1 carries no HTTP (flow 0, 10.0.0.1:1029 to 10.0.0.2:22)" in result.err


def test_frame_that_was_captured_before_is_refused(cli, tmp_path):
    records = clean_exchange()
    again = [(records[3][0] + 1000, records[3][1])]
    path = tmp_path / "twice.pcap"
    path.write_bytes(pcap([*records[:4], *again, *records[4:]]))
    result = cli("explain", "--frame", "5", path)
    assert result.code == 2
    assert "frame 5 was captured before" in result.err


@pytest.mark.parametrize(
    "arguments",
    [("--frame", "3"), ("--frame", "0", "x.pcap"), ("--frame", "3", "--peer", "tshark", "x.pcap")],
)
def test_frame_needs_a_number_and_a_capture(cli, arguments):
    assert cli("explain", *arguments).code == 2


def test_format_without_a_frame_is_refused(cli):
    result = cli("explain", "--format", "json", "server.think")
    assert result.code == 2
    assert "--format belongs to --frame" in result.err
