"""Waits of a proxy's front legs for their upstream legs.

Without the upstream leg, a proxy's time looks like server time, and late upstream data looks like data held
by the proxy's socket. No response byte can leave a proxy before it arrives from upstream. While the upstream
response arrives and the front leg keeps up, the front leg's waits are waits for upstream. A front leg that
does not keep up has buffered data. It waited for upstream only if the end of an upstream silence ended its
own silence.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from tcptrace_http.schema import TABLES, polars_schema

if TYPE_CHECKING:
    import polars as pl

__all__ = ["with_upstream"]

UPSTREAM: Final = "server.upstream"
_UNAVAILABLE: Final = "server.data_unavailable"
#: Causes before the response: only the proxy's own work explains them otherwise.
_BEFORE: Final = ("server.think", _UNAVAILABLE, "unexplained")
#: Causes inside the response that look the same when the upstream data is missing.
_HELD: Final = (
    *("stall.nagle_delayed_ack", "stall.nagle_hold", "stall.delayed_ack_first_segment", "stall.cork_timeout"),
    *("stall.slow_start_restart", "send_limited.slow_start", "send_limited.cwnd"),
    *("send_limited.send_buffer", "send_limited.bottleneck"),
)
_WITHIN: Final = (_UNAVAILABLE, "unexplained", *_HELD)
#: Waits of an upstream leg for a proxy that stops reading while its client does not read.
_PRESSED: Final = (
    "client.not_reading",
    "send_limited.receive_window",
    "send_limited.zero_window",
    "stall.persist",
)
#: Maximum time for a proxy to forward arrived data: as long as a busy host takes for an ACK (TOLERANCE_MAX_NS
#: of native/path), and a tenth of the shortest delayed-ACK or cork timer, 40 ms.
_PASSED_ON: Final = timedelta(milliseconds=4)
_KEY: Final = ("flow", "transaction")
_OF_UPSTREAM: Final = ("upstream_flow", "upstream_transaction")
#: Constraint columns of the segment that ended a wait. The constraint of a wait for upstream is the
#: application.
_BOUND: Final = (
    *("direction", "constraint", "released_by", "offset", "bytes"),
    *("behind_frame", "behind_offset", "behind_bytes"),
)


def with_upstream(waits: pl.DataFrame, hops: pl.DataFrame, transactions: pl.DataFrame) -> pl.DataFrame:
    """Return the waits with waits for upstream inserted; the sum per transaction is unchanged.

    ``waits`` are otherwise finished and in order, and contain both legs of ``hops``. ``transactions`` has the
    front and upstream transactions.
    """
    import polars as pl

    if hops.is_empty():
        return waits
    rows = waits.with_row_index("row").with_columns(pl.col("cause", "constraint").cast(pl.String))
    legs = _legs(hops, transactions, rows)
    of_fronts = rows.drop(_OF_UPSTREAM, "confidence").join(legs, on=_KEY)
    taken = _taken(of_fronts.join(_arrivals(of_fronts, rows), on=["row", *_OF_UPSTREAM], how="left"))
    if taken.is_empty():
        return waits
    left = _left(rows.join(taken.select("row", "since", "until"), on="row", how="left"))
    given = rows.drop(_OF_UPSTREAM, _BOUND, "confidence", "start", "end").join(
        taken.select("row", *_OF_UPSTREAM, "confidence", start="since", end="until"), on="row"
    )
    declared = polars_schema(TABLES["waits"])
    return (
        pl.concat([left, given.with_columns(cause=pl.lit(UPSTREAM))], how="diagonal_relaxed")
        .select(pl.col(name).cast(dtype) for name, dtype in declared.items())
        .sort(*_KEY, "start")
    )


def _legs(hops: pl.DataFrame, transactions: pl.DataFrame, waits: pl.DataFrame) -> pl.DataFrame:
    """Return the hops in order per front leg, with the columns for comparison with its waits."""
    import polars as pl

    fronts = transactions.select(
        *("flow", "request_last_time", "response_first_time", "response_last_time"), transaction="index"
    )
    upstreams = transactions.select(
        upstream_flow="flow", upstream_transaction="index", upstream_last_time="response_last_time"
    )
    length = pl.col("end") - pl.col("start")
    pressed = (
        waits.filter(pl.col("cause").is_in(_PRESSED))
        .group_by(_KEY)
        .agg(pressed=length.sum())
        .rename(dict(zip(_KEY, _OF_UPSTREAM, strict=True)))
    )
    is_last = pl.col("response_last_time") <= pl.col("upstream_last_time") + _PASSED_ON
    was_pressed = (pl.col("pressed") > _PASSED_ON).fill_null(value=False)
    before = pl.col("end").cum_max().shift().over(_KEY, order_by="start")
    return (
        hops.join(fronts, on=_KEY)
        .join(upstreams, on=_OF_UPSTREAM)
        .join(pressed, on=_OF_UPSTREAM, how="left")
        .with_columns(keeps_up=(is_last | pl.col("upstream_last_time").is_null()) & ~was_pressed)
        .select(
            *_KEY,
            *_OF_UPSTREAM,
            *("confidence", "request_last_time", "response_first_time", "keeps_up"),
            begun=pl.max_horizontal("start", before),
            over="end",
        )
    )


def _arrivals(of_fronts: pl.DataFrame, waits: pl.DataFrame) -> pl.DataFrame:
    """Return, per wait inside a response, the end of the upstream silence that ended it, if any."""
    import polars as pl

    silence = {"quiet": pl.col("start").min(), "arrived": pl.col("end").max()}
    upstream = (
        waits.group_by(*_KEY, "last_frame")
        .agg(**silence, is_pressed=pl.col("cause").is_in(_PRESSED).any())
        .filter(~pl.col("is_pressed"))
        .rename(dict(zip(_KEY, _OF_UPSTREAM, strict=True)))
        .drop("last_frame", "is_pressed")
        .sort("arrived")
    )
    held = of_fronts.filter(pl.col("cause").is_in(_WITHIN), pl.col("start") >= pl.col("response_first_time"))
    within = [*_KEY, *_OF_UPSTREAM, "last_frame"]
    gaps = held.group_by(within).agg(since=pl.col("start").min(), released=pl.col("end").max())
    ended = gaps.sort("released").join_asof(
        upstream, left_on="released", right_on="arrived", by=list(_OF_UPSTREAM), check_sortedness=False
    )
    is_prompt = pl.col("released") - pl.col("arrived") <= _PASSED_ON
    is_empty = (pl.col("quiet") - pl.col("since")).abs() <= _PASSED_ON
    causal = ended.filter(pl.col("arrived") > pl.col("since"), is_prompt | is_empty)
    return held.join(causal, on=within).select("row", *_OF_UPSTREAM, "arrived")


def _taken(of_fronts: pl.DataFrame) -> pl.DataFrame:
    """Return the parts of waits that belong to upstream, from ``since`` to ``until``, in order."""
    import polars as pl

    cause, first = pl.col("cause"), pl.col("response_first_time")
    is_before = (pl.col("start") < first).fill_null(value=True)
    is_by_leg = pl.col("keeps_up") | (cause == _UNAVAILABLE)
    over = pl.when(is_before | is_by_leg).then("over").otherwise(pl.min_horizontal("over", "arrived"))
    is_answered = is_before & cause.is_in(_BEFORE) & (pl.col("start") >= pl.col("request_last_time"))
    is_received = ~is_before & cause.is_in(_WITHIN) & (is_by_leg | pl.col("arrived").is_not_null())
    return (
        of_fronts.filter(is_answered | is_received)
        .with_columns(since=pl.max_horizontal("start", "begun"), until=pl.min_horizontal("end", over))
        .filter(pl.col("since") < pl.col("until"))
        .sort("row", "since")
    )


def _left(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rest of the waits: whole waits, or the parts before, between and behind the upstream parts."""
    import polars as pl

    before = rows.with_columns(
        start=pl.coalesce(pl.col("until").shift().over("row"), "start"), end=pl.coalesce("since", "end")
    )
    behind = rows.filter(pl.col("until").is_not_null()).unique("row", keep="last", maintain_order=True)
    # The proxy took this time to forward the arrived data, whatever the cause of the wait before it.
    is_passing = pl.col("cause").is_in(_HELD) & (pl.col("end") - pl.col("until") <= _PASSED_ON)
    released = ("released_by", "behind_frame", "behind_offset", "behind_bytes")
    passed_on = behind.with_columns(
        *(pl.when(~is_passing).then(pl.col(name)).alias(name) for name in released),
        start="until",
        cause=pl.when(is_passing).then(pl.lit(_UNAVAILABLE)).otherwise("cause"),
        constraint=pl.when(is_passing).then(pl.lit("application")).otherwise("constraint"),
    )
    return pl.concat([before, passed_on]).filter(pl.col("start") < pl.col("end"))
