"""The ClientHello does not fit in one segment, and its rest comes late, is lost or stays unanswered.

What it does
------------
Finds TLS handshakes with a ClientHello of several segments whose rest was delayed. The client held the rest,
or the rest came late, was lost and retransmitted, or was retransmitted and never answered.

Why it is bad
-------------
A server answers only a complete ClientHello. With a post-quantum key (X25519MLKEM768) a ClientHello has more
than 1,400 bytes and seldom fits in one segment. Its end is a short segment. Some stacks hold that segment
until the first one is acknowledged; some middleboxes expect the whole ClientHello in the first segment, and
drop the rest or never answer. If the end is lost, no data follows it, so that a timer must run out.

Evidence
--------
The segments of the ClientHello, and the wait for its rest. This is the wait for held data, the recovery of a
lost later segment, or the pause alone. Lost is that time. For an unanswered ClientHello, lost is the time of
its retransmissions.

Fix
---
Client: write the ClientHello in one call and set TCP_NODELAY; make it smaller (fewer groups and signature
algorithms). Go: ``GODEBUG=tlsmlkem=0``, or ``tls.Config.CurvePreferences`` without X25519MLKEM768. Middlebox:
reassemble the ClientHello before looking for the server name.

Reference
---------
RFC 8446, sections 4.1.2 and 5.1; RFC 896; https://github.com/golang/go/issues/80573;
https://github.com/cloudflare/cloudflare-docs/pull/18165.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._holds import CLIENT_HELLO, FROM_CLIENT, LOST_MIN, holds
from tcptrace_http.detectors._recoveries import ms
from tcptrace_http.detectors._tls import CAUSE, HELD

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import timedelta

    import polars as pl

__all__ = ["NEEDS", "READS", "find"]

READS: Final = ("tls_handshakes",)
NEEDS: Final = ("both_directions", "no_gaps", "whole_payload")

REMEDY: Final = (
    "Let the client write its ClientHello in one call with TCP_NODELAY, or make it smaller (Go: GODEBUG="
    "tlsmlkem=0, or CurvePreferences without X25519MLKEM768); look for a middlebox that drops the second segment"
)


def find(tables: Mapping[str, pl.DataFrame], *, lost_min: timedelta = LOST_MIN) -> pl.LazyFrame:
    """Return the ClientHellos in several segments that waited for the rest; see :class:`Detector`."""
    import polars as pl

    # Without the server's packets all client flights look like one.
    one_sided = tables["flaws"].lazy().filter(pl.col("flaw").cast(pl.String) == "one_sided_capture")
    split = (
        tables["tls_handshakes"]
        .lazy()
        .filter(pl.col("client_hello_last_frame") > pl.col("client_hello_frame"))
        .join(one_sided, on="flow", how="anti", maintain_order="left")
        .select(
            *(
                "flow",
                "client_hello_frame",
                "client_hello_time",
                "client_hello_last_frame",
                "client_hello_last_time",
            ),
            *("client_hello_bytes", "server_hello_time"),
        )
    )
    held = split.join(_held(tables, lost_min), on="flow", maintain_order="left")
    late = _late(tables, split).join(held, on="flow", how="anti", maintain_order="left")
    return (
        pl.concat([held, late], how="diagonal")
        .filter(pl.col("lost") >= lost_min)
        .with_columns(
            start="client_hello_time",
            first_frame="client_hello_frame",
            confidence=pl.lit(0.85),
            summary=pl.format(
                "the ClientHello of {} bytes took more than one segment: {}", "client_hello_bytes", "why"
            ),
            evidence=pl.format(
                "it begins in frame {} and ends in frame {}, {} ms later",
                "client_hello_frame",
                "client_hello_last_frame",
                (
                    (pl.col("client_hello_last_time") - pl.col("client_hello_time")).dt.total_nanoseconds() / 1e6
                ).round(1),
            ),
            remedy=pl.lit(REMEDY),
        )
    )


def _held(tables: Mapping[str, pl.DataFrame], lost_min: timedelta) -> pl.LazyFrame:
    """Return the ClientHello parts that the client held: at most one row per flow."""
    import polars as pl

    return (
        holds(tables, HELD, lost_min=lost_min)
        .filter(pl.col("place") == CLIENT_HELLO)
        .group_by("flow", maintain_order=True)
        .agg(
            pl.col("transaction", "cause").first(),
            pl.col("last_frame", "released_by").last(),
            lost=pl.col("lost").sum(),
        )
        .with_columns(
            why=pl.format(
                "the client held its rest for {} ms, until the ACK in frame {} released it",
                ms("lost"),
                "released_by",
            )
        )
    )


def _late(tables: Mapping[str, pl.DataFrame], split: pl.LazyFrame) -> pl.LazyFrame:
    """Return the ClientHellos whose rest came late, was lost, or was retransmitted and never answered."""
    import polars as pl

    transactions = (
        tables["waits"]
        .lazy()
        .filter(pl.col("cause").cast(pl.String) == CAUSE)
        .select("flow", "transaction", pl.col("cause").cast(pl.String))
        .unique("flow", maintain_order=True)
    )
    is_answered = pl.col("server_hello_time").is_not_null()
    # The first byte has offset 1: a loss that begins there does not concern the second segment.
    is_rest = (pl.col("direction").cast(pl.String) == FROM_CLIENT) & (pl.col("offset") > 1)
    was_lost = pl.col("spurious_by").cast(pl.String) == "none"
    resent = (
        tables["recoveries"]
        .lazy()
        .filter(is_rest, was_lost)
        .select("flow", begun="start", mended="end", resent_frame="last_frame")
        .join(split.select("flow", "client_hello_time", "server_hello_time"), on="flow")
        .filter(
            pl.col("begun") >= pl.col("client_hello_time"),
            (pl.col("mended") <= pl.col("server_hello_time")) | ~is_answered,
        )
        .group_by("flow")
        .agg(pl.col("resent_frame").last(), resent=pl.col("mended").max() - pl.col("begun").min())
    )
    pause = pl.col("client_hello_last_time") - pl.col("client_hello_time")
    is_lost = pl.col("resent").is_not_null()
    return (
        split.join(transactions, on="flow", how="left", maintain_order="left")
        .join(resent, on="flow", how="left", maintain_order="left")
        .filter(pl.col("transaction").is_not_null() | ~is_answered)
        .with_columns(lost=pl.max_horizontal("resent", pause))
        .with_columns(
            last_frame=pl.coalesce("resent_frame", "client_hello_last_frame"),
            why=pl.when(is_lost & ~is_answered)
            .then(
                pl.format(
                    "its rest was sent again for {} ms, the last time in frame {}, and no answer came",
                    ms("lost"),
                    "resent_frame",
                )
            )
            .when(is_lost)
            .then(
                pl.format("its rest was lost, and sent again {} ms later in frame {}", ms("lost"), "resent_frame")
            )
            .otherwise(pl.format("its rest came {} ms later", ms("lost"))),
        )
        .filter(is_lost | is_answered)
        .drop("resent", "resent_frame")
    )
