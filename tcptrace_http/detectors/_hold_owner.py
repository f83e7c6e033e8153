"""To which of the Nagle detectors a hold belongs, by where in its message it happened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import polars as pl

__all__ = ["FROM_CLIENT", "owner", "whole_segments"]

FROM_CLIENT: Final = "client_to_server"
#: Options that a segment may carry beyond those of the handshake: timestamps (RFC 7323, appendix A).
OPTIONS_BYTES: Final = 12
#: On a long path with many ACKs one of them is always near. In the middle of a message a hold without a
#: delayed ACK must last this share of the round trip that it is.
MIDDLE_RTT_SHARE_MIN: Final = 0.5


def whole_segments(outstanding: pl.Expr) -> pl.Expr:
    """The least window that lets so much be outstanding."""
    import polars as pl

    full = pl.col("segment_bytes").cast(pl.Int64)
    return -(-outstanding // full) * full


def owner() -> pl.Expr:
    """The one detector whose finding a hold is, by where in its message it happened; null for none."""
    import polars as pl

    released_is_short = pl.col("released_bytes") % pl.col("segment_bytes") != 0
    is_response = pl.col("direction") != FROM_CLIENT
    # What was outstanding reaches back to the message's first segment; that is full if the newest short one that
    # was outstanding ends before the message, which then begins within it.
    ends_before = pl.col("short_offset") + pl.col("short_bytes") <= 0
    waits_for_opening = (pl.col("short_offset") <= 0) | (pl.col("outstanding_bytes") >= pl.col("released_offset"))
    opens_short = (
        pl.col("short_frame").is_not_null()
        & waits_for_opening
        & ~ends_before
        & (pl.col("opening_bytes") < pl.col("segment_bytes"))
    ).fill_null(value=False)
    # What lacks no more than its options take is full (RFC 9293, section 3.7.1), and lets what follows go.
    opens_full = pl.col("opening_bytes") + OPTIONS_BYTES >= pl.col("segment_bytes")
    carries_head_alone = pl.col("opening_bytes") <= pl.col("head_bytes")
    is_opening = ((pl.col("short_offset") <= 0) & ~ends_before).fill_null(value=False)
    opens_with_head_alone = is_opening & carries_head_alone
    # A first flight that is held is the smallest window there is, not Nagle's algorithm; and a full
    # segment is never Nagle's to hold.
    waits_for_full = pl.col("short_frame").is_null()
    # Who has closed waits for nothing more to fill the last segment (RFC 9293, section 3.9.1: CLOSE pushes).
    was_pushed = waits_for_full & pl.col("released_has_fin")
    shown = whole_segments(pl.col("outstanding_bytes").cast(pl.Int64))
    fills_window = waits_for_full & (pl.col("largest_flight_bytes").cast(pl.Int64) <= shown)
    had_window_of_one = (waits_for_full & ~released_is_short) | fills_window
    is_first_alone = (pl.col("outstanding_segments") == 1) & (
        pl.col("released_offset") <= pl.col("previous_bytes")
    )
    is_stall = pl.col("cause") == "stall.nagle_delayed_ack"
    rtt = pl.col("server_path_rtt").dt.total_nanoseconds().fill_null(0) + pl.col(
        "client_path_rtt"
    ).dt.total_nanoseconds().fill_null(0)
    # What the window held first is no part of the loss, but of the round trip.
    waited = pl.col("released_time") - pl.col("previous_time")
    takes_round_trip = waited.dt.total_nanoseconds() >= rtt * MIDDLE_RTT_SHARE_MIN
    return (
        pl.when(had_window_of_one & is_stall & is_first_alone)
        .then(pl.lit("delayed-ack-first-segment"))
        .when(had_window_of_one | was_pushed | (is_response & opens_short & opens_full & ~is_stall))
        .then(None)
        .when(is_response & opens_short & (carries_head_alone | ~pl.col("ends_message")))
        .then(pl.lit("short-initial-segment"))
        .when(
            is_response
            & pl.col("ends_message")
            & released_is_short
            & ~opens_with_head_alone
            & (is_stall | pl.col("short_frame").is_not_null())
        )
        .then(pl.lit("odd-short-final-segment"))
        # A full segment that a window had no room for behind a short one waited for the same delayed ACK: of two
        # full ones it would have come at once.
        .when(is_stall)
        .then(pl.lit("nagle-delayed-ack"))
        .when(takes_round_trip & released_is_short)
        .then(pl.lit("nagle-hold"))
    )
