"""Analyses of simulated captures against the truth.

The floors are today's results; the required levels are in :mod:`tests.simulator.agreement`.
"""

import pytest

from tests.simulator.agreement import agreement_of

SEED = 1
EVERYDAY = 96
MANY = 2000
#: Rules were made on the scenarios above, not on these.
OTHER_SEED = 20261152
OTHERS = 1000
#: Results of many scenarios: the share of time with equal causes, and precision and recall of detectors.
SHARE_FLOOR = 0.990
#: The same share of captures at the server.
SERVER_SHARE_FLOOR = 0.986
#: Results of few scenarios: single scenarios weigh more.
EVERYDAY_FLOOR = 0.95
DETECTOR_FLOORS = {
    "short-initial-segment": (0.99, 0.99),
    "odd-short-final-segment": (0.99, 0.99),
    "slow-start-restart": (0.99, 0.99),
    "small-send-buffer": (0.99, 0.99),
    "nagle-hold": (0.97, 0.91),
    "nagle-delayed-ack": (0.95, 0.94),
    "retransmission-timeout": (0.99, 0.98),
    "tail-loss": (0.98, 0.95),
}
OTHER_SHARE_FLOOR = 0.984
OTHER_DETECTOR_FLOORS = {
    "short-initial-segment": (0.98, 0.99),
    "odd-short-final-segment": (0.99, 0.98),
    "slow-start-restart": (0.98, 0.95),
    "small-send-buffer": (0.96, 0.97),
}


def failures(agreement):
    return [(outcome.number, outcome.failure) for outcome in agreement.outcomes if outcome.failure]


def many_agree(at, share_floor, *, seed=SEED, many=MANY):
    found = agreement_of(seed, range(many), at=at, jobs=1)
    assert failures(found) == []
    assert found.sum.unequal == {}
    assert found.share >= share_floor
    return found


def detectors_agree(found, floors):
    for name, (precision, recall) in floors.items():
        assert found.precision(name) >= precision, name
        assert found.recall(name) >= recall, name


@pytest.fixture(scope="module")
def few():
    return agreement_of(SEED, range(EVERYDAY), at="client", jobs=1)


def test_transactions_of_random_scenarios_equal_the_truth(few):
    assert failures(few) == []
    assert few.sum.transactions > 100
    assert few.sum.unequal == {}


def test_causes_of_random_scenarios_agree_for_most_of_the_time(few):
    assert few.share >= EVERYDAY_FLOOR


@pytest.mark.slow
def test_transactions_and_causes_of_many_random_scenarios_equal_the_truth():
    detectors_agree(many_agree("client", SHARE_FLOOR), DETECTOR_FLOORS)


@pytest.mark.slow
def test_scenarios_that_no_rule_was_made_with_agree_nearly_as_well():
    others = many_agree("client", OTHER_SHARE_FLOOR, seed=OTHER_SEED, many=OTHERS)
    detectors_agree(others, OTHER_DETECTOR_FLOORS)


@pytest.mark.slow
def test_transactions_and_causes_of_captures_at_the_server_equal_the_truth():
    many_agree("server", SERVER_SHARE_FLOOR)
