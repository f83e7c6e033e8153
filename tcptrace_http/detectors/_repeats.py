"""Whether a request that was not answered, or not whole, was sent again on a new connection."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._host_pairs import PAIR, SERVICE

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

__all__ = ["of_services", "with_repeat"]

#: A user who asks again after half a minute does so of his own accord.
REPEAT_MAX_SECONDS: Final = 30
#: Frames that a finding names; the rest are as many more of the same.
FRAMES_SHOWN: Final = 6


def with_repeat(endings: pl.LazyFrame, tables: Mapping[str, pl.DataFrame]) -> pl.LazyFrame:
    """The rows of ``endings`` with ``repeat_time`` and ``repeat_frame``: the first request on another
    connection of the two hosts that asks for the same after the connection was closed; else null.
    """
    import polars as pl

    connections = tables["connections"].lazy().select("flow", *PAIR)
    firsts = (
        tables["first_requests"]
        .lazy()
        .join(connections, on="flow")
        .select(*PAIR, "asked", "request_time", repeat_time="request_time", repeat_frame="request_frame")
        .sort("request_time")
    )
    return (
        endings.with_columns(given_up=pl.max_horizontal("start", "close_time"))
        .sort("given_up")
        .join_asof(
            firsts,
            left_on="given_up",
            right_on="request_time",
            by=[*PAIR, "asked"],
            strategy="forward",
            tolerance=timedelta(seconds=REPEAT_MAX_SECONDS),
            check_sortedness=False,
        )
        .sort("flow")
    )


def of_services(rows: pl.LazyFrame, *, lost: pl.Expr, what: pl.Expr, remedy: pl.Expr) -> pl.LazyFrame:
    """One finding for each client and port of a server, about all its rows.

    ``lost`` is null where nothing shows it, and ``what`` says in words what happened to the first.
    """
    import polars as pl

    shown = (
        pl.when(pl.col("close_frame") < pl.col("first_frame"))
        .then(pl.format("{} (close) to {} (request)", "close_frame", "first_frame"))
        .otherwise(pl.format("{} (request) to {}", "first_frame", "close_frame"))
        .head(FRAMES_SHOWN)
        .str.join(", ")
    )
    return (
        rows.with_columns(lost=lost, what=what, remedy=remedy)
        .group_by(SERVICE, maintain_order=True)
        .agg(
            times=pl.len(),
            # Several have no one flow and transaction.
            flow=pl.when(pl.len() == 1).then(pl.col("flow").first()),
            transaction=pl.when(pl.len() == 1).then(pl.col("transaction").first()),
            start=pl.col("start").min(),
            first_frame=pl.min_horizontal("first_frame", "close_frame").min(),
            last_frame=pl.max_horizontal("first_frame", "close_frame", "repeat_frame").max(),
            lost=pl.col("lost").sum(),
            repeated=pl.col("repeat_frame").count(),
            elapsed=(pl.coalesce("repeat_time", "close_time") - pl.col("start")).sum(),
            what=pl.col("what").first(),
            remedy=pl.col("remedy").first(),
            shown=shown,
        )
        .with_columns(
            cause=pl.lit(None),
            summary=pl.when(pl.col("times") == 1)
            .then("what")
            .otherwise(pl.format("{}; {} times to {} port {}", "what", "times", "server", "server_port")),
            evidence=pl.format(
                "frames {}{}; {} of {} sent again on a new connection",
                "shown",
                pl.when(pl.col("times") > FRAMES_SHOWN).then(pl.lit(" …")).otherwise(pl.lit("")),
                "repeated",
                "times",
            ),
        )
    )
