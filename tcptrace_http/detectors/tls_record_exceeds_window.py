"""The first TLS record of a response exceeds the window: the client waits one round trip for its first usable
byte.

What it does
------------
Finds TLS responses whose first record exceeds the server's window. The end of the record waited for an ACK.

Why it is bad
-------------
A receiver decrypts only whole records (RFC 8446, section 5.2). The initial window of a new connection is ten
segments, about 14 kB, and a record has up to 16 kB. The first usable byte comes one round trip after the
first byte. A browser finds the links of a page only then. Smaller first records would not shorten the
response itself.

Evidence
--------
The waits ``send_limited.slow_start`` of segments that lie in the first record; the bytes of that record, and
its bytes before the first of these waits. No key is necessary. No time is claimed: lost is 0 and the severity
info. The summary gives the delay of the first usable byte.

Fix
---
Use smaller records at the start of a response: nginx ``ssl_buffer_size 4k``; HAProxy ``tune.ssl.maxrecord
1400`` (and again after ``tune.idletimer``); a server with dynamic record sizes, such as Go's crypto/tls.
Small records throughout a response cost CPU time and bytes. Linux: ``ip route change … initcwnd 20`` on the
server.

Reference
---------
RFC 8446, sections 5.1 and 5.2; RFC 6928, section 2; https://github.com/igrigorik/istlsfastyet.com/issues/190;
https://github.com/golang/go/issues/14376; https://github.com/h2o/h2o/pull/2780.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._recoveries import ms
from tcptrace_http.detectors._tls import LOST_MIN

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import timedelta

    import polars as pl

__all__ = ["CAUSES", "NEEDS", "READS", "find"]

READS: Final = ("waits",)
CAUSES: Final = ("send_limited.slow_start",)
NEEDS: Final = ("both_directions", "no_gaps", "pure_acks")

REMEDY: Final = (
    "Let a response begin with smaller TLS records (nginx ssl_buffer_size 4k, HAProxy tune.ssl.maxrecord); or"
    " Linux: ip route change … initcwnd 20 on the server"
)


def find(tables: Mapping[str, pl.DataFrame], *, late_min: timedelta = LOST_MIN) -> pl.LazyFrame:
    """Return the responses whose first record waited for a window; see :class:`Detector`."""
    import polars as pl

    records = (
        tables["transactions"]
        .lazy()
        .filter(pl.col("first_record_time").is_not_null())
        .select("flow", "first_record_time", "first_record_bytes", "response_first_frame", transaction="index")
    )
    # The first segment of a response waits for the server, whichever ACK came.
    is_within = (pl.col("offset") > 0) & (pl.col("offset") < pl.col("first_record_bytes"))
    return (
        tables["waits"]
        .lazy()
        .filter(
            pl.col("cause").cast(pl.String).is_in(CAUSES),
            pl.col("direction").cast(pl.String) == "server_to_client",
        )
        .join(records, on=["flow", "transaction"], how="inner", maintain_order="left")
        .filter(is_within)
        .group_by("flow", "transaction", maintain_order=True)
        .agg(
            pl.col("start").first(),
            pl.col("first_record_bytes", "response_first_frame").first(),
            pl.col("last_frame").last(),
            late=(pl.col("end") - pl.col("start")).sum(),
            before_bytes=pl.col("offset").min(),
        )
        .filter(pl.col("late") >= late_min)
        .with_columns(
            lost=pl.lit(0).cast(pl.Duration("ns")),
            severity=pl.lit("info"),
            cause=pl.lit(None, pl.String),
            first_frame="response_first_frame",
            confidence=pl.lit(0.9),
            summary=pl.format(
                "the first TLS record of the response has {} bytes and the server's window held {} of them: the"
                " client could use the first byte {} ms later",
                "first_record_bytes",
                "before_bytes",
                ms("late"),
            ),
            evidence=pl.format(
                "the response begins in frame {}; its first record continues in frame {}, behind an ACK",
                "response_first_frame",
                "last_frame",
            ),
            remedy=pl.lit(REMEDY),
        )
    )
