"""Arithmetic of verdicts."""

from math import inf, isclose

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_sim.reproduction.experiment import mean
from reference_sim.reproduction.verdict import Comparison, Mean, Verdict, judged

ORDER = (Verdict.REPRODUCED, Verdict.REPRODUCED_IN_SHAPE, Verdict.NOT_REPRODUCED)
FIGURES = st.floats(-1e6, 1e6).filter(lambda value: abs(value) > 1e-6)
TOLERANCES = st.tuples(st.floats(0, 2), st.floats(0, 2)).map(sorted)


def compared(published, ours, *, tolerance=0.1, shape_tolerance=0.5, absolute=False, neutral=None, rounding=0.0):
    return Comparison(
        what="x",
        unit="ms",
        published=published,
        ours=Mean(ours),
        tolerance=tolerance,
        shape_tolerance=shape_tolerance,
        absolute=absolute,
        neutral=neutral,
        rounding=rounding,
    )


@given(FIGURES, TOLERANCES)
def test_the_published_figure_itself_is_reproduced_with_any_tolerance(figure, tolerances):
    same, alike = tolerances
    one = compared(figure, figure, tolerance=same, shape_tolerance=alike)
    assert one.distance == 0
    assert one.ratio == 1
    assert one.verdict is Verdict.REPRODUCED


@given(FIGURES, st.floats(0, 5))
def test_a_relative_distance_is_the_same_above_and_below_and_in_any_unit(figure, share):
    above, below = (compared(figure, figure * (1 + sign * share)).distance for sign in (1, -1))
    assert isclose(above, share, abs_tol=1e-9)
    assert isclose(below, share, abs_tol=1e-9)
    assert isclose(compared(1000 * figure, 1000 * figure * (1 + share)).distance, share, abs_tol=1e-9)


@given(st.tuples(FIGURES, FIGURES).map(sorted), st.floats(0, 1))
def test_all_within_a_range_is_reproduced(ends, share):
    low, high = ends
    ours = min(high, low + share * (high - low))
    assert compared((low, high), ours, tolerance=0, shape_tolerance=0).verdict is Verdict.REPRODUCED


@given(FIGURES, FIGURES, TOLERANCES)
def test_going_away_never_makes_a_verdict_better(figure, step, tolerances):
    same, alike = tolerances
    near, far = (
        compared(figure, figure + times * step, tolerance=same, shape_tolerance=alike, absolute=True)
        for times in (1, 2)
    )
    assert ORDER.index(near.verdict) <= ORDER.index(far.verdict)


def test_an_order_is_a_range_without_end():
    assert compared((1.0, inf), 7.0).verdict is Verdict.REPRODUCED
    assert compared((1.0, inf), 0.95).verdict is Verdict.REPRODUCED
    assert compared((1.0, inf), 0.7).verdict is Verdict.NOT_REPRODUCED
    assert compared((-inf, 1.0), -7.0).distance == 0
    assert compared((-inf, 1.0), 1.7).verdict is Verdict.NOT_REPRODUCED


@pytest.mark.parametrize(
    ("published", "ours", "neutral", "verdict"),
    [
        ((0.02, 0.26), 0.01, None, Verdict.REPRODUCED_IN_SHAPE),
        ((0.02, 0.26), -0.01, None, Verdict.NOT_REPRODUCED),
        (-0.04, 0.01, None, Verdict.NOT_REPRODUCED),
        (-0.04, -0.02, None, Verdict.REPRODUCED_IN_SHAPE),
        (1.5, 0.8, None, Verdict.REPRODUCED_IN_SHAPE),
        (1.5, 0.8, 1.0, Verdict.NOT_REPRODUCED),
        ((0.0, 1.0), 1.3, 1.0, Verdict.NOT_REPRODUCED),
        ((1.2, inf), 1.05, 1.0, Verdict.REPRODUCED_IN_SHAPE),
        ((1.2, inf), 0.9, 1.0, Verdict.NOT_REPRODUCED),
    ],
)
def test_an_effect_of_the_other_sign_is_never_in_shape(published, ours, neutral, verdict):
    assert compared(published, ours, tolerance=0.0, shape_tolerance=1.6, neutral=neutral).verdict is verdict


def test_the_last_printed_digit_is_no_difference():
    assert compared(0.04, 0.036, tolerance=0.0, rounding=0.005).verdict is Verdict.REPRODUCED
    assert compared((0.02, 0.26), 0.266, tolerance=0.0, rounding=0.005).distance == pytest.approx(0.001 / 0.26)


@pytest.mark.parametrize(
    ("same", "share", "is_on_edge"),
    [(8, 0.8, True), (9, 0.8, False), (7, 0.8, True), (6, 0.8, False), (10, 1.0, False)],
)
def test_a_verdict_that_one_figure_turns_over_is_on_an_edge(same, share, is_on_edge):
    figures = [compared(1.0, 1.0)] * same + [compared(1.0, 9.0)] * (10 - same)
    judgement = judged(figures, share=share, share_reason="chance", remarks="a reason")
    assert judgement.is_on_edge is is_on_edge


def test_relative_to_nothing_all_else_is_infinitely_far():
    assert compared(0.0, 0.1).distance == inf
    assert compared(0.0, 0.1).ratio is None
    assert compared((0.0, 1.0), -0.1).distance == inf
    assert compared(0.0, 0.1, absolute=True).verdict is Verdict.REPRODUCED


@given(st.lists(st.sampled_from((1.0, 1.3, 9.0)), min_size=1, max_size=40), st.floats(0.01, 1))
def test_a_claim_is_judged_by_the_share_of_its_figures(ours, share):
    judgement = judged(
        [compared(1.0, value) for value in ours], share=share, share_reason="chance", remarks="a reason"
    )
    if ours.count(1.0) / len(ours) >= share:
        assert judgement.verdict is Verdict.REPRODUCED
    elif 1 - ours.count(9.0) / len(ours) >= share:
        assert judgement.verdict is Verdict.REPRODUCED_IN_SHAPE
    else:
        assert judgement.verdict is Verdict.NOT_REPRODUCED


def test_nothing_is_judged_by_nothing_and_no_failure_is_without_a_reason():
    with pytest.raises(ValueError, match="at least one comparison"):
        judged([])
    with pytest.raises(ValueError, match="needs a reason"):
        judged([compared(1.0, 9.0)])
    with pytest.raises(ValueError, match="a share below all figures"):
        judged([compared(1.0, 1.0)], share=0.9)


def test_the_rule_says_how_many_figures_are_asked_for_and_why():
    figures = [compared(1.0, value) for value in (1.0, 1.0, 1.0, 1.0, 9.0)]
    rule = judged(figures, share=0.8, share_reason="chance").rule
    assert "at least 80 % of the figures are within the first tolerance" in rule
    assert "(chance)" in rule
    assert rule.endswith("of 5 here 4 and 4")
    assert "all figures are within" in judged(figures[:1]).rule


@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=60))
def test_the_interval_is_about_the_mean_and_wider_by_students_t(values):
    found = mean(values)
    assert found.low <= found.value + 1e-9
    assert found.high >= found.value - 1e-9
    assert isclose(found.value - found.low, found.high - found.value, abs_tol=1e-6)


def test_the_interval_of_a_worked_example():
    """Check five values with a mean of 3 and a deviation of 1.58: t is 2.776 with four degrees of freedom."""
    found = mean((1, 2, 3, 4, 5))
    assert found.value == 3
    assert found.high == pytest.approx(3 + 2.776 * 2.5**0.5 / 5**0.5)
    assert mean((7,)) == Mean(7)
