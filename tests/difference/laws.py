"""Invariants of every difference."""

import polars as pl


def nanoseconds(series):
    return int(series.to_physical().sum() or 0)


def assert_split_is_exact(difference):
    """Check that causes sum to the elapsed times of both sides to the nanosecond: in total and per pair."""
    for column, total in (
        ("left", difference.left_ns),
        ("right", difference.right_ns),
        ("difference", difference.difference_ns),
    ):
        assert nanoseconds(difference.causes[column]) == total
    for pairs, causes in (
        (difference.retrievals, difference.retrieval_causes),
        (difference.transactions, difference.transaction_causes),
    ):
        for row in pairs.with_columns(pl.selectors.duration().to_physical()).iter_rows(named=True):
            mine = causes.filter(pl.col("pair") == row["pair"])
            assert nanoseconds(mine["left"]) == (row["left_elapsed"] or 0)
            assert nanoseconds(mine["right"]) == (row["right_elapsed"] or 0)
            assert nanoseconds(mine["difference"]) == row["difference"]


def assert_everything_is_there_once(difference):
    """Check that every retrieval and transaction of both sides has exactly one row."""
    for side, analysis in (("left", difference.left.analysis), ("right", difference.right.analysis)):
        numbers = difference.retrievals[f"{side}_retrieval"].drop_nulls()
        assert sorted(numbers) == analysis.retrievals["retrieval"].to_list()
        keys = difference.transactions.select(f"{side}_flow", f"{side}_transaction").drop_nulls().rows()
        assert sorted(keys) == sorted(analysis.transactions.select("flow", "index").rows())
