"""HTML report: its opening, its contents, and escaped text from captures."""

import json
import re

import pytest
from captures import ACK, MILLISECOND, PSH, Connection, clean_exchange, pcap
from detectors import packet_script

import tcptrace_http
from tcptrace_http.report import html

from .test_har import TLS_EXCHANGES

SCRIPT = re.compile(r"const CHARTS = (.*);\nconst TABLES = (.*);")


def held(page: str) -> tuple[dict, dict]:
    """Return the charts and the tables of a page."""
    charts, tables = SCRIPT.search(page).groups()
    return json.loads(charts), json.loads(tables)


@pytest.fixture(scope="module")
def stalled(sample_traces):
    analysis = tcptrace_http.analyze(sample_traces / "bsd_phttp_orig.pcap", tables={"segments"})
    return analysis, html.page(analysis)


def test_page_opens_with_the_verdict_and_the_changes(stalled):
    analysis, page = stalled
    worst = analysis.findings["detector"][0]
    assert f"<h1>{worst} costs the most" in page
    headings = re.findall(r"<h2>([^<]*)", page.partition("<script>")[0])
    assert headings[0] == "What to change"
    assert headings[-1] == "Quality of the capture"


def test_tables_have_every_row(stalled):
    analysis, page = stalled
    _, tables = held(page)
    assert len(tables["transactions"]["rows"]) == analysis.transactions.height
    assert len(tables["findings"]["rows"]) == analysis.findings.height
    assert len(tables["connections"]["rows"]) == analysis.flows.height


def test_transactions_show_the_time_of_a_tls_handshake(stalled, tmp_path):
    path = tmp_path / "tls.pcap"
    path.write_bytes(packet_script.pcap(TLS_EXCHANGES))
    _, tables = held(html.page(tcptrace_http.analyze(path, tables={"segments"})))
    names = tables["transactions"]["columns"]
    connect, handshake = (names.index(name) for name in ("connect (ms)", "TLS (ms)"))
    rows = [(row[connect], row[handshake]) for row in tables["transactions"]["rows"]]
    assert rows == [(100.2, 50.17), (None, None)]
    _, of_clear = held(stalled[1])
    assert "TLS (ms)" not in of_clear["transactions"]["columns"]


def test_page_needs_nothing_from_elsewhere(stalled):
    _, page = stalled
    before_vega = page.partition("<script>")[0]
    assert re.findall(r"(?:src|href)=\"?([^\" >]*)", before_vega) == ["data:,"]
    assert len(page.encode()) < 5_000_000


def test_capture_cannot_leave_its_text(tmp_path):
    attack = b"</script><script>alert(1)</script><img/src=x/onerror=alert(2)>"
    connection = Connection()
    connection.open()
    request = b"GET /%s HTTP/1.1\r\nHost: %s\r\n\r\n" % (attack, attack)
    connection.from_client(request, PSH | ACK, MILLISECOND)
    head = b"HTTP/1.1 200 OK\r\nServer: %s\r\nContent-Length: 2\r\n\r\n" % attack
    connection.from_server(head, PSH | ACK, MILLISECOND)
    connection.from_client(after=180 * MILLISECOND)
    connection.from_server(b"ok", PSH | ACK, MILLISECOND)
    connection.close()
    path = tmp_path / "<b>attack.pcap"
    path.write_bytes(pcap(connection.records))
    page = html.page(tcptrace_http.analyze(path, tables={"segments"}))
    assert "alert(1)" in page
    assert "<script>alert" not in page
    assert "<img" not in page.partition("<script>")[0]
    assert "<b>attack" not in page
    assert attack.decode() in json.dumps(held(page)[1])


def test_capture_without_http_says_so(tmp_path):
    connection = Connection()
    connection.open()
    connection.close()
    path = tmp_path / "silent.pcap"
    path.write_bytes(pcap(connection.records))
    page = html.page(tcptrace_http.analyze(path, tables={"segments"}))
    assert "<h1>There is no HTTP and no TLS in this capture" in page
    assert held(page)[0] == {}


def test_page_is_of_one_capture(tmp_path, capsys):
    from tcptrace_http.cli.main import run

    for name in ("a.pcap", "b.pcap"):
        (tmp_path / name).write_bytes(pcap(clean_exchange()))
    arguments = ["analyze", "--quiet", "--format", "html", str(tmp_path / "a.pcap"), str(tmp_path / "b.pcap")]
    assert run(arguments) == 2
    assert "one capture" in capsys.readouterr().err
