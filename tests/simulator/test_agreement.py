"""Analyses of simulated captures against what really happened.

The floors are what holds today; what is promised in the end is in :mod:`tests.simulator.agreement`.
"""

import pytest

from tests.simulator.agreement import agreement_of

SEED = 1
EVERYDAY = 24
MANY = 2000
#: Measured on the many: the share of the time on which causes agree.
SHARE_FLOOR = 0.75
#: So many of a thousand transactions may differ: 0.6 do with this seed, 3 with another. Known of them: where the
#: SYN-ACK of an accelerated open (RFC 1644) is lost, the data behind it comes first, and the analysis takes that
#: for the beginning of a stream that it joined late.
UNEQUAL_PER_THOUSAND = 4


def failures(agreement):
    return [(outcome.number, outcome.failure) for outcome in agreement.outcomes if outcome.failure]


@pytest.fixture(scope="module")
def few():
    return agreement_of(SEED, range(EVERYDAY), at="client", jobs=1)


def test_transactions_of_random_scenarios_are_exactly_what_happened(few):
    assert failures(few) == []
    assert few.sum.transactions > 100
    assert few.sum.unequal == {}


def test_causes_of_random_scenarios_agree_for_most_of_the_time(few):
    assert few.share >= SHARE_FLOOR


@pytest.mark.slow
def test_transactions_and_causes_of_many_random_scenarios_are_what_happened():
    many = agreement_of(SEED, range(MANY), at="client")
    assert failures(many) == []
    assert 1000 * sum(many.sum.unequal.values()) <= UNEQUAL_PER_THOUSAND * many.sum.transactions
    assert many.share >= SHARE_FLOOR
