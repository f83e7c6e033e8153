"""Common part of the detectors of silences without an end: incomplete transactions.

The waits give the start and the reason of the silence. The flows say which end closed the connection.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._recoveries import ms

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

__all__ = ["ROUND_TRIPS_MIN", "SILENCE_MIN", "unfinished"]

#: Minimum silence. A capture that ends milliseconds after a request shows no fault. One second is the initial
#: timeout (RFC 6298, section 2.1). Four round trips are two timeouts of a longer path.
SILENCE_MIN: Final = timedelta(seconds=1)
ROUND_TRIPS_MIN: Final = 4
_KEY: Final = ("flow", "transaction")


def unfinished(
    tables: Mapping[str, pl.DataFrame],
    causes: Sequence[str],
    *,
    silence_min: timedelta,
    round_trips_min: int = ROUND_TRIPS_MIN,
) -> pl.LazyFrame:
    """Return one row per transaction that waited for one of ``causes`` until its end, for at least
    ``silence_min``.

    The wait also takes at least ``round_trips_min`` round trips. ``request`` names the request in words, and
    ``until`` the end of its wait. ``round_trip`` may be null.
    """
    import polars as pl

    round_trip = pl.max_horizontal("initial_rtt", pl.col("server_path_rtt") + pl.col("client_path_rtt"))
    flows = (
        tables["flows"]
        .lazy()
        .select("flow", "closed_by", "close_time", "close_frame", "server_port", round_trip=round_trip)
    )
    transactions = (
        tables["transactions"]
        .lazy()
        .select(
            *("flow", "method", "target", "status", "request_last_frame", "response_wire_bytes"),
            transaction="index",
            path=pl.col("target").str.split("?").list.first(),
            request=pl.format(
                "{} {}", pl.col("method").fill_null("a request"), pl.col("target").fill_null("").str.head(80)
            ).str.strip_chars_end(),
        )
    )
    no_time = pl.duration(nanoseconds=0)
    return (
        tables["waits"]
        .lazy()
        .filter(pl.col("cause").cast(pl.String).is_in(causes))
        .group_by(_KEY, maintain_order=True)
        .agg(
            *(pl.col(name).last() for name in ("start", "end", "first_frame", "last_frame", "confidence")),
            *(pl.col(name).last() for name in ("direction", "offset", "bytes")),
            cause=pl.col("cause").cast(pl.String).last(),
        )
        .with_columns(lost=pl.col("end") - pl.col("start"))
        .join(flows, on="flow", how="left", maintain_order="left")
        .join(transactions, on=_KEY, how="left", maintain_order="left")
        .filter(
            pl.col("lost") >= silence_min,
            pl.col("lost") >= round_trips_min * pl.col("round_trip").fill_null(no_time),
        )
        .with_columns(
            until=_until(),
            severity=pl.lit("error"),
            is_of_request=pl.col("direction").cast(pl.String) == "client_to_server",
            silence=ms("lost"),
        )
    )


def _until() -> pl.Expr:
    """Return the end of the wait, in words."""
    import polars as pl

    by = pl.col("closed_by").cast(pl.String)
    ways = {
        "client": "until the client closed the connection in frame {}: it gave up",
        "client_reset": "until the client reset the connection in frame {}: it gave up",
        "server": "until the server closed the connection in frame {}",
        "server_reset": "until the server reset the connection in frame {}",
    }
    words: pl.Expr = pl.lit("until the connection or the capture ended")
    for way, text in ways.items():
        is_it = (by == way) & (pl.col("close_time") == pl.col("end"))
        words = pl.when(is_it).then(pl.format(text, "close_frame")).otherwise(words)
    return words
