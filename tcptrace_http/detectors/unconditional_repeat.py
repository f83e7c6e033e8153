"""The same object was fetched again unchanged, although a conditional request would have returned 304.

What it does
------------
Finds URLs whose unchanged body a client fetched again with a plain GET, although the earlier response had a
validator (ETag or Last-Modified).

Why it is bad
-------------
With If-None-Match or If-Modified-Since the server would have answered 304 (Not Modified): a head without a
body. Instead the whole body crossed the path a second time. On a long path each doubling of its congestion
window costs a round trip.

Evidence
--------
Both bodies are complete and have the same digest and length. The earlier one was complete before the later
request, and Cache-Control allowed storage (no no-store). Lost is the time from the first to the last byte of
the response, without stalls: a 304 would have arrived with the first. There is one finding per URL and
client. Bodies of one segment are left out. The repeats of the URL together must exceed the initial window or
cost time. Several programs behind one address (a NAT, a proxy) count as one client.

Fix
---
Give the client a cache: any browser's, ``requests-cache`` or ``hishel`` for Python, ``proxy_cache`` with
``proxy_cache_revalidate on`` in nginx. On the server ``Cache-Control: max-age`` (nginx ``expires``, Apache
``ExpiresActive``) avoids even the conditional request. An unnecessary ``no-store`` prevents both.

Reference
---------
RFC 9110, section 13 (conditional requests); RFC 9111, section 4.3; RFC 6928.
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

REMEDY: Final = (
    "Let the client keep the object and ask with If-None-Match or If-Modified-Since (a browser's cache,"
    " requests-cache, nginx proxy_cache_revalidate on); on the server Cache-Control: max-age (nginx expires)"
    " avoids even the conditional request"
)


def find(
    tables: Mapping[str, pl.DataFrame],
    *,
    redundant_bytes_min: int = REDUNDANT_BYTES_MIN,
    redundant_time_min: timedelta = REDUNDANT_TIME_MIN,
) -> pl.LazyFrame:
    """Return the URLs fetched again unchanged without a condition; see :class:`Detector`."""
    import polars as pl

    may_store = ~pl.col("previous_no_store")
    repeats = (
        tables["bodies"]
        .lazy()
        .filter("is_unchanged", "previous_has_validator", ~pl.col("is_conditional"), may_store)
        .with_columns(lost=pl.col("transfer"), elapsed=pl.col("response_last_time") - pl.col("request_time"))
    )
    return (
        of_several(
            repeats,
            ("client", "host", "target"),
            frames=("previous_frame", "response_last_frame"),
            extra=(
                pl.col("body_bytes").sum(),
                pl.col("request_frame").alias("request_frames"),
                pl.col("previous_flow").first(),
                pl.col("previous_transaction").first(),
            ),
        )
        .filter((pl.col("body_bytes") >= redundant_bytes_min) | (pl.col("lost") >= redundant_time_min))
        .with_columns(
            severity=severity(),
            confidence=pl.lit(0.9),
            summary=pl.format(
                "{} was fetched {} again, unchanged and without If-None-Match or If-Modified-Since:"
                " {} kB that a 304 would have saved, in {} ms",
                shown("host", "target"),
                times("times"),
                kilobytes(pl.col("body_bytes")),
                milliseconds("lost"),
            ),
            evidence=pl.format(
                "first fetched as transaction {} of flow {}; again in frames {}",
                "previous_transaction",
                "previous_flow",
                pl.col("request_frames").list.head(10).cast(pl.List(pl.String)).list.join(", "),
            ),
            remedy=pl.lit(REMEDY),
        )
    )
