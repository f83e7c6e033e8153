"""Responses that begin before the end of their request: no negative times, and a reported overlap."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from captures import MILLISECOND, PSH, Connection, pcap
from click.testing import CliRunner

import tcptrace_http
from tcptrace_http.check.metrics import METRICS
from tcptrace_http.cli.main import commands

if TYPE_CHECKING:
    from pathlib import Path

HEAD = b"POST /up HTTP/1.1\r\nHost: h\r\nContent-Length: 2000\r\n\r\n"
REFUSAL = b"HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nno\n"


@pytest.fixture
def early(tmp_path: Path) -> Path:
    """Return an upload that the server refuses; its second half arrives 80 ms later."""
    connection = Connection()
    connection.open()
    connection.from_client(HEAD + b"x" * 1000, after=MILLISECOND)
    connection.from_server(REFUSAL, PSH, after=10 * MILLISECOND)
    connection.from_client(b"x" * 1000, after=80 * MILLISECOND)
    connection.from_server(after=MILLISECOND)
    path = tmp_path / "early.pcap"
    path.write_bytes(pcap(connection.records))
    return path


def test_an_early_response_has_waited_for_no_time(early):
    analysis = tcptrace_http.analyze(early)
    assert analysis.where("wait = '0 ms'").transactions["status"].to_list() == [413]
    waited = METRICS["ttfb"].values(analysis.transactions.lazy()).collect()
    assert waited["value"].to_list() == [0.0]


def test_the_text_says_how_early_a_response_was(early):
    text = CliRunner().invoke(commands, ["analyze", str(early)]).output
    assert "0, 80.0 ms early" in text
