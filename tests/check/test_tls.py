"""TLS captures without keys, judged by the presets: real servers, and the detectors' cases."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from detectors import packet_script
from detectors.loopback import captured
from detectors.test_cases import CASE, CASES
from probe.configurations import HELD
from probe.servers import LARGE, readable_folder
from probe.tls_servers import Certificate, certified, nginx_tls, port_of, python_tls

from tcptrace_http import analyze
from tcptrace_http.check import Level, Status, check, parse_policy, preset

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

REQUESTS = 4
CONNECTIONS = 3
#: Median: on a busy machine, a late segment is retransmitted.
POLICY = """
extends = "recommended"

[thresholds]
stall_share = ["med<5%"]
"""
STALLING, GOOD = "Python's http.server", "nginx"
SERVERS = {STALLING: python_tls, GOOD: nginx_tls}


@pytest.fixture(scope="module")
def folder_of_server() -> Iterator[Path]:
    with readable_folder() as folder:
        yield folder


@pytest.fixture(scope="module")
def certificate(folder_of_server: Path) -> Certificate:
    return certified(folder_of_server)


def record(name: str, version: str, folder: Path, certificate: Certificate, path: Path) -> None:
    """Capture curl's requests, several per connection."""
    with SERVERS[name](folder, certificate, version) as url, captured(port_of(url), path):
        words = [word for _ in range(REQUESTS) for word in ("--output", "/dev/null", url + LARGE)]
        for _ in range(CONNECTIONS):
            subprocess.run(["curl", "--silent", "--fail", "--insecure", *words], check=True, timeout=60)


def failing(report: dict[str, Any]) -> set[str]:
    return {
        one["name"] for outcome in report["outcomes"] for one in outcome["violations"] if one["level"] == "error"
    }


@pytest.mark.parametrize("version", ["1.2", "1.3"])
@pytest.mark.parametrize("name", SERVERS)
def test_rules_and_thresholds_judge_opaque_tls(cli, tmp_path, folder_of_server, certificate, name, version):
    path = tmp_path / "seen.pcap"
    record(name, version, folder_of_server, certificate, path)
    assert set(analyze(path).transactions["protocol"]) == {"tls"}
    (tmp_path / "policy.toml").write_text(POLICY)
    ran = cli("check", path, "--policy", tmp_path / "policy.toml", "--output-format", "json", "--quiet")
    report = json.loads(ran.out)
    stalls = [one for one in report["outcomes"] if one["name"].startswith("stall_share")]
    assert ran.code == (1 if name == STALLING else 0), report
    assert [one["status"] for one in stalls] == ["failed" if name == STALLING else "passed"]
    found = {one for one in failing(report) if one != "stall_share"}
    # With TLS 1.3, the first response also waits for the tickets' ACK.
    assert found <= {*HELD, "tls-ticket-nagle"}
    assert bool(found & set(HELD)) == (name == STALLING)


def fires(detector: str) -> bytes:
    """Return the first case of a detector, which has its finding."""
    page = (CASES / f"{detector.replace('-', '_')}.md").read_text()
    case = next(found for found in CASE.finditer(page) if found["title"].startswith("Fires"))
    return packet_script.pcap(case["trace"])


@pytest.mark.parametrize(
    ("detector", "levels"),
    [
        ("tls-flight-exceeds-window", {"recommended": "error", "lan": "error", "satellite": "error"}),
        ("tls-handshake-nagle", {"recommended": "error", "lan": "error", "satellite": "error"}),
        ("tls-ticket-nagle", {"recommended": "error", "lan": "error", "satellite": "error"}),
        ("tls-client-hello-split", {"recommended": "warning", "lan": "warning", "satellite": "warning"}),
        ("tls-no-resumption", {"recommended": "warning", "lan": "warning", "satellite": "error"}),
        ("tls-hello-retry", {"recommended": "warning", "lan": "warning", "satellite": "error"}),
        ("slow-handshake-server", {"recommended": "warning", "lan": "warning", "satellite": "warning"}),
    ],
)
def test_presets_judge_tls_handshakes(detector, levels):
    analysis = analyze(fires(detector))
    for name, level in (levels | {"strict": "error"}).items():
        (outcome,) = [one for one in check([analysis], policy=preset(name)).outcomes if one.name == detector]
        assert (outcome.status, outcome.level) == (Status.FAILED, Level(level)), name


def test_the_time_of_tls_handshakes_has_a_threshold():
    # Each of four TLS 1.2 connections takes two round trips of 50 ms for its handshake, plus 70 microseconds.
    analysis = analyze(fires("tls-no-resumption"))
    for limit, status in (("100ms", Status.FAILED), ("101ms", Status.PASSED)):
        report = check([analysis], policy=parse_policy(f'[thresholds]\ntls_handshake = ["max<{limit}"]'))
        (outcome,) = report.outcomes
        assert outcome.status is status, outcome.message
    report = check([analysis], policy=parse_policy('[thresholds]\ntls_handshake = ["count==4"]'))
    assert report.outcomes[0].status is Status.PASSED


def test_retrieval_without_keys_has_a_threshold():
    analysis = analyze(fires("tls-ticket-nagle"))
    took = analysis.retrievals["elapsed"].max().total_seconds() * 1000
    for limit, status in ((took - 1, Status.FAILED), (took + 1, Status.PASSED)):
        report = check([analysis], policy=parse_policy(f'[thresholds]\npage_time = ["max<{limit:.0f}ms"]'))
        assert report.outcomes[0].status is status
