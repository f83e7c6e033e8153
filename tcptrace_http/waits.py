"""The waits table: where the time of each transaction went, to the nanosecond.

The core partitions a transaction's time by what its packets show one by one. Some stalls show only in
many pauses of a flow, or in its flights; detectors judge those, and what they find is carved out of the
partition here. So the waits of a transaction still follow each other without a gap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.schema import TABLES, polars_schema

if TYPE_CHECKING:
    from collections.abc import Collection

    import polars as pl

__all__ = ["that_cost_time", "with_stalls"]

#: A restart is no pause of its own: it is the round trips in which the window grew again.
_RESTART: Final = "stall.slow_start_restart"
_SLOW_START: Final = "send_limited.slow_start"
#: Waits for the window, which a delayed ACK may end.
_WINDOW: Final = (_SLOW_START, _RESTART, "send_limited.cwnd")
_NAGLE: Final = ("stall.nagle_hold", "stall.nagle_delayed_ack")
_CORK: Final = "stall.cork_timeout"
#: Holds that the core may know better: what the link took, or when an ACK let go what seems to have waited.
_HOLDS: Final = (*_NAGLE, _CORK)
#: Where the detector has seen the window grow anew, its waits are of it, whatever each shows by itself.
_MAY_BE_RESTART: Final = (_RESTART, _SLOW_START, "send_limited.cwnd", "unexplained")
_DELAYED_ACK: Final = "stall.delayed_ack_first_segment"
#: A full send buffer shows only after some flights; from then on it is known of those before as well.
_SEND_BUFFER: Final = "send_limited.send_buffer"
_MAY_BE_SEND_BUFFER: Final = (_SLOW_START, "unexplained")
_KEY: Final = ("flow", "transaction")


def with_stalls(waits: pl.DataFrame, findings: pl.DataFrame, *, at_client: Collection[int] = ()) -> pl.DataFrame:
    """The waits with the stalls of ``findings`` in their place.

    ``waits`` is the partition of the core, in order; ``findings`` those of the detectors that shape it.
    A stall takes the end of the wait that its last frame ended, as long as what was lost by it; a
    restart takes waits for the window in its frames, from the first on; a small send buffer all those for
    ACKs in its frames. All of them keep the sum of every transaction. ``at_client`` are the flows that were
    captured there: a wait ends there when its last frame comes by.
    """
    import polars as pl

    cause = pl.col("cause").cast(pl.String)
    waits = _buffered(waits, findings.filter(pl.col("transaction").is_not_null(), cause == _SEND_BUFFER))
    stalls = findings.filter(
        pl.col("transaction").is_not_null(), cause.str.starts_with("stall."), pl.col("lost") > 0
    )
    if stalls.is_empty():
        return waits
    is_restart = pl.col("cause") == _RESTART
    carved = _carved(waits, _without_ack(stalls.filter(~is_restart), waits), at_client)
    return _restarted(carved, stalls.filter(is_restart))


def that_cost_time(findings: pl.DataFrame, waits: pl.DataFrame) -> pl.DataFrame:
    """``findings`` without holds that took nothing of ``waits``, which are finished: the link was busy then.

    A delayed ACK and a slow link have the same rhythm: data that comes a path's time behind the ACK may have left
    with the segment before it, and have been on its way since. The partition knows what the link takes for it. So
    have the timer of a corked socket and a slow link behind an ACK.
    """
    import polars as pl

    held = waits.filter(pl.col("cause").cast(pl.String).is_in(_HOLDS)).select(*_KEY, "last_frame")
    is_hold = (pl.col("cause").cast(pl.String).is_in(_HOLDS) & pl.col("transaction").is_not_null()).fill_null(
        value=False
    )
    return pl.concat(
        [
            findings.filter(is_hold).join(held, on=[*_KEY, "last_frame"], how="semi", maintain_order="left"),
            findings.filter(~is_hold),
        ]
    )


def _buffered(waits: pl.DataFrame, buffers: pl.DataFrame) -> pl.DataFrame:
    """Waits for ACKs between the first and the last frame of a small send buffer, given to it."""
    import polars as pl

    if buffers.is_empty():
        return waits
    claimed = buffers.unique(_KEY, keep="first", maintain_order=True).select(
        *_KEY, begun="first_frame", ended="last_frame"
    )
    cause = pl.col("cause").cast(pl.String)
    is_its = (
        cause.is_in(_MAY_BE_SEND_BUFFER)
        & (pl.col("first_frame") >= pl.col("begun"))
        & (pl.col("last_frame") <= pl.col("ended"))
    )
    joined = waits.join(claimed, on=list(_KEY), how="left", maintain_order="left")
    return _in_order(joined.with_columns(cause=pl.when(is_its).then(pl.lit(_SEND_BUFFER)).otherwise(cause)))


def _without_ack(stalls: pl.DataFrame, waits: pl.DataFrame) -> pl.DataFrame:
    """``stalls`` but for timers of corked sockets that no timer ended: what came then an ACK had let go."""
    import polars as pl

    by_ack = waits.filter(pl.col("cause").cast(pl.String).is_in((*_WINDOW, _DELAYED_ACK)))
    of_timer = stalls.filter(pl.col("cause") == _CORK)
    of_timer = of_timer.join(by_ack, on=[*_KEY, "last_frame"], how="anti", maintain_order="left")
    return pl.concat([of_timer, stalls.filter(pl.col("cause") != _CORK)])


def _carved(waits: pl.DataFrame, stalls: pl.DataFrame, at_client: Collection[int]) -> pl.DataFrame:
    """The stalls taken off the ends of the waits that their last frames ended."""
    import polars as pl

    # Of two stalls that end in one frame the longer one holds the other.
    claimed = (
        stalls.sort("lost", descending=True)
        .unique([*_KEY, "last_frame"], keep="first", maintain_order=True)
        .select(
            *_KEY,
            "last_frame",
            "lost",
            ended=pl.col("start") + pl.col("lost"),
            stall="cause",
            certainty="confidence",
        )
    )
    # At the client a wait that goes on beyond that frame, as behind a hole, was not ended by it, and one that
    # begins with it is of what came then.
    cause = pl.col("cause").cast(pl.String)
    is_elsewhere = ~pl.col("flow").is_in(list(at_client))
    # Elsewhere no other frame marks the time in which an application wrote what was held then.
    is_written = (cause == "server.data_unavailable") & (pl.col("first_frame") == pl.col("last_frame"))
    is_behind = (pl.col("start") < pl.col("ended")) | (is_elsewhere & ~is_written)
    is_over = (pl.col("end") <= pl.col("ended")) | is_elsewhere
    # The pace of the data, the wait behind it and the path may all end in one frame; the wait is the longest. What
    # was waited for first is over when the stall begins. Near the server the pace of what follows begins there.
    begun = pl.col("ended") - pl.col("lost")
    of_stall = pl.when(is_elsewhere).then("start").otherwise(pl.max_horizontal("start", begun))
    length = pl.col("end") - of_stall
    is_before = (pl.col("first_frame") < pl.col("last_frame")) | ~is_elsewhere
    by_length = pl.col("start").filter(is_behind).sort_by(is_before.filter(is_behind), length.filter(is_behind))
    longest = by_length.last().over(*_KEY, "last_frame")
    joined = waits.join(claimed, on=[*_KEY, "last_frame"], how="left", maintain_order="left").with_columns(
        since=pl.when(pl.col("start") == longest, is_over).then(pl.col("end") - pl.col("lost"))
    )
    joined = joined.with_columns(
        pl.coalesce(name, pl.when(_begins_split()).then(pl.col(name).shift(-1).over(*_KEY)))
        for name in ("since", "stall", "certainty")
    )
    is_held = pl.col("since") < pl.col("end")
    border = pl.max_horizontal("start", "since")
    # What is left of a wait for data that was there is the data before it, still on its way.
    is_transfer = is_held & (cause == "server.data_unavailable")
    # What Nagle's algorithm held lay in the buffer: before that an ACK made room for it in the window.
    is_window = is_held & (cause == "unexplained") & pl.col("stall").cast(pl.String).is_in(_NAGLE)
    before = joined.with_columns(
        end=pl.when(is_held).then(border).otherwise("end"),
        cause=pl.when(is_transfer)
        .then(pl.lit("send_limited.bottleneck"))
        .when(is_window)
        .then(pl.lit(_SLOW_START))
        .otherwise(cause),
    )
    stalled = joined.filter(is_held).with_columns(
        start=border, cause=pl.col("stall").cast(pl.String), confidence="certainty"
    )
    return _in_order(pl.concat([before, stalled]))


def _begins_split() -> pl.Expr:
    """Whether this is the round trip of a window of one segment, and its delayed ACK is the wait behind it."""
    import polars as pl

    cause = pl.col("cause").cast(pl.String)
    return cause.is_in(_WINDOW) & (cause.shift(-1).over(*_KEY) == _DELAYED_ACK)


def _restarted(waits: pl.DataFrame, restarts: pl.DataFrame) -> pl.DataFrame:
    """Waits for the window taken for a restart, from the first in its frames on, until what it lost is used up."""
    import polars as pl

    row, restart = "row", "restart"
    numbered = waits.with_row_index(row)
    claims = restarts.with_row_index(restart).select(
        *_KEY, restart, "lost", begun="first_frame", ended="last_frame", stall="cause", certainty="confidence"
    )
    length = pl.col("end") - pl.col("start")
    rounds = (
        numbered.filter(pl.col("cause").cast(pl.String).is_in(_MAY_BE_RESTART))
        .join(claims, on=list(_KEY), how="inner", maintain_order="left")
        .filter(pl.col("first_frame") >= pl.col("begun"), pl.col("last_frame") <= pl.col("ended"))
        .unique(row, keep="first", maintain_order=True)
    )
    left = pl.col("lost") - (length.cum_sum().over(restart) - length)
    taken = rounds.with_columns(taken=pl.min_horizontal(left, length)).filter(pl.col("taken") > 0)
    joined = numbered.join(
        taken.select(row, "taken", "stall", "certainty"), on=row, how="left", maintain_order="left"
    )
    is_taken = pl.col("taken").is_not_null()
    border = pl.col("start") + pl.col("taken")
    stalled = joined.filter(is_taken).with_columns(end=border, cause="stall", confidence="certainty")
    rest = joined.with_columns(start=pl.when(is_taken).then(border).otherwise("start"))
    return _in_order(pl.concat([stalled, rest]))


def _in_order(waits: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    return (
        waits.filter(pl.col("end") > pl.col("start"))
        .select(pl.col(name).cast(dtype) for name, dtype in polars_schema(TABLES["waits"]).items())
        .sort(*_KEY, "start")
    )
