"""Culprits of HTTP/2: findings name each with its cost, and nothing else."""

from __future__ import annotations

import pytest

from tests.truth.http2.__main__ import make, verdicts
from tests.truth.http2.culprits import CULPRITS, Culprit
from tests.truth.http2.judge import Verdict


def named(**changes: object) -> bool:
    given = {"lost_ns": 500_000_000, "twin_ns": 900_000_000, "named_ns": 460_000_000, "others": {}}
    return Verdict("a_window", "client", **{**given, **changes}).is_right  # type: ignore[arg-type]


def test_a_verdict_is_right_within_a_tenth_of_the_time_lost_and_names_no_other():
    assert named()
    assert not named(named_ns=440_000_000)
    assert not named(others={"slow-server": 20_000_000})


def test_two_equal_runs_differ_by_at_most_a_fiftieth():
    assert named(lost_ns=0, named_ns=15_000_000)
    assert not named(lost_ns=0, named_ns=20_000_000)


def test_every_culprit_has_a_name_of_its_own_and_a_twin():
    assert len({each.name for each in CULPRITS}) == len(CULPRITS)
    assert [each.name for each in CULPRITS if each.named and not each.twin] == []
    assert len([each for each in CULPRITS if each.named]) >= 10
    assert len([each for each in CULPRITS if not each.named]) >= 3


@pytest.mark.slow
@pytest.mark.parametrize("culprit", CULPRITS, ids=lambda each: each.name)
def test_a_culprit_is_named_with_its_cost(culprit: Culprit, tmp_path):
    make(culprit, tmp_path)
    told = verdicts(culprit, tmp_path)
    assert [str(each) for each in told if not each.is_right] == []
