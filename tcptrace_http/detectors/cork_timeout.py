"""The short end of each response comes 200 ms late: TCP_CORK or MSG_MORE that nobody took back.

What it does
------------
Finds servers whose responses end in a short segment that came some 200 ms after the full segments before it,
time and again, without an ACK that released it. Once that is shown, responses of the same server that are one
short segment and came as late as a whole are told with them.

Why it is bad
-------------
A corked socket sends full segments only. If the application does not clear TCP_CORK (or sends its last part
with MSG_MORE), the rest waits for a timer of 200 ms in the kernel: each response that does not end on a full
segment, and each that is smaller than one, comes that much later. It looks like a slow server.

Evidence
--------
Several responses whose full segments came at once, and whose short rest came 195 ms and up to the round trip
more after the ACK of all before it, with little spread: neither Nagle's algorithm nor a delayed ACK. An
application that sleeps does not stop exactly at the end of a full segment. Lost is the pause; of responses that
came late as a whole, what their first byte took beyond the median of those of which only the end was late.

Fix
---
Clear TCP_CORK after each response, or leave MSG_MORE out of its last send (setting TCP_NODELAY pushes the rest
too). nginx and lighttpd do that themselves; look at modules and applications that set the option.

Reference
---------
tcp(7), TCP_CORK; J. Heidemann, Performance Interactions Between P-HTTP and TCP Implementations, 1996,
section 2.2 (the remedy that is misused here).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._wording import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

__all__ = ["NEEDS", "READS", "find"]

READS: Final = ("recoveries", "segmentation")
NEEDS: Final = ("both_directions", "no_gaps", "segments_as_sent", "whole_payload", "pure_acks")

#: The timer is that of the zero window probe: from the last ACK on a retransmission timeout, which is 200 ms
#: and the smoothed round trip (tcp(7); RFC 6298 with Linux's minimum). A clock that counts in 4 or 10 ms may be
#: early by one.
TIMER_MIN_NS: Final = 195_000_000
#: ACKs that were delayed by 40 ms raise the smoothed round trip (measured: by as much), and a busy host is late.
TIMER_LATE_NS: Final = 90_000_000
#: So many of a server show a timer and no accident, and so many prove it.
HOLDS_MIN: Final = 3
HOLDS_SURE: Final = 5
#: A timer varies by the clock of the kernel and with the smoothed round trip (measured: 31 ms on 100 ms).
SPREAD_MAX_NS: Final = 40_000_000

REMEDY: Final = (
    "Clear TCP_CORK after each response, or send its last part without MSG_MORE (setting TCP_NODELAY pushes what"
    " is held)"
)


def find(tables: Mapping[str, pl.DataFrame], *, holds_min: int = HOLDS_MIN) -> pl.LazyFrame:
    """Responses whose short end waited for the timer of a corked socket; see :class:`Detector`."""
    import polars as pl

    tails = _tails(tables, holds_min)
    return pl.concat([_of_ends(tails), _of_whole_responses(tables, tails)], how="diagonal")


def _tails(tables: Mapping[str, pl.DataFrame], holds_min: int) -> pl.LazyFrame:
    """Ends of responses that a timer let go, of servers that show several."""
    import polars as pl

    server = ("server", "server_port")
    since_ack = pl.col("pause_since_ack").dt.total_nanoseconds()
    full = pl.col("segment_bytes").cast(pl.UInt64)
    ends = pl.col("pause_offset") + pl.col("pause_released_bytes") >= pl.col("message_bytes")
    return (
        tables["segmentation"]
        .lazy()
        .filter(
            pl.col("direction") == "server_to_client",
            pl.col("pause_offset") % full == 0,
            pl.col("unfilled_segments") == 0,
            ends,
        )
        .join(_of_flows(tables), on="flow", how="left", maintain_order="left")
        .filter(since_ack.is_between(TIMER_MIN_NS, pl.col("timer_max")))
        .join(_sent_again(tables), on=["flow", "pause_released_frame"], how="anti", maintain_order="left")
        .with_columns(holds=pl.len().over(server), spread=(since_ack.max() - since_ack.min()).over(server))
        .filter(pl.col("holds") >= holds_min, pl.col("spread") <= SPREAD_MAX_NS)
    )


def _of_flows(tables: Mapping[str, pl.DataFrame]) -> pl.LazyFrame:
    """The server of each flow, and the longest that the timer takes on its path."""
    import polars as pl

    rtt = sum(pl.col(name).dt.total_nanoseconds().fill_null(0) for name in ("server_path_rtt", "client_path_rtt"))
    return (
        tables["flows"]
        .lazy()
        .select("flow", "server", "server_port", "segment_bytes", timer_max=TIMER_MIN_NS + TIMER_LATE_NS + rtt)
    )


def _sent_again(tables: Mapping[str, pl.DataFrame]) -> pl.LazyFrame:
    """What was lost, and came when another timer had sent it again: no socket held that."""
    import polars as pl

    recoveries = tables["recoveries"].lazy().filter(pl.col("direction") == "server_to_client")
    return recoveries.select("flow", pause_released_frame="resent_frame")


def _sure() -> pl.Expr:
    import polars as pl

    return pl.when(pl.col("holds") >= HOLDS_SURE).then(0.9).otherwise(0.6)


def _of_ends(tails: pl.LazyFrame) -> pl.LazyFrame:
    import polars as pl

    return tails.select(
        "flow",
        "transaction",
        start=pl.col("pause_start"),
        lost=pl.col("pause"),
        first_frame=pl.col("pause_previous_frame"),
        last_frame=pl.col("pause_released_frame"),
        confidence=_sure(),
        cause=pl.lit("stall.cork_timeout"),
        summary=pl.format(
            "the last {} came {} ms after the full segments before them, as of {} of this server:"
            " a corked socket's timer",
            counted("pause_released_bytes", "byte"),
            (pl.col("pause").dt.total_nanoseconds() / 1e6).round(1),
            counted("holds", "response"),
        ),
        evidence=pl.format(
            "frame {} ends {}; frame {} came {} ms after the ACK of all of them",
            "pause_previous_frame",
            counted("pause_segments_before", "full segment"),
            "pause_released_frame",
            (pl.col("pause_since_ack").dt.total_nanoseconds() / 1e6).round(1),
        ),
        remedy=pl.lit(REMEDY),
    )


def _of_whole_responses(tables: Mapping[str, pl.DataFrame], tails: pl.LazyFrame) -> pl.LazyFrame:
    """Responses of one short segment whose first byte came later by the same timer."""
    import polars as pl

    server = ["server", "server_port"]
    took = (pl.col("response_first_time") - pl.col("request_last_time")).dt.total_nanoseconds()
    answered = (
        tables["transactions"]
        .lazy()
        .with_columns(pl.col("index").alias("transaction"), took=took)
        .join(_of_flows(tables), on="flow", how="left", maintain_order="left")
    )
    usual = (
        answered.join(tails, on=["flow", "transaction"], how="semi")
        .group_by(server, maintain_order=True)
        .agg(usual=pl.col("took").median())
        .join(tails.group_by(server, maintain_order=True).agg(pl.col("holds").first()), on=server, how="left")
    )
    lost = pl.col("took") - pl.col("usual")
    return (
        answered.join(usual, on=server, how="inner", maintain_order="left")
        .filter(
            pl.col("response_wire_bytes") < pl.col("segment_bytes"),
            lost.is_between(TIMER_MIN_NS, pl.col("timer_max")),
        )
        .select(
            "flow",
            "transaction",
            start=pl.col("response_first_time") - lost.cast(pl.Int64).cast(pl.Duration("ns")),
            lost=lost.cast(pl.Int64).cast(pl.Duration("ns")),
            first_frame=pl.col("request_last_frame"),
            last_frame=pl.col("response_first_frame"),
            confidence=_sure() - 0.15,
            cause=pl.lit("stall.cork_timeout"),
            summary=pl.format(
                "the response of {} bytes came {} ms late as a whole, as the ends of {} of this server:"
                " a corked socket's timer",
                "response_wire_bytes",
                (lost / 1e6).round(1),
                counted("holds", "response"),
            ),
            evidence=pl.format(
                "request in frame {}, response in frame {} after {} ms; others of this server began after {} ms",
                "request_last_frame",
                "response_first_frame",
                (pl.col("took") / 1e6).round(1),
                (pl.col("usual") / 1e6).round(1),
            ),
            remedy=pl.lit(REMEDY),
        )
    )
