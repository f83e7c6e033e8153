"""Connections that a client opened although an earlier connection was idle.

A connection with one transaction is free for the next once its response is complete. The connections of a
client to one server port are taken in the order of their SYNs. A connection is needless if an earlier one is
free at its SYN. The free connection is then in use again. One free connection saves one new connection at
most.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._host_pairs import SERVICE

if TYPE_CHECKING:
    import polars as pl

__all__ = ["KEPT_OPEN_NS", "OPENED_AHEAD_NS", "needless"]

#: Minimum time that a server keeps an idle connection. Apache's default KeepAliveTimeout of 5 s is the
#: shortest of the servers in use (nginx 75 s, Node.js 5 s).
KEPT_OPEN_NS: Final = 5_000_000_000
#: Minimum idle time between handshake and first request of a connection that was opened ahead of need.
OPENED_AHEAD_NS: Final = 50_000_000
#: Minimum number of needless connections. Fewer are chance: a retry, or a client started several times.
NEEDLESS_MIN: Final = 3
#: Minimum share of a client's connections with one transaction. Below it the client does reuse connections.
SINGLE_SHARE_MIN: Final = 0.8


def needless(
    connections: pl.DataFrame, *, needless_min: int = NEEDLESS_MIN, single_share_min: float = SINGLE_SHARE_MIN
) -> pl.LazyFrame:
    """Return the connections that an earlier connection of the same client could have saved.

    ``setup`` is the time that the request waited for the handshake. Only clients with one connection per
    request count.
    """
    import polars as pl

    single = (
        connections.lazy()
        .with_columns(single_share=(pl.col("transactions") == 1).mean().over(SERVICE))
        .filter(
            pl.col("single_share") >= single_share_min,
            "has_syn",
            # The detector h2-connection-churn covers HTTP/2.
            pl.col("protocol").cast(pl.String).ne_missing("h2"),
            pl.col("transactions") == 1,
            pl.col("first_request_time").is_not_null(),
            pl.col("last_response_time").is_not_null(),
        )
    )
    starts = single.select("flow", *SERVICE, time="start", is_start=pl.lit(value=True))
    ends = single.select("flow", *SERVICE, time="last_response_time", is_start=pl.lit(value=False))
    is_start = pl.col("is_start")
    # At equal times the responses come first: the SYN may be their consequence.
    steps = pl.concat([starts, ends]).sort("time", "is_start", "flow")
    done = (~is_start).cum_sum().over(SERVICE).cast(pl.Int64)
    place = is_start.cum_sum().over(SERVICE).cast(pl.Int64) - 1
    latest_end = pl.when(~is_start).then(pl.col("time")).forward_fill().over(SERVICE)
    # The number saved so far is S[i] = min(S[i-1] + 1, done[i]). Hence S[i] - i is the minimum of done[k] - k
    # up to i, and of 1 before the first.
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
