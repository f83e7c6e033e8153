"""Captures judged together: the same findings as for each capture alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from tcptrace_http.analysis import analyze
from tcptrace_http.corpus.rows import CORPUS_TABLES
from tcptrace_http.corpus.together import Together, is_simple
from tests.corpus.captures import SAMPLES

if TYPE_CHECKING:
    from pathlib import Path


def assert_same_as_alone(paths: list[Path]) -> None:
    alone = [analyze(path, statistics=False) for path in paths]
    alone = [one for one in alone if is_simple(one)]
    assert len(alone) > len(paths) / 2
    together = Together()
    for one in alone:
        together.add(one)
    tables = together.tables()
    assert set(tables) | {"hops"} == set(CORPUS_TABLES)
    for number, one in enumerate(alone):
        for name, frame in tables.items():
            ours = frame.filter(pl.col("capture_number") == number).drop("capture_number")
            try:
                assert_frame_equal(ours, one.table(name), check_exact=True, check_row_order=False)
            except AssertionError as error:
                error.add_note(f"{name} of {one.capture.path}")
                raise


def test_samples_have_the_findings_that_each_has_alone() -> None:
    assert_same_as_alone(sorted(SAMPLES.glob("*.pcap*")))


def test_captures_of_a_kernel_have_the_findings_that_each_has_alone(captures: Path) -> None:
    assert_same_as_alone(sorted((captures / "kernel").glob("*.pcap"))[::12])


@pytest.mark.slow
def test_all_captures_have_the_findings_that_each_has_alone(captures: Path) -> None:
    found = sorted((captures / "kernel").glob("*.pcap"))
    for first in range(0, len(found), 100):
        assert_same_as_alone(found[first : first + 100])
