"""The server sent text uncompressed, although the client accepts compression.

What it does
------------
Compresses the text of responses without Content-Encoding (HTML, CSS, JavaScript, JSON, XML, SVG) with gzip -6
and zstd -3. The finding has the savings of the codings that the client offered.

Why it is bad
-------------
Text shrinks to at most a third. On a slow path the saved bytes save their transfer time. On a long path they
save round trips of slow start.

Evidence
--------
The sizes of the captured bodies after real coders, and the Accept-Encoding of the requests. Lost is the
transfer time of the saved bytes at the response's own rate. If slow start explains the transfer time, the
saved round trips are lost. There is one finding per host and client. If the client offered no measured
coding, the server must not compress: the finding is ``info`` and no time is lost. Bodies of one segment,
bodies above 1 MiB, and savings below one segment or a tenth are left out. The savings together must exceed
the initial window or cost time.

Fix
---
nginx: ``gzip on`` and ``gzip_types`` (only text/html is compressed by default), ``gzip_proxied any`` behind a
proxy; Apache: ``mod_deflate`` with ``AddOutputFilterByType DEFLATE``; lighttpd: ``mod_deflate``. For static
files use ``gzip_static``, or precompressed zstd and brotli. In a client: ``curl --compressed``.

Reference
---------
RFC 9110, sections 8.4 and 12.5.3; RFC 1952; RFC 8878; H. F. Nielsen and others, Network Performance Effects
of HTTP/1.1, CSS1, and PNG, 1997.
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
    time_of_bytes,
)
from tcptrace_http.detectors._wording import by_number, counted

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import timedelta

    import polars as pl

__all__ = ["GATHERS", "NEEDS", "READS", "SCOPE", "find"]

SCOPE: Final = "capture"
READS: Final = ("bodies",)
NEEDS: Final = ("both_directions", "no_gaps", "whole_payload")
GATHERS: Final = (BODIES, FLAWS)

#: Minimum bytes saved: less than one segment on Ethernet saves no packet.
SAVED_BYTES_MIN: Final = 1460
#: Minimum share saved. Text with less is already compressed, or random.
SAVED_SHARE_MIN: Final = 0.1

REMEDY: Final = (
    "Compress text: nginx gzip on with gzip_types for all text (and gzip_proxied any), Apache mod_deflate, or"
    " files compressed beforehand (gzip_static)"
)
REMEDY_OF_CLIENT: Final = "Let the client send Accept-Encoding: gzip, zstd (curl --compressed)"


def find(
    tables: Mapping[str, pl.DataFrame],
    *,
    saved_bytes_min: int = SAVED_BYTES_MIN,
    saved_share_min: float = SAVED_SHARE_MIN,
    redundant_bytes_min: int = REDUNDANT_BYTES_MIN,
    redundant_time_min: timedelta = REDUNDANT_TIME_MIN,
) -> pl.LazyFrame:
    """Return the uncompressed text, by host; see :class:`Detector`."""
    import polars as pl

    offers_gzip, offers_zstd = _offers("gzip|x-gzip|\\*"), _offers("zstd|\\*")
    offered = offers_gzip | offers_zstd
    offered_bytes = pl.min_horizontal(
        pl.when(offers_gzip | ~offered).then("gzip_bytes"), pl.when(offers_zstd).then("zstd_bytes")
    )
    texts = (
        tables["bodies"]
        .lazy()
        .filter(pl.col("gzip_bytes").is_not_null())
        .with_columns(offered=offered, packed=offered_bytes)
        .filter(pl.col("body_bytes") >= pl.col("packed") + saved_bytes_min)
        .with_columns(saved=pl.col("body_bytes") - pl.col("packed"))
        .filter(pl.col("saved") >= saved_share_min * pl.col("body_bytes"))
        .with_columns(
            lost=pl.when("offered").then(time_of_bytes(pl.col("saved"))).otherwise(pl.duration(nanoseconds=0)),
            elapsed=pl.col("response_last_time") - pl.col("request_time"),
        )
    )
    largest = pl.col("saved").arg_max()
    return (
        of_several(
            texts,
            ("client", "host", "offered"),
            frames=("request_frame", "response_last_frame"),
            extra=(
                pl.col("body_bytes", "packed", "saved").sum(),
                pl.col("target").get(largest),
                pl.col("content_type").get(largest),
                pl.col("body_bytes").get(largest).alias("largest_bytes"),
                pl.col("packed").get(largest).alias("largest_packed"),
                pl.col("request_frame").get(largest).alias("largest_frame"),
            ),
        )
        .filter((pl.col("saved") >= redundant_bytes_min) | (pl.col("lost") >= redundant_time_min))
        .with_columns(
            severity=severity(),
            confidence=pl.when("offered").then(0.95).otherwise(0.8),
            summary=pl.format(
                "{} of {} {} {} kB of uncompressed text, which {} {} kB{}",
                counted("times", "response"),
                "host",
                by_number("times", "was", "were"),
                kilobytes(pl.col("body_bytes")),
                pl.when("offered")
                .then(pl.lit("the codings that the client offered make"))
                .otherwise(pl.lit("gzip, had the client offered it, would make")),
                kilobytes(pl.col("packed")),
                pl.when("offered").then(pl.format(": {} ms", milliseconds("lost"))).otherwise(pl.lit("")),
            ),
            evidence=pl.format(
                "most of it {} ({}): {} bytes, compressed {} (request in frame {}); gzip -6, zstd -3",
                shown("target"),
                "content_type",
                "largest_bytes",
                "largest_packed",
                "largest_frame",
            ),
            remedy=pl.when("offered").then(pl.lit(REMEDY)).otherwise(pl.lit(REMEDY_OF_CLIENT)),
        )
    )


def _offers(codings: str) -> pl.Expr:
    """Return whether Accept-Encoding names one of these codings with a weight above zero (RFC 9110, section
    12.5.3).
    """
    import polars as pl

    named = f"(?i)(^|,)\\s*({codings})\\s*"
    accepted = pl.col("accept_encoding").fill_null("")
    return accepted.str.contains(f"{named}(;|,|$)") & ~accepted.str.contains(f"{named};\\s*q=0(\\.0*)?\\s*(,|$)")
