"""Analyses for the chart tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from captures import pcap

import tcptrace_http
from charts.flows import flow_with_sack, long_flow

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def analysed(tmp_path_factory: pytest.TempPathFactory):
    """Return the analysis of records."""

    def of(records, name: str):
        path: Path = tmp_path_factory.mktemp("charts") / name
        path.write_bytes(pcap(records))
        return tcptrace_http.analyze(path, tables={"segments"})

    return of


@pytest.fixture(scope="session")
def long(analysed):
    """Return a flow with more segments than a chart draws individually."""
    return analysed(long_flow(8000), "long.pcap")


@pytest.fixture(scope="session")
def with_sack(analysed):
    return analysed(flow_with_sack(), "sack.pcap")
