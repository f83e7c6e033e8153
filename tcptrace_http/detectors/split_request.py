"""A request came in several packets, and the server waited for the rest.

What it does
------------
Finds requests whose head exceeded the client's initial window and took one more round trip. Finds requests
with an application pause inside the head or before the body. Also finds connections with requests in more
segments than necessary. The detectors nagle-delayed-ack and nagle-hold cover requests held by Nagle's
algorithm. A body that waits for 100 (Continue) is no split.

Why it is bad
-------------
A server begins once the request is complete. A late rest delays every response by its round trip or pause;
cookies above 14 KB do so on every connection. Pieces without a pause cost one packet, and a stall with
Nagle's algorithm.

Evidence
--------
The two segments around the pause, and the end of the pause. Full segments before a pause of one round trip
show a full window. A pause that no ACK ended is the application's. Lost is that pause. Pieces without a pause
cost nothing and are for information (info).

Fix
---
Keep the request in one write and below the initial window (10 segments, 14 KB): smaller cookies and Referer,
``POST`` for long queries; one writev for head and body. Linux: ``ip route change ... initcwnd``.

Reference
---------
RFC 6928; RFC 896; RFC 9110, section 10.1.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._holds import FROM_CLIENT, LOST_MIN
from tcptrace_http.detectors._wording import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

__all__ = ["NEEDS", "READS", "find"]

READS: Final = ("segmentation",)
NEEDS: Final = ("both_directions", "no_gaps", "whole_payload")

#: Minimum pause. A shorter pause is a busy host (measured: 5.5 ms between two consecutive writes).
PAUSE_MIN_NS: Final = 10_000_000
#: Minimum pause of a full window as a share of the round trip, and minimum round trip for that judgement.
WINDOW_RTT_SHARE_MIN: Final = 0.5
RTT_MIN_NS: Final = 4_000_000
#: Maximum fill of the last segment of a write, as a share of a full one. TCP cuts near the end of a full
#: segment; the data behind such a cut was late on the path.
WRITE_SHARE_MAX: Final = 0.8
#: Minimum window in segments (RFC 5681, section 3.1).
WINDOW_SEGMENTS_MIN: Final = 2
#: Maximum time, and share of the round trip, between an ACK and the data that it may have released.
RELEASE_MAX_NS: Final = 6_000_000
RELEASE_RTT_SHARE: Final = 0.1
#: Minimum number of split requests on one connection.
PIECES_MIN: Final = 2

REMEDY: Final = (
    "Send the request in one write and below the initial window of 10 segments: smaller cookies, head and body"
    " in one writev"
)


def find(tables: Mapping[str, pl.DataFrame], *, pieces_min: int = PIECES_MIN) -> pl.LazyFrame:
    """Return the requests that came in pieces; see :class:`Detector`."""
    import polars as pl

    split = _split(tables)
    cost = split.filter(pl.col("is_window") | pl.col("is_pause"))
    told = split.filter(pl.col("is_window") | pl.col("is_pause") | pl.col("is_held")).select("flow").unique()
    in_pieces = split.filter(pl.col("unfilled_segments") > 0, pl.col("extra_segments") > 0)
    habit = (
        in_pieces.join(told, on="flow", how="anti", maintain_order="left")
        .group_by("flow", maintain_order=True)
        .agg(
            requests=pl.len(),
            first_frame=pl.col("first_frame").min(),
            last_frame=pl.col("first_frame").max(),
            start=pl.col("first_time").min(),
            segments=pl.col("segments").median().cast(pl.Int64),
            needed=(pl.col("segments") - pl.col("extra_segments")).median().cast(pl.Int64),
        )
        .filter(pl.col("requests") >= pieces_min)
    )
    return pl.concat([_costing(cost), _structure(habit)], how="diagonal")


def _split(tables: Mapping[str, pl.DataFrame]) -> pl.LazyFrame:
    """Return the requests in several segments, with the possible ends of their pause."""
    import polars as pl

    def ns(name: str) -> pl.Expr:
        return pl.col(name).dt.total_nanoseconds().fill_null(0)

    flows = tables["flows"].lazy().select("flow", "server_path_rtt", "client_path_rtt")
    awaits_continue = (pl.col("expects_continue") | (pl.col("interim_responses") > 0)).alias("awaits_continue")
    # Under TLS several unanswered application messages in a row are no request.
    requested = (
        tables["transactions"]
        .lazy()
        .filter(pl.col("protocol") == "http")
        .select("flow", "response_first_time", pl.col("index").alias("transaction"), awaits_continue)
    )
    # The server answered before the end of the request (RFC 9112, section 9.5): the response did not wait.
    is_early = pl.col("response_first_time") < pl.col("pause_start") + pl.col("pause")
    rtt = ns("server_path_rtt") + ns("client_path_rtt")
    full = pl.col("segment_bytes").cast(pl.UInt64)
    # Data behind the head is an upload, which needs its transfer time.
    is_of_head = (pl.col("pause_offset") <= pl.col("head_bytes")).fill_null(value=False)
    ends_write = (pl.col("pause_offset") < WRITE_SHARE_MAX * full).fill_null(value=False)
    is_window = (
        (pl.col("pause_offset") < pl.col("head_bytes"))
        & (pl.col("pause_offset") % full == 0)
        & (pl.col("pause_segments_before") >= WINDOW_SEGMENTS_MIN)
        & (ns("pause") >= WINDOW_RTT_SHARE_MIN * rtt)
        & (rtt >= RTT_MIN_NS)
    )
    follows_ack = pl.col("pause_since_ack").is_not_null() & (
        ns("pause_since_ack").abs() <= pl.max_horizontal(RELEASE_MAX_NS, rtt * RELEASE_RTT_SHARE)
    )
    return (
        tables["segmentation"]
        .lazy()
        .filter(pl.col("direction") == FROM_CLIENT)
        .join(flows, on="flow", how="left", maintain_order="left")
        .join(requested, on=["flow", "transaction"], how="inner", maintain_order="left")
        .filter(~pl.col("awaits_continue").fill_null(value=False), ~is_early.fill_null(value=False))
        .with_columns(
            is_window=is_window.fill_null(value=False),
            is_held=follows_ack & (pl.col("pause") >= LOST_MIN),
            is_pause=is_of_head & ends_write & (ns("pause") >= PAUSE_MIN_NS) & ~follows_ack,
            extra_segments=pl.col("segments").cast(pl.Int64)
            - ((pl.col("message_bytes") + full - 1) // full).cast(pl.Int64),
        )
    )


def _costing(cost: pl.LazyFrame) -> pl.LazyFrame:
    import polars as pl

    is_window = pl.col("is_window")
    why = (
        pl.when(is_window)
        .then(
            pl.format(
                "its head of {} bytes exceeds the {} that the client could send at once",
                "head_bytes",
                counted("pause_segments_before", "segment"),
            )
        )
        .otherwise(pl.lit("the client's application paused"))
    )
    return cost.select(
        "flow",
        "transaction",
        cause=pl.when(is_window).then(pl.lit("send_limited.slow_start")).otherwise(pl.lit("client.think")),
        start=pl.col("pause_start"),
        lost=pl.col("pause"),
        first_frame=pl.col("pause_previous_frame"),
        last_frame=pl.col("pause_released_frame"),
        confidence=pl.when(is_window).then(0.85).otherwise(0.75),
        summary=pl.format(
            "the request came in {} segments with {} ms between two of them: {}",
            "segments",
            (pl.col("pause").dt.total_nanoseconds() / 1e6).round(1),
            why,
        ),
        evidence=pl.format(
            "frame {}, then frame {} ({} bytes, from byte {} of the request on)",
            "pause_previous_frame",
            "pause_released_frame",
            "pause_released_bytes",
            "pause_offset",
        ),
        remedy=pl.lit(REMEDY),
    )


def _structure(habit: pl.LazyFrame) -> pl.LazyFrame:
    import polars as pl

    return habit.select(
        "flow",
        "start",
        "first_frame",
        "last_frame",
        lost=pl.lit(0).cast(pl.Duration("ns")),
        confidence=pl.lit(0.9),
        severity=pl.lit("info"),
        summary=pl.format(
            "{} came in {} segments each, where {} suffice: no time was lost here, but Nagle's algorithm"
            " would cost time",
            counted("requests", "request"),
            "segments",
            "needed",
        ),
        evidence=pl.format("the first starts in frame {}, the last in frame {}", "first_frame", "last_frame"),
        remedy=pl.lit(REMEDY),
    )
