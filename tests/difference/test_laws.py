"""Invariants of any two sides: zero against itself, antisymmetric, independent of start times, exact in sums."""

from dataclasses import replace

import polars as pl
import pytest
from captures import MILLISECOND, START, pcap
from hypothesis import given, settings
from hypothesis import strategies as st

from difference.laws import assert_everything_is_there_once, assert_split_is_exact
from difference.recorded import EXCHANGES, compared, records

# Each example analyses two captures.
pytestmark = pytest.mark.slow


def plain(frame):
    """Return rows with times as integers."""
    return frame.with_columns(pl.selectors.duration().to_physical()).rows()


def aligned(difference):
    names = difference.transactions.select("left_target", "right_target").drop_nulls().rows()
    return {left for left, right in names if left == right}


@given(left=EXCHANGES, right=EXCHANGES)
@settings(max_examples=10)
def test_split_of_any_two_captures_is_exact(left, right):
    difference = compared(records(left), records(right))
    assert_split_is_exact(difference)
    assert_everything_is_there_once(difference)


@given(exchanges=EXCHANGES)
@settings(max_examples=10)
def test_side_against_itself_differs_in_nothing(exchanges):
    difference = compared(records(exchanges), records(exchanges))
    assert set(difference.transactions["how"]) == {"same"}
    for frame in (
        difference.causes,
        difference.retrieval_causes,
        difference.transaction_causes,
        difference.stalls,
    ):
        assert not any(frame["difference"].to_physical())
    assert difference.divergences == ()


@given(left=EXCHANGES, right=EXCHANGES)
@settings(max_examples=10)
def test_exchanged_sides_negate_every_cause(left, right):
    there, back = compared(records(left), records(right)), compared(records(right), records(left))
    assert there.difference_ns == -back.difference_ns
    assert signed(there.causes, "cause") == {key: -more for key, more in signed(back.causes, "cause").items()}
    key = pl.concat_str("cause", "detector")
    assert signed(there.stalls, key) == {key: -more for key, more in signed(back.stalls, key).items()}
    swapped = {(other, one) for one, other in aligned_pairs(back)}
    assert set(aligned_pairs(there)) == swapped


def signed(frame, key):
    return dict(frame.select(key, pl.col("difference").to_physical()).rows())


def aligned_pairs(difference):
    return difference.transactions.select("left_transaction", "right_transaction").drop_nulls().rows()


@given(exchanges=EXCHANGES.filter(lambda made: len(made) > 1), data=st.data())
@settings(max_examples=10)
def test_transaction_that_one_side_lacks_leaves_the_others_aligned(exchanges, data):
    missing = data.draw(st.integers(0, len(exchanges) - 1))
    rest = [each for number, each in enumerate(exchanges) if number != missing]
    difference = compared(records(exchanges), records(rest))
    assert aligned(difference) == {each.name for each in rest}
    alone = difference.transactions.filter(how="only_left")
    assert alone["left_target"].to_list() == [exchanges[missing].name]
    assert_split_is_exact(difference)


@given(exchanges=EXCHANGES, other=EXCHANGES, shift=st.integers(-(10**17), 10**17))
@settings(max_examples=10)
def test_time_of_day_changes_nothing(exchanges, other, shift):
    before = compared(records(exchanges), records(other))
    after = compared(records(exchanges), records(other, start=START + shift))
    for frame in ("retrievals", "transactions", "causes", "transaction_causes", "stalls", "residuals"):
        assert plain(getattr(before, frame)) == plain(getattr(after, frame))
    assert before.divergences == after.divergences


@given(exchanges=EXCHANGES, more=st.integers(3 * MILLISECOND, 400 * MILLISECOND))
@settings(max_examples=10)
def test_longer_think_time_is_the_servers_and_nothing_else(exchanges, more):
    # Longer than an RTT, which the response takes anyway.
    fast, *rest = exchanges
    fast = replace(fast, think_ns=2 * MILLISECOND)
    slow = replace(fast, think_ns=fast.think_ns + more)
    difference = compared(records([slow, *rest]), records([fast, *rest]))
    changed = difference.transaction_causes.filter(pl.col("difference") != pl.duration())
    assert difference.difference_ns == more
    assert changed.select("pair", "cause", pl.col("difference").to_physical()).rows() == [
        (0, "server.think", more)
    ]


@given(left=EXCHANGES, right=EXCHANGES, kept=st.integers(0, 100))
@settings(max_examples=10)
def test_truncated_capture_is_compared_up_to_its_end(left, right, kept):
    whole = pcap(records(right))
    cut = whole[: 24 + (len(whole) - 24) * kept // 100]
    if len(cut) < 24 + 16 + 54:
        # A capture without any packet is invalid.
        cut = whole[:200]
    difference = compared(pcap(records(left)), cut)
    assert_split_is_exact(difference)
    assert_everything_is_there_once(difference)
    for text in (difference.text(), difference.json()):
        assert text.endswith("\n")
