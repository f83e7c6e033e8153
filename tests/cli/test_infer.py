"""Command ``infer``: figures of a capture, and a runnable scenario."""

import json

import pytest
from captures import ACK, MILLISECOND, MSS, PSH, REQUEST, Connection, clean_exchange, pcap

from reference_sim.scenario_file import read
from reference_sim.simulation import simulate


@pytest.fixture
def page(cli, tmp_path):
    path = tmp_path / "page.pcap"
    choices = ("--strategy", "http11-pipelined", "--page", "heidemann", "--network", "lan", "--stack", "linux-6")
    assert cli("simulate", *choices, "-o", path).code == 0
    return path


def test_the_scenario_runs(cli, page, tmp_path):
    assert cli("infer", page, "-o", tmp_path / "page.toml").code == 0
    assert cli("simulate", "--scenario", tmp_path / "page.toml", "-o", tmp_path / "again.pcap").code == 0
    assert (tmp_path / "again.pcap").stat().st_size == page.stat().st_size


def test_the_scenario_on_standard_output_is_the_one_in_the_file(cli, page, tmp_path):
    assert cli("infer", page, "-o", tmp_path / "page.toml").code == 0
    assert cli("infer", page, "-o", "-").out == (tmp_path / "page.toml").read_bytes()
    assert simulate(read(tmp_path / "page.toml")).totals.retrievals == 1


def test_the_figures_are_reported_as_text_and_as_json(cli, page):
    assert b"path.rtt" in cli("infer", page).out
    names = [figure["name"] for figure in json.loads(cli("infer", page, "--format", "json").out)["figures"]]
    assert {"path.rtt", "path.rate", "server.initial_window", "browser.strategy"} <= set(names)


def test_a_session_is_reported_with_all_its_visits(cli, sample_traces):
    capture = sample_traces / "lan_hdrsep_small.pcap"
    scenario = cli("infer", capture, "--session", "-o", "-").out.decode()
    assert scenario.count("[pages.inferred") == 20
    assert b"client.ack_timer" in cli("infer", capture, "--session").out


def test_a_capture_without_a_page_is_an_error_in_a_line(cli, page):
    # A file with only its header has no packet.
    page.write_bytes(page.read_bytes()[:24])
    result = cli("infer", page)
    assert result.code == 2
    assert "no page was retrieved" in result.err


def test_a_retrieval_that_there_is_not_is_an_error_in_a_line(cli, page):
    result = cli("infer", page, "--retrieval", "7")
    assert result.code == 2
    assert "none has the number 7" in result.err


@pytest.mark.parametrize("command", ["infer", "whatif"])
def test_clock_that_goes_back_before_the_first_ack_leaves_an_empty_flight(cli, tmp_path, command):
    path = tmp_path / "back.pcap"
    records = clean_exchange(1)
    at = next(number for number, (_, frame) in enumerate(records) if b"HTTP/1.1 200" in frame) + 1
    path.write_bytes(pcap(records[:at] + [(time - 1000 * MILLISECOND, frame) for time, frame in records[at:]]))
    result = cli(command, path)
    assert "internal error" not in result.err
    assert result.code == 0


@pytest.mark.parametrize("command", ["infer", "whatif"])
def test_upload_that_the_simulator_has_no_request_for_is_refused_in_plain_words(cli, tmp_path, command):
    connection = Connection()
    connection.open()
    body = bytes(70_000)
    request = b"POST /upload HTTP/1.1\r\nHost: a.example\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    for start in range(0, len(request), MSS):
        connection.from_client(request[start : start + MSS], after=10_000)
        connection.from_server(after=1000)
    connection.from_server(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", after=MILLISECOND)
    connection.from_client(after=10_000)
    connection.close()
    path = tmp_path / "upload.pcap"
    path.write_bytes(pcap(connection.records))
    result = cli(command, path)
    assert result.code == 2
    assert "uploads of 70," in result.err
    assert "cannot be modelled" in result.err
    assert "min_request_bytes" not in result.err


def announcing(request: bytes, response: bytes) -> bytes:
    """Return a capture of an exchange, and a capture whose response is incomplete."""
    connection = Connection()
    connection.open()
    connection.exchange()
    connection.from_client(request, PSH | ACK, after=MILLISECOND)
    connection.from_server(response, PSH | ACK, after=MILLISECOND)
    connection.from_client(after=20_000)
    connection.close()
    return pcap(connection.records)


@pytest.mark.parametrize("length", [10**15, 2**63 - 1, 2**64])
@pytest.mark.parametrize(
    ("request_bytes", "response"),
    [
        (REQUEST, b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\nsome of it"),
        (REQUEST, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\nsome of it"),
        (REQUEST, b"HTTP/1.1 304 Not Modified\r\nContent-Length: %d\r\n\r\n"),
        (REQUEST.replace(b"GET", b"HEAD"), b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n"),
    ],
    ids=["cut off", "chunk", "not modified", "head"],
)
def test_length_that_is_announced_and_does_not_come_is_not_modelled(
    cli, tmp_path, length, request_bytes, response
):
    capture, scenario = tmp_path / "announced.pcap", tmp_path / "announced.toml"
    capture.write_bytes(announcing(request_bytes, response % length))
    for retrieval in range(2):
        result = cli("infer", capture, "--retrieval", str(retrieval), "-o", scenario)
        assert "internal error" not in result.err
        if result.code == 0:
            pages = (visit.page for visit in read(scenario).browsers[0].visits)
            assert sum(page.bytes for page in pages) < capture.stat().st_size
        else:
            assert "was answered whole" in result.err
    assert cli("whatif", capture, "--fix", "no-nagle").code == 0


@pytest.mark.parametrize("command", ["infer", "whatif"])
def test_response_of_which_most_was_not_captured_is_refused_in_plain_words(cli, tmp_path, command):
    connection = Connection()
    connection.open()
    length = 10**9
    connection.from_client(REQUEST, PSH | ACK, after=MILLISECOND)
    connection.from_server(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % length, after=MILLISECOND)
    connection.from_client(after=20_000)
    connection.server_seq += length - 1000
    connection.from_server(bytes(1000), PSH | ACK, after=MILLISECOND)
    connection.from_client(after=20_000)
    connection.close()
    path = tmp_path / "gap.pcap"
    path.write_bytes(pcap(connection.records))
    result = cli(command, path)
    assert result.code == 2
    assert "was not captured" in result.err


def test_of_a_capture_without_http_the_files_by_ftp_are_reported(cli, tmp_path):
    cli("simulate", "--strategy", "ftp", "--page", "heidemann", "--network", "wan", "-o", tmp_path / "ftp.pcap")
    told = cli("infer", tmp_path / "ftp.pcap")
    assert told.code == 0
    assert "all 3: 12,400 B" in " ".join(told.out.decode().split())
