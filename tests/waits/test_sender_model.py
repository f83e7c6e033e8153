"""Waits of the sample captures: a partition of the elapsed time that names the stalls of 1996."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tcptrace_http import analyze

SAMPLES = Path(__file__).parents[2] / "sample_traces"
CAPTURES = sorted(path.name for path in SAMPLES.glob("*.pcap*"))


@pytest.mark.parametrize("name", CAPTURES)
def test_waits_follow_each_other_without_a_gap(name: str) -> None:
    analysis = analyze(SAMPLES / name)
    waits = analysis.waits.partition_by("flow", "transaction", as_dict=True)
    assert len(analysis.transactions)
    for row in analysis.transactions.iter_rows(named=True):
        own = list(waits.get((row["flow"], row["index"]), pl.DataFrame()).iter_rows(named=True))
        bounds = [row["start_time"], *(wait["end"] for wait in own)]
        assert [wait["start"] for wait in own] == bounds[:-1]
        assert bounds[-1] == row["end_time"]
        assert all(wait["start"] < wait["end"] for wait in own)


def test_stalls_of_a_head_and_a_body_are_named_by_their_cause() -> None:
    causes = analyze(SAMPLES / "lan_hdrsep_small.pcap").waits["cause"].to_list()
    assert causes.count("stall.nagle_delayed_ack") >= 5


def test_server_without_nagles_algorithm_has_no_nagle_wait() -> None:
    causes = analyze(SAMPLES / "lan_hdrsep_small_nodelay.pcap").waits["cause"].cast(pl.String)
    assert not [cause for cause in causes if "nagle" in cause]
