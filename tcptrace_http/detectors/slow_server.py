"""The server was slow to begin its response.

What it does
------------
Finds responses with at least 20 ms of server time before the first byte (work, or a wait for another
service). Up to 200 ms the finding is for information: a dynamic page takes that long.

Why it is bad
-------------
No network setting compensates for this time. The connection is idle, and on HTTP/1.1 its next request waits.

Evidence
--------
The time from the request's last byte to the response's first byte, less the path's round trip: the wait
``server.think``. That wait contains no loss, no sender stall and no earlier response on the connection. The
queueing delay of the first packet is subtracted. Lost is the server's time above the allowed 10 ms (a disk
seek).

Fix
---
Check the application with these requests: slow queries, missing indexes, serial calls to other services, cold
caches, full worker pools (``listen`` queue, ``pm.max_children``, ``MaxRequestWorkers``). Cache what can be
cached (nginx ``proxy_cache``, ``fastcgi_cache``); send the head early (103 Early Hints).

Reference
---------
web.dev, Time to First Byte; P. Barford and M. Crovella, Critical Path Analysis of TCP Transactions, SIGCOMM
2000; J. Dean, Numbers Everyone Should Know, 2009.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._recoveries import ms

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

__all__ = ["CAUSES", "NEEDS", "READS", "find"]

READS: Final = ("waits",)
CAUSES: Final = ("server.think",)
NEEDS: Final = ("both_directions", "whole_payload", "acks_of_server")

#: Minimum server time. A server sends cached data within one millisecond and disk data within ten. Scheduling
#: on a busy host may double that time.
THINK_MIN: Final = timedelta(milliseconds=20)
#: Allowed server time: a disk seek (J. Dean's numbers).
ALLOWED: Final = timedelta(milliseconds=10)
#: Minimum server time beyond severity ``info``: a quarter of web.dev's good time to first byte (800 ms),
#: which includes connection setup and path.
ERROR_THINK_MIN: Final = timedelta(milliseconds=200)
#: Maximum request size, ten segments (RFC 6928). A larger request leaves in several flights, and its end may
#: wait in an invisible queue. Near the server the end is visible.
REQUEST_BYTES_MAX: Final = 14_600
#: Minimum confidence of the wait for a finding.
CONFIDENCE_MIN: Final = 0.5
REMEDY: Final = (
    "profile the application for these requests (slow queries, calls to other services, cold caches, full"
    " worker pools: pm.max_children, MaxRequestWorkers); cache (proxy_cache, fastcgi_cache)"
)


def find(
    tables: Mapping[str, pl.DataFrame],
    *,
    think_min: timedelta = THINK_MIN,
    allowed: timedelta = ALLOWED,
) -> pl.LazyFrame:
    """Return the responses with a slow start by the server; see :class:`Detector`."""
    import polars as pl

    key = ["flow", "transaction"]
    waits = tables["waits"].lazy()
    transactions = (
        tables["transactions"]
        .lazy()
        # Several requests in one TLS group have no individual times.
        .filter(~pl.col("is_group"))
        .select(
            "flow",
            "method",
            "target",
            "status",
            "response_first_frame",
            "request_last_frame",
            transaction=pl.col("index"),
            request_bytes=pl.col("request_header_bytes").fill_null(0) + pl.col("request_body_bytes"),
        )
    )
    flows = tables["flows"].lazy().select("flow", "observation_point")
    is_near = pl.col("observation_point").cast(pl.String) == "server"
    is_seen = is_near | (pl.col("request_bytes") <= REQUEST_BYTES_MAX)
    queues = tables["queues"].lazy().select(*key, "first_delay", response_first_frame=pl.col("first_frame"))
    thinks = (
        waits.filter(pl.col("cause").cast(pl.String).is_in(CAUSES))
        .group_by(key, maintain_order=True)
        .agg(
            pl.col("start").first(),
            pl.col("confidence").min(),
            think=(pl.col("end") - pl.col("start")).sum(),
        )
        .join(transactions, on=key, how="inner", maintain_order="left")
        .join(queues, on=[*key, "response_first_frame"], how="left", maintain_order="left")
        .with_columns(think=pl.col("think") - pl.col("first_delay").fill_null(pl.duration(nanoseconds=0)))
    )
    return (
        thinks.with_columns(lost=pl.col("think") - pl.lit(allowed).cast(pl.Duration("ns")))
        .join(flows, on="flow", how="left", maintain_order="left")
        .filter(pl.col("think") >= think_min, pl.col("confidence") >= CONFIDENCE_MIN, is_seen)
        .with_columns(
            first_frame="request_last_frame",
            last_frame="response_first_frame",
            cause=pl.lit("server.think"),
            severity=pl.when(pl.col("think") < ERROR_THINK_MIN).then(pl.lit("info")),
            summary=pl.format(
                "the server took {} ms before it began to answer {} {}",
                ms("think"),
                pl.col("method").fill_null("a request"),
                pl.col("target").fill_null(""),
            ).str.strip_chars_end(),
            evidence=pl.format(
                "request complete in frame {}, response begins in frame {} with status {}",
                "request_last_frame",
                "response_first_frame",
                pl.coalesce(pl.col("status").cast(pl.String), pl.lit("unknown")),
            ),
            remedy=pl.lit(REMEDY),
        )
    )
