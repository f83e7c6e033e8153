"""Broken real servers: the predicted saving equals the fixed server's."""

import pytest

from tests.whatif.kernel_pairs import PAIRS, Result, results, workload

#: Required share of good predictions.
OF_ALL = 0.9
# Pair of captures in the repository: 20 responses, of which all but the first stall.
EVERYDAY = [("lan_hdrsep_small", "lan_hdrsep_small_nodelay", "no-nagle")]


def test_both_captures_of_each_pair_are_of_one_workload(captures):
    for broken, fixed, _ in PAIRS:
        assert workload(captures / "kernel", broken) == workload(captures / "kernel", fixed), (broken, fixed)


def test_the_prediction_from_a_sample_equals_the_fixed_sample(sample_traces):
    (result,) = results(sample_traces, EVERYDAY)
    assert result.is_above_noise
    assert result.is_good


@pytest.mark.slow
def test_nine_of_ten_savings_are_predicted_within_fifteen_percent(captures):
    loud = [result for result in results(captures / "kernel") if result.is_above_noise]
    good = [result for result in loud if result.is_good]
    assert len(loud) >= 0.8 * len(PAIRS)
    assert len(good) >= OF_ALL * len(loud), sorted((set(loud) - set(good)), key=lambda each: each.broken)


@pytest.mark.slow
def test_a_broken_transfer_is_modelled_unchanged(captures):
    found = list(results(captures / "kernel"))
    near = [each for each in found if abs(each.modelled_broken / each.measured_broken - 1) <= 0.15]
    assert len(near) >= OF_ALL * len(found)


def test_a_small_saving_is_judged_by_the_noise_and_a_large_one_by_its_part():
    def result(saved, told):
        times = {"measured_broken": saved + 1, "measured_fixed": 1, "modelled_broken": told, "modelled_fixed": 0}
        return Result("broken", "fixed", "no-nagle", 10, **times)

    assert result(1_000_000_000, 1_149_000_000).is_good
    assert not result(1_000_000_000, 1_151_000_000).is_good
    assert result(5_000_000, 24_000_000).is_good
    assert not result(5_000_000, 24_000_000).is_above_noise
    assert not result(5_000_000, 26_000_000).is_good
