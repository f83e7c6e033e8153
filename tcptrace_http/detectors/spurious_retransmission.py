"""The sender retransmitted data that had arrived.

What it does
------------
Finds flows with spurious retransmissions: the timer expired too early, or reordering caused duplicate ACKs.

Why it is bad
-------------
The same bytes cross the path twice. The sender halves its congestion window (or restarts with one segment)
without a loss, unless D-SACK or timestamps reveal the error.

Evidence
--------
The copy, and the proof that it is spurious. Proofs are an earlier ACK, a D-SACK, an ACK with the original's
timestamp, an ACK earlier than one RTT, or a late arrival of the original. The cost is not visible from
outside, so the finding is about structure. A single tail-loss probe is no finding: the sender sends it on
suspicion.

Fix
---
Linux keeps ``net.ipv4.tcp_timestamps=1``, ``tcp_dsack=1``, ``tcp_frto=2`` and ``tcp_recovery=1`` on by
default: leave them on at both ends. Variable delay indicates a bloated queue or a radio link. Reordering
indicates load balancing per packet.

Reference
---------
RFC 3522 (Eifel); RFC 5682 (F-RTO); RFC 2883 and RFC 3708 (D-SACK); M. Allman and V. Paxson, On Estimating
End-to-End Network Path Properties, SIGCOMM 1999.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._wording import counted, times

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

__all__ = ["NEEDS", "READS", "find"]

READS: Final = ("recoveries", "waits")
NEEDS: Final = ("both_directions", "no_gaps", "pure_acks")

#: Minimum number of unnecessary probes. Probes are sent on suspicion (RFC 8985, section 7): a few are no
#: fault.
PROBES_MIN: Final = 3
EVIDENCE: Final = {
    "acknowledged": "it had been acknowledged",
    "dsack": "the receiver reported it by D-SACK",
    "timestamps": "the ACK echoes the timestamp of the original",
    "original_arrived": "the original passed after it",
    "early_ack": "its ACK came sooner than the path allows",
}
REMEDY: Final = (
    "leave net.ipv4.tcp_timestamps, tcp_dsack, tcp_frto and tcp_recovery on at both ends;"
    " check for variable delay (queues, radio links) and for reordering links"
)


def find(tables: Mapping[str, pl.DataFrame], *, probes_min: int = PROBES_MIN) -> pl.LazyFrame:
    """Return the flows with spurious retransmissions; see :class:`Detector`."""
    import polars as pl

    kind = pl.col("kind").cast(pl.String)
    by = pl.col("spurious_by").cast(pl.String)
    is_response = pl.col("direction").cast(pl.String) == "server_to_client"
    is_probe = kind == "tail_loss_probe"
    return (
        tables["recoveries"]
        .lazy()
        .filter(by != "none", kind != "syn_retransmission")
        .group_by("flow", "direction", maintain_order=True)
        .agg(
            pl.col("first_frame", "start").first(),
            pl.col("last_frame").max(),
            # The transaction, if all rows have the same one.
            transaction=pl.when(pl.col("transaction").n_unique() == 1).then(pl.col("transaction").first()),
            times=pl.len(),
            probes=is_probe.sum(),
            segments=pl.col("resent_segments").sum(),
            bytes=pl.col("resent_bytes").sum(),
            how=by.replace_strict(EVIDENCE).first(),
            resent_frame=pl.col("resent_frame").first(),
            confidence=pl.col("confidence").max(),
        )
        .filter((pl.col("times") > pl.col("probes")) | (pl.col("times") >= probes_min))
        .with_columns(
            lost=pl.lit(0).cast(pl.Duration("ns")),
            severity=pl.lit("info"),
            cause=pl.lit(None, dtype=pl.String),
            confidence=pl.max_horizontal("confidence", pl.lit(0.9)),
            summary=pl.format(
                "the {} sent {} ({} bytes) again although they had arrived",
                pl.when(is_response).then(pl.lit("server")).otherwise(pl.lit("client")),
                counted("segments", "segment"),
                "bytes",
            ),
            evidence=pl.format("{}; first frame {}: {}", times("times"), "resent_frame", "how"),
            remedy=pl.lit(REMEDY),
        )
    )
