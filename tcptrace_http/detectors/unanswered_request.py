"""A request has no response, or an incomplete one.

What it does
------------
Finds requests that the server acknowledged but did not answer, and messages that stopped before their end.
The silence lasts at least one second and four round trips. It ends when the client gives up, the server
closes the connection, or the capture ends. A connection that the server closes before its first answer is
reported after any time.

Why it is bad
-------------
The client has nothing to show and waits for its own timeout, by default at least one minute. The connection
and a server worker stay occupied until then.

Evidence
--------
The request's last byte, the server's ACK, and the absence of any response byte behind it. Lost is the time
from that ACK to the end. Event streams (``text/event-stream``), tunnels and idle connections between requests
are left out. Paths with an earlier answer after more than half of that time (long polling) are left out.
Shorter silences at the end of the capture are left out, too.

Fix
---
Find the reason for the server's wait: a lock, a dead back end, a full worker pool, an unread request body.
Bound that wait (nginx ``proxy_read_timeout``, ``fastcgi_read_timeout``, PHP ``request_terminate_timeout``),
answer 503 or 504 after it, and give the client its own timeout.

Reference
---------
RFC 9110, sections 15.6.4 and 15.6.5; RFC 9112, section 9.5; J. Zhou et al., Demystifying and Mitigating TCP
Stalls at the Server Side, CoNEXT 2015 (data unavailable).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._recoveries import ms
from tcptrace_http.detectors._unfinished import SILENCE_MIN, unfinished

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import timedelta

    import polars as pl

__all__ = ["NEEDS", "READS", "find"]

READS: Final = ("waits",)
NEEDS: Final = ("both_directions", "no_gaps", "whole_payload")

UNFINISHED: Final = ("unfinished.unanswered", "unfinished.stopped")
#: Factor between the silence and the usual answer time of a path. A smaller factor allows a late answer.
POLL_SHARE: Final = 2
REMEDY: Final = (
    "find the reason for the server's wait (a lock, a dead back end, a full worker pool) and bound it (nginx"
    " proxy_read_timeout, fastcgi_read_timeout; PHP request_terminate_timeout); give the client a timeout"
)
CLOSED_REMEDY: Final = (
    "read the server's error log of that moment (a worker that crashed, return 444, a filter of requests),"
    " and check the devices in between: a proxy without a back end also resets"
)


def find(tables: Mapping[str, pl.DataFrame], *, silence_min: timedelta = SILENCE_MIN) -> pl.LazyFrame:
    """Return the requests without a response or with an incomplete one; see :class:`Detector`."""
    import polars as pl

    rows = unfinished(tables, UNFINISHED, silence_min=silence_min).join(
        _answered(tables), on=["flow", "path"], how="left", maintain_order="left"
    )
    is_polled = pl.col("lost") < POLL_SHARE * pl.col("usual")
    is_stopped = pl.col("cause") == "unfinished.stopped"
    silent = rows.filter(~is_polled.fill_null(value=False)).with_columns(
        summary=pl.when(is_stopped & pl.col("is_of_request"))
        .then(pl.format("the client stopped inside {}: nothing more for {} ms, {}", "request", "silence", "until"))
        .when(is_stopped)
        .then(
            pl.format(
                "the response to {} stopped after {} bytes: nothing more for {} ms, {}",
                "request",
                pl.coalesce("response_wire_bytes", "offset", pl.lit(0)),
                "silence",
                "until",
            )
        )
        .otherwise(pl.format("{} was not answered for {} ms, {}", "request", "silence", "until")),
        evidence=pl.format(
            "nothing came after frame {}; round trip {} ms",
            "first_frame",
            pl.coalesce(ms("round_trip").cast(pl.String), pl.lit("unknown")),
        ),
        remedy=pl.lit(REMEDY),
    )
    columns = ("flow", "transaction", "first_frame", "last_frame", "start", "lost", "confidence", "cause")
    told = (*columns, "severity", "summary", "evidence", "remedy")
    return pl.concat([silent.select(told), _closed(tables, silent).select(told)], how="vertical_relaxed")


def _answered(tables: Mapping[str, pl.DataFrame]) -> pl.LazyFrame:
    """Return the server's usual answer time for each answered path of a flow."""
    import polars as pl

    return (
        tables["transactions"]
        .lazy()
        .filter(pl.col("response_last_time").is_not_null())
        .group_by("flow", path=pl.col("target").str.split("?").list.first())
        .agg(usual=(pl.col("response_first_time") - pl.col("request_last_time")).max())
    )


def _closed(tables: Mapping[str, pl.DataFrame], silent: pl.LazyFrame) -> pl.LazyFrame:
    """Return the connections that their server closed before its answer to the first request."""
    import polars as pl

    key = ["flow", "transaction"]
    return (
        tables["endings"]
        .lazy()
        .filter(
            pl.col("kind").cast(pl.String) == "unanswered",
            pl.col("answered") == 0,
            ~pl.col("pipelined"),
            ~pl.col("by_client"),
        )
        .join(silent.select(key), on=key, how="anti")
        .with_columns(
            last_frame="close_frame",
            lost=pl.col("close_time") - pl.col("start"),
            confidence=pl.lit(0.95),
            cause=pl.lit(None, pl.String),
            severity=pl.lit("error"),
        )
        .with_columns(
            summary=pl.format(
                "the server {} the connection {} ms after {} {}, which it had not answered",
                pl.when(pl.col("reset_frame") == pl.col("close_frame"))
                .then(pl.lit("reset"))
                .otherwise(pl.lit("closed")),
                ms("lost"),
                pl.col("method").fill_null("a request"),
                pl.col("target").fill_null("").str.head(80),
            ),
            evidence=pl.format("request in frame {}, its close in frame {}", "first_frame", "close_frame"),
            remedy=pl.lit(CLOSED_REMEDY),
        )
    )
