"""A client held its request's body for a 100 (Continue) that came late or never.

What it does
------------
Finds requests with ``Expect: 100-continue`` whose body came long after their head. The client waited for the
server's 100 (Continue), which came late or never.

Why it is bad
-------------
A server without support for the expectation waits for the body. The client holds the body until the server
answers or the client's timer expires (one second in curl, 350 ms in .NET). Even with an immediate answer the
expectation costs a round trip.

Evidence
--------
The time from the end of the head to the first byte of the body. If a 100 came before the body, one round trip
is subtracted: the minimum cost of the expectation. If none came, the whole time is lost. No finding is made
if a final response preceded the body (the expectation served its purpose), or below a few milliseconds. There
is one finding per URL and client.

Fix
---
Server: answer ``100 Continue`` as soon as the head is accepted (nginx, Apache and Node do; a handler that
authenticates first is late). Client: omit the field for bodies of ordinary size (curl ``-H 'Expect:'`` or
``--expect100-timeout``; .NET ``ExpectContinue = false``; Apache HttpClient
``setExpectContinueEnabled(false)``).

Reference
---------
RFC 9110, section 10.1.1; curl's EXPECT100_TIMEOUT_MS.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._detector import FLAWS
from tcptrace_http.detectors._objects import EXPECTATIONS, milliseconds, of_several, severity, shown
from tcptrace_http.detectors._wording import times

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

__all__ = ["GATHERS", "NEEDS", "READS", "SCOPE", "find"]

SCOPE: Final = "capture"
READS: Final = ("expectations",)
NEEDS: Final = ("both_directions", "whole_payload")
GATHERS: Final = (EXPECTATIONS, FLAWS)

#: Minimum loss: a server may take this long to read a head.
LOST_MIN: Final = timedelta(milliseconds=5)
#: Minimum wait over the shortest round trip, as a share of it. Round trips vary by less.
ROUND_TRIP_SHARE: Final = 0.5

REMEDY_NEVER: Final = (
    "Let the server answer 100 Continue (RFC 9110, section 10.1.1), or let the client omit Expect"
    " (curl -H 'Expect:', .NET ExpectContinue = false)"
)
REMEDY_LATE: Final = (
    "Let the server answer 100 Continue as soon as it has the head, before slow work such as authentication,"
    " or let the client omit Expect (curl -H 'Expect:')"
)


def find(
    tables: Mapping[str, pl.DataFrame],
    *,
    lost_min: timedelta = LOST_MIN,
    round_trip_share: float = ROUND_TRIP_SHARE,
) -> pl.LazyFrame:
    """Return the bodies that waited for 100 (Continue); see :class:`Detector`."""
    import polars as pl

    waited = pl.col("body_time") - pl.col("head_time")
    was_told = (pl.col("continue_time") <= pl.col("body_time")).fill_null(value=False)
    was_answered = (pl.col("final_time") <= pl.col("body_time")).fill_null(value=False)
    lost = pl.when("was_told").then(waited - pl.col("rtt")).otherwise(waited)
    varies = pl.when("was_told").then(pl.col("rtt").dt.total_nanoseconds() * round_trip_share).otherwise(0)
    waits = (
        tables["expectations"]
        .lazy()
        .with_columns(was_told=was_told)
        .filter(~was_answered)
        .with_columns(
            lost=lost,
            elapsed=pl.coalesce("end_time", "body_time") - pl.col("head_time"),
            response_first_time=pl.col("head_time"),
        )
        .filter(pl.col("lost") >= lost_min, pl.col("lost").dt.total_nanoseconds() >= varies)
    )
    return (
        of_several(
            waits,
            ("client", "host", "target", "was_told"),
            frames=("head_frame", "body_frame"),
            extra=(
                pl.col("method").first(),
                pl.col("body_bytes").sum(),
                pl.col("head_frame").alias("head_frames"),
                pl.col("body_frame").alias("body_frames"),
            ),
        )
        .with_columns(
            severity=severity(),
            confidence=pl.when("was_told").then(0.85).otherwise(0.95),
            how=pl.when("was_told").then(pl.lit("came late")).otherwise(pl.lit("never came")),
            remedy=pl.when("was_told").then(pl.lit(REMEDY_LATE)).otherwise(pl.lit(REMEDY_NEVER)),
        )
        .with_columns(
            summary=pl.format(
                "{} the body of {} {} waited for a 100 (Continue) that {}: {} ms",
                times("times"),
                "method",
                shown("host", "target"),
                "how",
                milliseconds("lost"),
            ),
            evidence=pl.format(
                "heads end in frames {}, bodies begin in frames {}; {} bytes",
                pl.col("head_frames").list.head(10).cast(pl.List(pl.String)).list.join(", "),
                pl.col("body_frames").list.head(10).cast(pl.List(pl.String)).list.join(", "),
                "body_bytes",
            ),
        )
    )
