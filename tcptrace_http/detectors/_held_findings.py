"""What a hold is told as: the texts of the Nagle detectors, and what to change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tcptrace_http.detectors._hold_owner import FROM_CLIENT

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

__all__ = ["held_findings"]


def held_findings(
    holds: pl.LazyFrame,
    *,
    what: str,
    remedy: str,
    remedies: Mapping[str, str] | None = None,
    remedy_of_requests: str = "",
) -> pl.LazyFrame:
    """Findings of holds. ``what`` has places for the segment that was waited for and its frame;
    ``remedies`` maps a pattern of the Server field to what to change in that server, and
    ``remedy_of_requests`` is for data that the client held.
    """
    import polars as pl

    def ms(name: str) -> pl.Expr:
        return (pl.col(name).dt.total_nanoseconds() / 1e6).round(3)

    waited_bytes = pl.coalesce("short_bytes", "previous_bytes")
    # Nagle's first algorithm (RFC 896) holds behind whatever is unacknowledged.
    kind = pl.when(waited_bytes % pl.col("segment_bytes") == 0).then(pl.lit("full")).otherwise(pl.lit("short"))
    waited_for = (
        pl.format("{} segment of {} bytes", kind, waited_bytes),
        pl.coalesce("short_frame", "previous_frame"),
    )
    is_request = pl.col("direction") == FROM_CLIENT
    receiver = pl.when(is_request).then(pl.lit("server")).otherwise(pl.lit("client"))
    how = (
        pl.when(pl.col("cause") == "stall.nagle_delayed_ack")
        .then(pl.format("whose ACK the {} delayed by {} ms", receiver, ms("ack_delay")))
        .otherwise(pl.lit("whose ACK took an ordinary round trip"))
    )
    specific = pl.coalesce(
        *(
            pl.when(pl.col("server_software").str.contains(pattern)).then(pl.lit(f"{text}. "))
            for pattern, text in (remedies or {}).items()
        ),
        pl.lit(""),
    )
    return holds.with_columns(
        summary=pl.format(
            f"{what} {{}}; {{}} bytes were held for {{}} ms",
            *waited_for,
            how,
            pl.col("released_bytes"),
            ms("lost"),
        ),
        evidence=pl.format(
            "frame {} ({} bytes), ACK in frame {}, then frame {} ({} bytes) {} ms after it, less the path",
            "previous_frame",
            "previous_bytes",
            "ack_frame",
            "released_frame",
            "released_bytes",
            ms("ack_to_release"),
        ),
        remedy=pl.when(is_request)
        .then(pl.lit(remedy_of_requests))
        .otherwise(pl.format("{}{}", specific, pl.lit(remedy))),
    )
