"""Text report: worst findings first, with remedies, within the width, with its limits stated."""

import pytest
from captures import ACK, MILLISECOND, PSH, REQUEST, START, Connection, clean_exchange, pcap, stalled_exchange

from tcptrace_http.detectors import DETECTORS
from tcptrace_http.documentation import detector_page


def test_finding_comes_before_the_rows_with_frames_and_remedy(cli, stalled):
    text = cli("analyze", stalled).out.decode()
    assert "short-initial-segment" in text
    assert text.index("short-initial-segment") < text.index("Transactions (1)") < text.index("Flows (1)")
    assert "ms lost" in text
    assert "frames " in text
    assert "Change: " in text
    assert "confidence 0." in text or "confidence 1." in text


def test_finding_links_to_the_page_of_its_detector_on_a_line_of_its_own(cli, stalled):
    lines = [line.strip() for line in cli("analyze", stalled).out.decode().splitlines()]
    assert detector_page("short-initial-segment") in lines


def test_settings_that_end_with_a_semicolon_are_listed_with_one(cli, tmp_path):
    capture = tmp_path / "nginx.pcap"
    capture.write_bytes(pcap(stalled_exchange(fields=b"Server: nginx/1.22.1\r\n")))
    text = " ".join(cli("analyze", capture).out.decode().split())
    assert "Settings: nginx: tcp_nodelay on; nginx: sendfile on; tcp_nopush on; nginx: postpone_output" in text
    assert ";;" not in text


@pytest.mark.parametrize("width", [80, 100, 132])
def test_every_line_fits_the_terminal(cli, stalled, width, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    lines = cli("analyze", stalled).out.decode().splitlines()
    # The capture's name is not truncated: readers copy it.
    assert max(len(line) for line in lines[1:]) <= width


def test_no_findings_lists_the_detectors(cli, clean):
    text = " ".join(cli("analyze", clean).out.decode().split())
    assert "No findings" in text
    assert "in 3 responses of 1 flow for" in text
    for name in ("short-initial-segment", "odd-short-final-segment", "slow-start-restart"):
        assert name in text
    assert "What this capture cannot show" not in text


def test_inconclusive_detectors_are_named_without_findings(cli, joined):
    text = " ".join(cli("analyze", joined).out.decode().split())
    assert "No finding that cost time; 1 note" in text
    assert "Some of them could not be judged in every flow" in text
    said = text.partition("Not judged in 1 flow because of mid-stream-start:")[2]
    assert "slow-start-restart" in said.partition(".")[0]


def test_finding_about_the_capture_is_reported_after_the_others_without_lost_time(cli, tmp_path):
    first = stalled_exchange()
    later = [(time + 10**10, frame) for time, frame in clean_exchange(client=("10.0.0.1", 1030))[3:]]
    path = tmp_path / "joined.pcap"
    path.write_bytes(pcap(first + later))
    text = cli("analyze", path).out.decode()
    assert "1 finding, 1" in text
    assert text.index("error  short-initial-segment") < text.index("info  mid-stream-start")
    assert "None" not in text
    assert "0 ns lost" not in text


def test_finding_about_several_flows_is_reported_without_their_numbers(cli, tmp_path):
    one, other = (
        [
            record
            for record in clean_exchange(client=("10.0.0.1", port))
            if record[1][26:30] == bytes([10, 0, 0, 2])
        ]
        for port in (1029, 1030)
    )
    path = tmp_path / "half.pcap"
    path.write_bytes(pcap(one + other))
    text = cli("analyze", path).out.decode()
    assert "warning  one-sided-capture\n" in text
    assert "- several flows, frames 1-" in text
    assert "None" not in text


@pytest.mark.parametrize("opening", [b"\x16\x03\x01" + bytes(100), b"SSH-2.0-OpenSSH_9.2\r\n"], ids=["tls", "ssh"])
def test_capture_without_http_is_not_called_clean(cli, tmp_path, opening):
    connection = Connection()
    connection.open()
    connection.from_client(opening)
    path = tmp_path / "other.pcap"
    path.write_bytes(pcap(connection.records))
    text = " ".join(cli("analyze", path).out.decode().split())
    assert "holds no response of HTTP" in text
    assert "No HTTP/1.x, HTTP/2 or TLS was found" in text


def test_capture_of_tls_states_its_limits(cli, tmp_path):
    connection = Connection()
    connection.open()
    # Record of a ClientHello, and record of application data.
    connection.from_client(b"\x16\x03\x01\0\x2a\x01\0\0\x26\3\3" + bytes(36))
    connection.from_client(b"\x17\x03\x03\0\x40" + bytes(64))
    connection.from_server(b"\x17\x03\x03\0\x80" + bytes(128), after=1_000_000)
    path = tmp_path / "tls.pcap"
    path.write_bytes(pcap(connection.records))
    text = " ".join(cli("analyze", path).out.decode().split())
    assert "1 flow, 1 TLS exchange " in text
    assert "Looked in 1 response of 1 flow" in text
    assert "Not decrypted: 1 TLS flow; 249 bytes. Records tell requests" in text


def test_page_of_tls_exchanges_has_no_url(cli, tmp_path):
    connection = Connection()
    connection.open()
    connection.from_client(b"\x16\x03\x01\0\x2a\x01\0\0\x26\3\3" + bytes(36))
    for _ in range(2):
        connection.from_client(b"\x17\x03\x03\0\x40" + bytes(64), after=MILLISECOND)
        connection.from_server(b"\x17\x03\x03\0\x80" + bytes(128), after=MILLISECOND)
    path = tmp_path / "tls.pcap"
    path.write_bytes(pcap(connection.records))
    lines = [" ".join(line.split()) for line in cli("analyze", path).out.decode().splitlines()]
    assert any(line.startswith("0.0 TLS without keys 2 1 ") for line in lines)


def test_capture_of_nothing_is_not_called_clean(cli, tmp_path):
    path = tmp_path / "empty.pcap"
    path.write_bytes(pcap([]))
    text = " ".join(cli("analyze", path).out.decode().split())
    assert "holds no response of HTTP" in text
    assert "There are no TCP packets in it" in text


def test_capture_of_another_protocol_says_which(cli, tmp_path):
    path = tmp_path / "lldp.pcap"
    path.write_bytes(pcap([(START, bytes(12) + b"\x88\xcc" + bytes(46))] * 3))
    text = " ".join(cli("analyze", path).out.decode().split())
    assert "There are no TCP packets in it" in text
    assert "Not looked into: EtherType 0x88cc: 3 packets." in text


def test_flow_seen_in_one_direction_is_named(cli, tmp_path):
    from_server = [(time, frame) for time, frame in clean_exchange() if frame[26:30] == bytes([10, 0, 0, 2])]
    path = tmp_path / "half.pcap"
    path.write_bytes(pcap(from_server))
    assert "Only one direction was captured for 1 flow" in " ".join(cli("analyze", path).out.decode().split())


def test_many_rows_are_cut_with_a_line_that_says_how_to_see_all(cli, tmp_path):
    path = tmp_path / "many.pcap"
    path.write_bytes(pcap(clean_exchange(30)))
    text = cli("analyze", path).out.decode()
    assert "Transactions: the 20 longest of 30; all: --format csv --table transactions" in text


def test_no_colour_when_not_a_terminal(cli, stalled):
    assert b"\x1b" not in cli("analyze", stalled).out


def test_reports_of_several_captures_follow_one_another(cli, clean, stalled):
    text = cli("analyze", clean, stalled).out.decode()
    assert text.index(str(clean)) < text.index(str(stalled))


def test_pages_are_shown_with_their_main_cause(cli, tmp_path):
    connection = Connection()
    connection.open()
    for target in (b"/", b"/a.css", b"/b.png"):
        connection.exchange(b"GET " + target + b" HTTP/1.1\r\nHost: h\r\n\r\n")
    path = tmp_path / "page.pcap"
    path.write_bytes(pcap(connection.records))
    lines = cli("analyze", path).out.decode().splitlines()
    shown = lines.index("Pages (1)")
    assert lines[shown + 1].split() == ["flow.no", "page", "objects", "flows", "bytes", "time", "most", "of", "it"]
    first, url, objects, flows, *_, share = lines[shown + 2].split()
    assert (first, objects, flows) == ("0.0", "3", "1")
    assert url.startswith("http://")
    assert share.endswith("%")


def test_the_longest_transactions_are_those_that_took_longest(cli, tmp_path):
    records = []
    for number in range(25):
        connection = Connection(client=("10.0.0.1", 20_000 + number))
        connection.time += number * 10_000 * MILLISECOND
        connection.open()
        if number == 0:
            # The handshake belongs to the transaction's time: the SYN-ACK came three seconds after the SYN.
            connection.records[0] = (connection.records[0][0] - 3000 * MILLISECOND, connection.records[0][1])
        connection.from_client(REQUEST.replace(b"/page", b"/%04d" % number), PSH | ACK, after=MILLISECOND)
        head = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
        connection.from_server(head, PSH | ACK, after=(number + 1) * MILLISECOND)
        connection.close()
        records += connection.records
    path = tmp_path / "many.pcap"
    path.write_bytes(pcap(records))
    transactions = cli("analyze", path).out.decode().partition("Transactions: ")[2].partition("Flows")[0]
    assert transactions.startswith("the 20 longest of 25")
    assert {number for number in range(25) if f"/{number:04}" in transactions} == {0, *range(6, 25)}


def test_notes_are_reported_beside_no_findings(cli, tmp_path):
    path = tmp_path / "offload.pcap"
    connection = Connection()
    connection.open()
    connection.from_client(REQUEST, PSH | ACK, after=MILLISECOND)
    body = bytes(20_000)
    head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body)
    connection.from_server(head + body, PSH | ACK, after=MILLISECOND)
    connection.from_client(after=20_000)
    connection.close()
    path.write_bytes(pcap(connection.records))
    text = cli("analyze", path).out.decode()
    assert "segmentation-offload" in text
    assert "No finding that cost time; 1 note" in text
    assert "No findings" not in text
    assert "No finding that cost time; 1 note" in cli("analyze", "--format", "html", path).out.decode()


def test_notes_that_cost_time_are_not_said_to_cost_none(cli, tmp_path):
    connection = Connection()
    connection.open()
    connection.exchange(think=60 * MILLISECOND)
    connection.close()
    path = tmp_path / "slow.pcap"
    path.write_bytes(pcap(connection.records))
    text = cli("analyze", path).out.decode()
    assert "1 note, 49.0 ms lost" in text
    assert "No finding" not in text


@pytest.mark.parametrize("name", DETECTORS)
def test_address_of_a_page_fits_a_line_of_80_columns_behind_its_indent(name):
    assert len(detector_page(name)) <= 80 - 6
