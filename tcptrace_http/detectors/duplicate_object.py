"""The same body was fetched more than once, under several URLs or without a validator.

What it does
------------
Finds bodies that one client fetched under more than one URL. Also finds URLs whose unchanged body it fetched
again because no response had a validator.

Why it is bad
-------------
Caches find objects by URL and revalidate them with validators. The same bytes must be sent again under
another URL: a session or cache-buster in the query, two host names, a missing canonical path. They must also
be sent again without ETag and Last-Modified.

Evidence
--------
The digests (XXH3) and lengths of whole bodies after removal of the framing. Under several URLs, the first
fetch was complete before the later request. Lost is the time from the first to the last byte of the later
responses, without stalls: the requests may still be necessary. There is one finding per body (or URL) and
client. Bodies of one segment and bodies under no-store are left out. The repeats together must exceed the
initial window or cost time.

Fix
---
Use one URL per object: serve the object from one host and path, put versions in the path, and no session in
the query. Send ETag or Last-Modified (nginx ``etag on``, Apache ``FileETag``, an ``ETag`` middleware such as
Django's ConditionalGetMiddleware or Express' ``etag``).

Reference
---------
RFC 9111, section 2 (cache key) and 4.3; RFC 9110, section 8.8; J. C. Mogul and others, Potential benefits of
delta encoding and data compression for HTTP, 1997.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._detector import FLAWS
from tcptrace_http.detectors._objects import (
    BODIES,
    REDUNDANT_BYTES_MIN,
    REDUNDANT_TIME_MIN,
    kilobytes,
    milliseconds,
    of_several,
    severity,
    shown,
)
from tcptrace_http.detectors._wording import times

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import timedelta

    import polars as pl

__all__ = ["GATHERS", "NEEDS", "READS", "SCOPE", "find"]

SCOPE: Final = "capture"
READS: Final = ("bodies",)
NEEDS: Final = ("both_directions", "no_gaps", "whole_payload")
GATHERS: Final = (BODIES, FLAWS)

ONE_URL: Final = (
    "Serve the object under one URL, and link to that: no session or cache-buster in the query, one host, one path"
)
VALIDATOR: Final = (
    "Send a validator, ETag or Last-Modified (nginx etag on, Apache FileETag, Django ConditionalGetMiddleware),"
    " and Cache-Control: max-age"
)


def find(
    tables: Mapping[str, pl.DataFrame],
    *,
    redundant_bytes_min: int = REDUNDANT_BYTES_MIN,
    redundant_time_min: timedelta = REDUNDANT_TIME_MIN,
) -> pl.LazyFrame:
    """Return the bodies that were fetched under several URLs or without a validator; see :class:`Detector`."""
    import polars as pl

    is_same = pl.col("is_unchanged").fill_null(value=False)
    may_store = ~pl.col("previous_no_store")
    bodies = (
        tables["bodies"]
        .lazy()
        .with_columns(
            lost=pl.col("transfer"),
            elapsed=pl.col("response_last_time") - pl.col("request_time"),
            url=shown("host", "target"),
        )
    )
    twins = of_several(
        bodies.filter(pl.col("twin_url").is_not_null(), ~is_same),
        ("client", "body_digest", "body_bytes"),
        frames=("twin_frame", "response_last_frame"),
        extra=_told("twin_url"),
    ).with_columns(
        how=pl.format("{} under {}", shown("first_url"), pl.col("urls").list.head(3).list.join(", ")),
        remedy=pl.lit(ONE_URL),
    )
    unvalidated = of_several(
        bodies.filter(is_same, ~pl.col("previous_has_validator"), may_store),
        ("client", "url"),
        frames=("previous_frame", "response_last_frame"),
        extra=(*_told("url"), pl.col("body_bytes").first()),
    ).with_columns(how=pl.format("{} without ETag or Last-Modified", shown("first_url")), remedy=pl.lit(VALIDATOR))
    return (
        pl.concat([twins, unvalidated], how="diagonal")
        .filter((pl.col("sent_bytes") >= redundant_bytes_min) | (pl.col("lost") >= redundant_time_min))
        .with_columns(
            severity=severity(),
            confidence=pl.lit(0.9),
            summary=pl.format(
                "the {} bytes of {} were fetched {} again: {} kB, in {} ms",
                "body_bytes",
                "how",
                times("times"),
                kilobytes(pl.col("sent_bytes")),
                milliseconds("lost"),
            ),
            evidence=pl.format(
                "frames {}; body {} (XXH3)",
                pl.col("request_frames").list.head(10).cast(pl.List(pl.String)).list.join(", "),
                "digest",
            ),
        )
    )


def _told(first_url: str) -> tuple[pl.Expr, ...]:
    import polars as pl

    return (
        pl.col(first_url).first().alias("first_url"),
        pl.col("url").unique(maintain_order=True).alias("urls"),
        pl.col("request_frame").alias("request_frames"),
        pl.col("body_bytes").sum().alias("sent_bytes"),
        pl.col("body_digest").first().alias("digest"),
    )
