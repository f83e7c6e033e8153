"""Round trips of slow start that a larger first window would have saved.

Slow start doubles the window each round trip (RFC 5681, section 3.1): ``segments`` of them take
``ceil(log2(segments / window + 1))`` flights from a first one of ``window``. Only the flights up to the
first that is smaller than the one before it are slow start; what comes later is limited otherwise.

Between two flights the sender waited for ACKs. Without as many flights it would have waited as many
times less; the shortest of the waits are counted, and of each the pace of the data is taken off, since
the data would have been sent all the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import polars as pl

__all__ = ["is_limited_by_its_window", "rounds_saved", "time_of_rounds"]

#: Below this round trip a round costs less than can be measured.
RTT_MIN_NS: Final = 4_000_000
#: Who waited for an ACK waited for a round trip, beside what the slowest link takes for what comes behind it:
#: this part of it, for round trips vary. A link that is as slow has its segments come as far apart.
WAIT_SHARE: Final = 0.5
#: The second flight of a sender in slow start is larger than the first by this factor; that of one
#: limited by something else is not.
GROWTH_MIN: Final = 1.4


def is_limited_by_its_window() -> pl.Expr:
    """Whether the first flight of a response (a row of ``flights``) shows the congestion window.

    It ends with a full segment, so that it was not the application that had no more; the receive
    window was larger; nothing was lost; and the next one is larger, or the last and more than one
    segment: a single one may be the short end of the response that Nagle's algorithm held. Between the
    two it waited for longer than the link took for each segment.
    """
    import polars as pl

    flights = pl.col("flight_segments")
    first, second = flights.list.get(0), flights.list.get(1, null_on_oob=True)
    ends_at_second = flights.list.get(2, null_on_oob=True).is_null()
    rtt_ns = pl.col("rtt").dt.total_nanoseconds()
    starts = pl.col("flight_start_ns").cast(pl.List(pl.Int64))
    ends = pl.col("flight_end_ns").cast(pl.List(pl.Int64))
    second_took = ends.list.get(1, null_on_oob=True) - starts.list.get(1, null_on_oob=True)
    pace = second_took / (second.cast(pl.Int64) - 1).clip(1)
    waited = starts.list.get(1, null_on_oob=True) - ends.list.get(0, null_on_oob=True) - pace
    return (
        pl.col("first_flight_ends_full")
        & (pl.col("receive_window_segments") > first)
        & (pl.col("retransmissions") == 0)
        & (rtt_ns >= RTT_MIN_NS)
        & (waited >= rtt_ns * WAIT_SHARE)
        & ((second >= first * GROWTH_MIN) | (ends_at_second & (first > 1) & (second > 1)))
    )


def rounds_saved(window: pl.Expr) -> pl.Expr:
    """Of the flights in slow start, those that a first one of ``window`` segments would have spared."""
    import polars as pl

    growing = _growing()
    segments = pl.col("flight_segments").list.head(growing).list.sum()

    def needed(first: pl.Expr) -> pl.Expr:
        return (segments / first.clip(1) + 1).log(2).ceil().clip(1).cast(pl.Int64)

    # Delayed ACKs open the window by less than twice; that is not the first flight's doing.
    taken = pl.min_horizontal(growing.cast(pl.Int64), needed(pl.col("flight_segments").list.first()))
    return taken - needed(window)


def time_of_rounds(saved: pl.Expr) -> pl.Expr:
    """Nanoseconds that ``saved`` of the waits between the flights in slow start took; see above."""
    import polars as pl

    starts = pl.col("flight_start_ns").cast(pl.List(pl.Int64))
    ends = pl.col("flight_end_ns").cast(pl.List(pl.Int64))
    growing = _growing()
    waits = starts.list.head(growing).list.slice(1) - ends.list.head(growing - 1)
    first = pl.col("flight_segments").list.first().cast(pl.Int64)
    pace = ends.list.first() / (first - 1).clip(1)
    saved = saved.clip(0)
    shortest = waits.list.sort().list.head(saved.cast(pl.UInt32)).list.sum()
    return (shortest - pace * saved).clip(0).fill_null(0).cast(pl.Int64)


def _growing() -> pl.Expr:
    """How many flights there are up to the first smaller one; the last is what was left to send."""
    import polars as pl

    flights = pl.col("flight_segments")
    shrinks = (pl.element() < pl.element().shift(1)).fill_null(value=False).cast(pl.UInt8)
    of_them = flights.list.eval(shrinks)
    at = of_them.list.arg_max()
    ends = (of_them.list.max() == 0) | (at + 1 == flights.list.len())
    return pl.when(ends).then(flights.list.len()).otherwise(at)
