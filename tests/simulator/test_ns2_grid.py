"""The thesis's grid comes out as in ns-2, over all 80 cells (``python -m tests.simulator.grid`` shows them)."""

from __future__ import annotations

import statistics

import pytest

from . import grid

pytestmark = pytest.mark.slow


def test_the_grid_is_as_near_to_ns_2_as_ns_2_is_to_the_thesis() -> None:
    compared = grid.compare(grid.of_ns2(), seeds=2)
    away = {
        metric: statistics.mean(
            abs(one.ours - one.theirs) / (one.theirs if metric == "rate" else 1)
            for one in compared
            if one.metric == metric
        )
        for metric in grid.METRICS
    }
    # ns-2 is 6.0 % from the thesis's rates on average, 2.9 points from its utilisation, 0.6 from its drops.
    # BayFullTcp takes the way of an ACK for the round trip (tcp-full-bay.cc, newack), so that its timers go
    # off too early on a full queue: its drops are higher than ours.
    assert away["rate"] < 0.06
    assert away["utilisation"] < 0.01
    assert away["drops"] < 0.009
