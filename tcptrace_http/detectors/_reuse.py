"""Connections that were opened although the client had an earlier one with nothing to do.

Each connection with one transaction is free for the next once its response is there. Going through
the connections of a client to one port of a server by their SYNs, one that finds a free earlier one
could have been saved; the free one is then in use again. Two are never saved by one, so connections
opened in parallel are saved only as far as earlier parallel ones were done.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._host_pairs import SERVICE

if TYPE_CHECKING:
    import polars as pl

__all__ = ["KEPT_OPEN_NS", "OPENED_AHEAD_NS", "needless"]

#: A server keeps an idle connection at least so long: Apache's default of KeepAliveTimeout is 5 s, the
#: least of the servers in use (nginx 75 s, Node.js 5 s).
KEPT_OPEN_NS: Final = 5_000_000_000
#: A connection that waits longer for its first request, beyond the handshake, was opened ahead of need.
OPENED_AHEAD_NS: Final = 50_000_000
#: Fewer of them are chance: a retry, or a client that was started several times.
NEEDLESS_MIN: Final = 3
#: Most connections of the client carry one transaction only; else it does reuse them.
SINGLE_SHARE_MIN: Final = 0.8


def needless(
    connections: pl.DataFrame, *, needless_min: int = NEEDLESS_MIN, single_share_min: float = SINGLE_SHARE_MIN
) -> pl.LazyFrame:
    """The connections that an earlier one of the same client could have saved, with ``setup``: how long
    the request waited for the handshake. Only of clients that open one for each request.
    """
    import polars as pl

    single = (
        connections.lazy()
        .with_columns(single_share=(pl.col("transactions") == 1).mean().over(SERVICE))
        .filter(
            pl.col("single_share") >= single_share_min,
            "has_syn",
            # Of those h2-connection-churn tells.
            pl.col("protocol").cast(pl.String).ne_missing("h2"),
            pl.col("transactions") == 1,
            pl.col("first_request_time").is_not_null(),
            pl.col("last_response_time").is_not_null(),
        )
    )
    starts = single.select("flow", *SERVICE, time="start", is_start=pl.lit(value=True))
    ends = single.select("flow", *SERVICE, time="last_response_time", is_start=pl.lit(value=False))
    is_start = pl.col("is_start")
    # At one instant the responses come first: the SYN may be their consequence.
    steps = pl.concat([starts, ends]).sort("time", "is_start", "flow")
    done = (~is_start).cum_sum().over(SERVICE).cast(pl.Int64)
    place = is_start.cum_sum().over(SERVICE).cast(pl.Int64) - 1
    latest_end = pl.when(~is_start).then(pl.col("time")).forward_fill().over(SERVICE)
    # The number saved so far is S[i] = min(S[i-1] + 1, done[i]), so that S[i] - i is the least of
    # done[k] - k up to there, and of 1 before the first.
    saved = (
        steps.with_columns(done=done, place=place, latest_end=latest_end)
        .filter("is_start")
        .with_columns(
            saved=pl.col("place") + (pl.col("done") - pl.col("place")).cum_min().over(SERVICE).clip(None, 1)
        )
        .with_columns(is_saved=(pl.col("saved") - pl.col("saved").shift(1, fill_value=0).over(SERVICE)) > 0)
        .filter("is_saved", pl.col("time") - pl.col("latest_end") <= pl.duration(nanoseconds=KEPT_OPEN_NS))
        .select("flow")
    )
    waited = pl.col("first_request_time") - pl.col("start")
    handshake = pl.coalesce("initial_rtt", waited)
    is_ahead = waited - handshake > pl.duration(nanoseconds=OPENED_AHEAD_NS)
    return (
        single.join(saved, on="flow", how="semi")
        .filter(pl.len().over(SERVICE) >= needless_min)
        .with_columns(setup=pl.when(is_ahead).then(pl.duration()).otherwise(pl.min_horizontal(waited, handshake)))
        .sort("flow")
    )
