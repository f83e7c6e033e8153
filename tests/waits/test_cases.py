"""Waits' cases: every ``trace`` block of ``cases/*.md`` gives the waits of its ``waits`` block.

A line of that block is a wait: transaction, cause, milliseconds, and the frames at its borders. Waits of less
than a tenth of a millisecond are omitted: they are a host's response time.
"""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

import tcptrace_http
from tcptrace_http.schema import CAUSES
from tests.detectors import packet_script
from tests.shortfalls import marked

CASES = Path(__file__).parent / "cases"
CASE = re.compile(
    r"^## (?P<title>.+?)$.*?^```trace\n(?P<trace>.*?)^```$.*?^```waits\n(?P<waits>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
SHOWN_MIN_MS = 0.1


def cases() -> list[object]:
    found = (
        (f"{page.stem}: {found['title']}", (found["trace"], found["waits"]))
        for page in sorted(CASES.glob("*.md"))
        for found in CASE.finditer(page.read_text())
    )
    return marked("waits", found)


def told(trace: str, folder: Path) -> list[str]:
    capture = folder / "case.pcap"
    capture.write_bytes(packet_script.pcap(trace))
    elapsed = (pl.col("end") - pl.col("start")).dt.total_nanoseconds() / 1e6
    waits = tcptrace_http.analyze(capture).waits.with_columns(elapsed=elapsed)
    return [
        f"{wait['transaction']} {wait['cause']} {wait['elapsed']:.1f}"
        f" frames {wait['first_frame']}-{wait['last_frame']}"
        for wait in waits.iter_rows(named=True)
        if wait["elapsed"] >= SHOWN_MIN_MS
    ]


@pytest.mark.parametrize(("trace", "waits"), cases())
def test_a_case_gives_the_waits_it_names(trace: str, waits: str, tmp_path: Path) -> None:
    assert told(trace, tmp_path) == waits.splitlines()


#: Cases of the detectors, and cases of two connections.
WITHOUT_A_CASE = {"stall.cork_timeout", "server.upstream", "setup.unanswered"}


def test_every_cause_that_the_core_gives_has_a_case() -> None:
    shown = {line.split()[1] for _, waits in (case.values for case in cases()) for line in waits.splitlines()}  # type: ignore[attr-defined]
    assert shown - set(CAUSES) == set()
    assert set(CAUSES) - shown - WITHOUT_A_CASE == set()
