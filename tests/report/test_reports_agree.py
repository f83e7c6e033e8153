"""Text, HTML, JSON, tables and ``check``: one list of findings, and one sum of lost time."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest
from captures import MILLISECOND, Connection, pcap

import tcptrace_http
from tcptrace_http.capture import SHARED_FROM_BYTES
from tcptrace_http.check import check
from tcptrace_http.report import text
from tcptrace_http.report.html import drawings
from tests.conftest import REPOSITORY
from tests.detectors import packet_script
from tests.detectors.test_cases import CASE, CASES

from .agreement import EVERYTHING, assert_reports_agree

if TYPE_CHECKING:
    from pathlib import Path

    from captures import Record

SAMPLES = sorted(each.name for each in (REPOSITORY / "sample_traces").glob("*.pcap*"))


@pytest.fixture(autouse=True)
def _without_charts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Omit charts: they take long to draw and show no findings."""
    monkeypatch.setattr(drawings, "drawn", lambda _: {})


def first_cases() -> list[object]:
    """Return the first case of each detector."""
    pages = sorted(CASES.glob("*.md"))
    return [pytest.param(CASE.search(page.read_text())["trace"], id=page.stem) for page in pages]  # type: ignore[index]


@pytest.mark.parametrize("name", SAMPLES)
def test_reports_of_a_sample_agree(name: str, sample_traces: Path) -> None:
    assert_reports_agree(sample_traces / name)


@pytest.mark.parametrize("trace", first_cases())
def test_reports_of_a_detectors_case_agree(trace: str, tmp_path: Path) -> None:
    capture = tmp_path / "case.pcap"
    capture.write_bytes(packet_script.pcap(trace))
    assert assert_reports_agree(capture)


def repeated(connection: Connection, count: int, server: str, body: bytes) -> list[Record]:
    """Return this many fetches of one object on the connection."""
    request = b"GET /object HTTP/1.1\r\nHost: %s.example\r\n\r\n" % server.encode()
    head = b'HTTP/1.1 200 OK\r\nServer: %s\r\nETag: "1"\r\nContent-Length: %d\r\n\r\n' % (
        server.encode(),
        len(body),
    )
    for _ in range(count):
        connection.from_client(request, after=MILLISECOND)
        response = head + body
        for start in range(0, len(response), 1460):
            connection.from_server(response[start : start + 1460], after=MILLISECOND)
            connection.from_client(after=20_000)
    return connection.records


def fetched(path: Path, *, flows: int, times: int, body: bytes = b"x" * 4000) -> Path:
    """Return one object fetched repeatedly over each flow of one client, from one server after the other."""
    records = []
    for number in range(flows):
        server = ("nginx", "Apache")[number % 2]
        connection = Connection(("10.0.0.1", 1024 + number), (f"10.0.1.{number % 2}", 80), client_seq=number)
        connection.time += number * times * 10 * MILLISECOND
        connection.open()
        records += repeated(connection, times, server, body)
        connection.close()
    path.write_bytes(pcap(records))
    return path


@pytest.mark.parametrize(("flows", "times"), [(1, 300), (150, 2)])
def test_reports_of_an_object_that_is_fetched_again_and_again_agree(
    flows: int, times: int, tmp_path: Path
) -> None:
    capture = fetched(tmp_path / "again.pcap", flows=flows, times=times)
    findings = assert_reports_agree(capture, rows_in_a_batch=60)
    repeats = [each for each in findings if each["detector"] == "unconditional-repeat"]
    servers = min(flows, 2)
    assert sorted(each["server_software"] for each in repeats) == ["Apache", "nginx"][-servers:]
    for each in repeats:
        assert f"was fetched {flows * times // servers - 1} times again" in each["summary"]


@pytest.mark.slow
@pytest.mark.parametrize(("flows", "times"), [(1, 10_000), (5000, 2)])
def test_an_object_that_is_fetched_10_000_times_is_counted_right_by_all(
    flows: int, times: int, tmp_path: Path
) -> None:
    # Large enough for several reader threads.
    capture = fetched(tmp_path / "again.pcap", flows=flows, times=times, body=b"x" * 3000)
    assert capture.stat().st_size >= SHARED_FROM_BYTES
    findings = assert_reports_agree(capture, rows_in_a_batch=5000)
    expected = [f"was fetched {10_000 // min(flows, 2) - 1} times again"] * min(flows, 2)
    for jobs in (1, 2):
        table = tcptrace_http.analyze(capture, jobs=jobs).findings
        assert [each["summary"] for each in findings] == table["summary"].to_list()
    repeats = [each["summary"] for each in findings if each["detector"] == "unconditional-repeat"]
    assert [" ".join(summary.split(",")[0].split()[1:]) for summary in repeats] == expected


def test_findings_over_flows_name_the_settings_of_the_server_that_was_seen(tmp_path: Path) -> None:
    analysis = tcptrace_http.analyze(fetched(tmp_path / "flows.pcap", flows=40, times=1))
    needless = analysis.findings.filter(detector="connection-per-request")
    assert dict(needless.select("server_software", "flow").rows()) == {"nginx": None, "Apache": None}
    for violation in check([analysis], policy=EVERYTHING).violations:
        if violation.name == "connection-per-request":
            others = {"nginx": "Apache httpd:", "Apache": "nginx:"}[violation.server_software or ""]
            assert violation.settings
            assert not any(setting.startswith(others) for setting in violation.settings)
    (settings,) = (line for line in text_lines(analysis) if "Settings: " in line and "keepalive_timeout" in line)
    assert "nginx: " in settings
    assert "Apache httpd: " in settings
    assert "lighttpd" not in settings


def text_lines(analysis: tcptrace_http.Analysis) -> list[str]:
    file = io.BytesIO()
    text.write([analysis], file, width=10_000, colour=False)
    # A paragraph is at most as wide as prose.
    return file.getvalue().decode().replace("\n      ", " ").splitlines()
