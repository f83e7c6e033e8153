"""The server took long before it began to answer.

What it does
------------
Finds responses for which the server worked (or waited for another service) for 20 ms and more before
the first byte. Up to 200 ms that is for information: a page that is made anew each time takes as long.

Why it is bad
-------------
No network setting makes up for it: the connection is idle, and on HTTP/1.1 the next request on it waits.

Evidence
--------
The request's last byte and the response's first, less the path's round trip: the wait ``server.think``,
which holds no loss, no stall of the sender and no response before it on the connection, less what the
first packet stood in a queue. What was lost
is what it took over what a server may take (10 ms: a disk's seek).

Fix
---
Look at the application with these requests: slow queries, missing indexes, calls one after the other to
other services, cold caches, full worker pools (``listen`` queue, ``pm.max_children``, ``MaxRequestWorkers``).
Cache what can be cached (nginx ``proxy_cache``, ``fastcgi_cache``); send the head early (103 Early Hints).

Reference
---------
web.dev, Time to First Byte; P. Barford and M. Crovella, Critical Path Analysis of TCP Transactions,
SIGCOMM 2000; J. Dean, Numbers Everyone Should Know, 2009.
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

#: What a server has at hand it sends within a millisecond, and from a disk within ten; hosts that are
#: busy take as long again to get to run.
THINK_MIN: Final = timedelta(milliseconds=20)
#: A seek of a disk (J. Dean's numbers): no server need be faster.
ALLOWED: Final = timedelta(milliseconds=10)
#: A quarter of what web.dev calls a good time to first byte (800 ms), which has set-up and path in it:
#: less is for information.
ERROR_THINK_MIN: Final = timedelta(milliseconds=200)
#: A larger request leaves in several flights, and its end may stand in a queue where it is not seen: ten
#: segments (RFC 6928). Near the server it is seen.
REQUEST_BYTES_MAX: Final = 14_600
#: Where the wait may be another, nothing is told.
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
    """Responses that the server was slow to begin; see :class:`Detector`."""
    import polars as pl

    key = ["flow", "transaction"]
    waits = tables["waits"].lazy()
    transactions = (
        tables["transactions"]
        .lazy()
        # Several requests under TLS, each with a time of its own that cannot be told.
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
