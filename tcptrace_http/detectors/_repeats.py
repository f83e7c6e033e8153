"""Repetition of an unanswered or incomplete request on a new connection."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._host_pairs import PAIR, SERVICE

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

__all__ = ["of_services", "with_repeat"]

#: Maximum time until the repetition. After half a minute the user repeats the request by hand.
REPEAT_MAX_SECONDS: Final = 30
#: Maximum number of frames that a finding lists.
FRAMES_SHOWN: Final = 6


def with_repeat(endings: pl.LazyFrame, tables: Mapping[str, pl.DataFrame]) -> pl.LazyFrame:
    """Return the rows of ``endings`` with ``repeat_time`` and ``repeat_frame``.

    They describe the first equal request on another connection of the two hosts after the close. Without such
    a request they are null.
    """
    import polars as pl

    connections = tables["connections"].lazy().select("flow", *PAIR)
    firsts = (
        tables["first_requests"]
        .lazy()
        .join(connections, on="flow")
        .select(*PAIR, "requested", "request_time", repeat_time="request_time", repeat_frame="request_frame")
        .sort("request_time")
    )
    return (
        endings.with_columns(given_up=pl.max_horizontal("start", "close_time"))
        .sort("given_up")
        .join_asof(
            firsts,
            left_on="given_up",
            right_on="request_time",
            by=[*PAIR, "requested"],
            strategy="forward",
            tolerance=timedelta(seconds=REPEAT_MAX_SECONDS),
            check_sortedness=False,
        )
        .sort("flow")
    )


def of_services(rows: pl.LazyFrame, *, lost: pl.Expr, what: pl.Expr, remedy: pl.Expr) -> pl.LazyFrame:
    """Return one finding per client and server port, about all its rows.

    ``lost`` is null if no packet shows a loss. ``what`` describes the first row.
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
            # Several rows have no common flow and transaction.
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
