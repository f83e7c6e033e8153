"""An object was fetched again after a small change, and the server sent all of it.

What it does
------------
Finds URLs whose text a client fetched again after a small change: the difference is a small part of the bytes
sent. zstd measures the difference, with the earlier body as its prefix.

Why it is bad
-------------
Pages and answers of an API mostly repeat data that the client already has. Mogul and others found deltas of a
tenth of the size of the replaced responses. On a long path the bytes also cost round trips of slow start.

Evidence
--------
Both bodies after removal of the framing and of gzip and zstd codings. zstd -3 compresses the later body with
the earlier one as prefix, as ``zstd --patch-from`` and the content coding dcz do. Lost is the transfer time
of the bytes that the delta saves over the best measured plain coding. The response's own rate applies, or the
round trips of slow start if they explain the transfer time. No finding is made if the earlier response
forbids storage (no-store), or if the delta exceeds half of the body. Bodies that exceed 1 MiB or are not text
are ignored. The savings of one URL must also exceed the initial window or cost time.

Fix
---
Compression Dictionary Transport: ``Use-As-Dictionary`` on the response, then ``Content-Encoding: dcz`` or
``dcb`` to clients that offer it (Chrome and Edge from 130 on; Cloudflare and Fastly pass it on). Or move the
changing part into a separate response.

Reference
---------
RFC 9842; RFC 3229; J. C. Mogul, F. Douglis, A. Feldmann, B. Krishnamurthy, Potential benefits of delta
encoding and data compression for HTTP, 1997.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._detector import FLAWS
from tcptrace_http.detectors._objects import (
    BODIES,
    REDUNDANT_BYTES_MIN,
    REDUNDANT_TIME_MIN,
    milliseconds,
    of_several,
    severity,
    shown,
    time_of_bytes,
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

#: Maximum size of a delta as a share of the body. Beyond it plain compression is nearly as good.
DELTA_SHARE_MAX: Final = 0.5

REMEDY: Final = (
    "Offer the response as a dictionary (Use-As-Dictionary, RFC 9842) and send the next one as dcz or dcb to"
    " clients that take it; or move the changing part into a separate response"
)


def find(
    tables: Mapping[str, pl.DataFrame],
    *,
    delta_share_max: float = DELTA_SHARE_MAX,
    redundant_bytes_min: int = REDUNDANT_BYTES_MIN,
    redundant_time_min: timedelta = REDUNDANT_TIME_MIN,
) -> pl.LazyFrame:
    """Return the URLs that were fetched again after a small change; see :class:`Detector`."""
    import polars as pl

    may_store = ~pl.col("previous_no_store")
    packed = pl.min_horizontal("body_bytes", "gzip_bytes", "zstd_bytes")
    changed = (
        tables["bodies"]
        .lazy()
        .filter(pl.col("delta_bytes") <= delta_share_max * packed, may_store)
        .with_columns(saved=packed - pl.col("delta_bytes"))
        .with_columns(
            lost=time_of_bytes(pl.col("saved")),
            elapsed=pl.col("response_last_time") - pl.col("request_time"),
        )
    )
    return (
        of_several(
            changed,
            ("client", "host", "target"),
            frames=("previous_frame", "response_last_frame"),
            extra=(
                pl.col("body_bytes", "saved", "delta_bytes").sum(),
                pl.col("request_frame").alias("request_frames"),
            ),
        )
        .filter((pl.col("saved") >= redundant_bytes_min) | (pl.col("lost") >= redundant_time_min))
        .with_columns(
            severity=severity(),
            confidence=pl.lit(0.8),
            summary=pl.format(
                "{} was fetched {} again with small changes: {} bytes were sent, the differences are {}; {} ms",
                shown("host", "target"),
                times("times"),
                "body_bytes",
                "delta_bytes",
                milliseconds("lost"),
            ),
            evidence=pl.format(
                "requests in frames {}; measured with zstd -3 and the previous response as prefix",
                pl.col("request_frames").list.head(10).cast(pl.List(pl.String)).list.join(", "),
            ),
            remedy=pl.lit(REMEDY),
        )
    )
