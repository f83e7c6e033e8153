"""The sender keeps a constant, small amount in flight, round trip after round trip.

What it does
------------
Finds responses that waited for several round trips with less outstanding than their window must have grown
to by the ACKs that came, although nothing was lost and the client's window had room: the sender's socket
buffer was full of unacknowledged data. Where each round trip is a flight of its own, its flights stayed at one
size, which slow start would have doubled.

Why it is bad
-------------
What is sent stays in the send buffer until it is acknowledged, so a connection never has more in flight
than the buffer holds: 8 KB on a path of 100 ms are 80 KB/s, whatever the link could carry. A larger
congestion window does not help.

Evidence
--------
Flights of one size, each a round trip after the one before, with nothing sent in between, no segment sent
again, and the client's window. A bottleneck or a paced sender has no such pauses, a receive window is as
large as the flights. Lost is the rounds beyond those that a window that doubles from the first flight needs.

Fix
---
Leave the buffer to the kernel: no SO_SNDBUF (Linux then grows it up to the last value of
``net.ipv4.tcp_wmem``). nginx: no ``sndbuf=`` in ``listen``. Apache: ``SendBufferSize 0``. Where it must be
set, to twice the bandwidth-delay product.

Reference
---------
J. Heidemann, Performance Interactions Between P-HTTP and TCP Implementations, 1996, section 2.5; RFC 4898
(SndLimTransSnd); J. Semke, J. Mahdavi, M. Mathis, Automatic TCP Buffer Tuning, 1998.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._buffer_waits import long_waits, waits_for_buffer
from tcptrace_http.detectors._wording import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

__all__ = ["NEEDS", "READS", "find"]

READS: Final = ("flights", "waits")
NEEDS: Final = ("both_directions", "no_gaps", "whole_payload", "pure_acks")

#: Flights at the limit that show it, the last one, which is what was left to send, not counted.
STEADY_FLIGHTS_MIN: Final = 4
#: The limit is reached with a flight of this share of the largest; what is written in pieces that are no
#: part of the buffer leaves flights of half of it (measured: 6, 3, 6, 6 for writes of three segments).
FULL_SHARE: Final = 0.8
STEADY_SHARE_MIN: Final = 0.4
#: The largest of their later half is no larger than this times that of the earlier, to which the middle one
#: counts: a window in congestion avoidance grows.
GROWTH_MAX: Final = 1.1
#: Behind a slow link a window in slow start sends as many segments with each ACK, and far fewer are acknowledged
#: by then. What a full buffer sends next was made room for: each ACK covers two segments, unless it is
#: stretched (RFC 5681, section 4.2).
SEGMENTS_OF_AN_ACK: Final = 2
#: Next to the sender a full buffer is sent once a round trip: no more is outstanding than a flight, and what the
#: ACK that let it go had not covered.
OUTSTANDING_FLIGHTS_MAX: Final = 2
#: On a slow link segments arrive one by one, each as long after the other as it takes to send, which may be a
#: round trip: what its sender had in flight shows only on the sender's side of the link.
FLIGHT_SEGMENTS_MIN: Final = 2
#: The client offered this many times the largest flight, so it was not its window that was full.
WINDOW_FACTOR_MIN: Final = 2.0
#: Each flight starts one round trip after the one before: what is acknowledged makes room. (Measured 1.02.)
ROUND_SHARES: Final = (0.85, 1.3)
#: What writes in a time of its own makes such flights as well, if that is a round trip by chance: of what they
#: seem to lose the sender waited so much for its buffer.
WAITED_SHARE_MIN: Final = 0.5
#: Below this round trip a round costs less than can be measured.
RTT_MIN_NS: Final = 5_000_000

REMEDY: Final = (
    "Leave the send buffer to the kernel: no SO_SNDBUF (nginx: no sndbuf= in listen; Apache httpd:"
    " SendBufferSize 0), and let net.ipv4.tcp_wmem allow twice the bandwidth-delay product"
)
CONFIDENCE: Final = 0.85
_KEY: Final = ["flow", "transaction"]


def find(
    tables: Mapping[str, pl.DataFrame],
    *,
    steady_flights_min: int = STEADY_FLIGHTS_MIN,
    window_factor_min: float = WINDOW_FACTOR_MIN,
) -> pl.LazyFrame:
    """Responses that waited for a full send buffer, in flights of one size; see :class:`Detector`."""
    import polars as pl

    waited = waits_for_buffer(tables)
    in_flights = (
        _in_flights(tables, steady_flights_min, window_factor_min)
        .join(waited.select(*_KEY, "waited"), on=_KEY, how="inner", maintain_order="left")
        .filter(pl.col("waited") >= WAITED_SHARE_MIN * pl.col("lost"))
        .drop("waited")
    )
    by_acks = (
        long_waits(tables, waited)
        .join(in_flights, on=_KEY, how="anti")
        .with_columns(
            confidence=pl.lit(CONFIDENCE), cause=pl.lit("send_limited.send_buffer"), remedy=pl.lit(REMEDY)
        )
    )
    return pl.concat([in_flights, by_acks], how="diagonal")


def _in_flights(
    tables: Mapping[str, pl.DataFrame], steady_flights_min: int, window_factor_min: float
) -> pl.LazyFrame:
    """Responses that came in flights of one size."""
    import polars as pl

    # A response that paused has a row for each time that it went on.
    row = "row"
    flights = tables["flights"].lazy().with_row_index(row)
    flight = pl.col("flight_segments")
    largest = flight.max().over(row)
    # The flights from the first full one on, but for the last, which is what was left to send.
    is_steady = (pl.col("number") >= pl.col("number").filter(flight >= FULL_SHARE * largest).min().over(row)) & (
        pl.col("number") < pl.col("number").max().over(row)
    )
    steady = (
        flights.select(row, "flight_segments", "flight_start_ns", "flight_outstanding_bytes")
        .explode("flight_segments", "flight_start_ns", "flight_outstanding_bytes")
        .with_columns(number=pl.int_range(pl.len()).over(row))
        .with_columns(round=pl.col("flight_start_ns").cast(pl.Int64).diff().over(row))
        .filter(is_steady)
        .group_by(row, maintain_order=True)
        .agg(
            steady_flights=pl.len(),
            largest=flight.max(),
            first_steady_ns=pl.col("flight_start_ns").first(),
            least=flight.min(),
            growth=_growth(flight),
            outstanding=pl.col("flight_outstanding_bytes").median(),
            outstanding_growth=_growth(pl.col("flight_outstanding_bytes")),
            round=pl.col("round").median(),
        )
    )
    rtt = pl.col("rtt").dt.total_nanoseconds()
    segments = flight.list.sum()
    needed = (segments / flight.list.first() + 1).log(2).ceil().clip(1)
    surplus = (flight.list.len() - needed).cast(pl.Int64)
    return (
        flights.join(steady, on=row, how="inner", maintain_order="left")
        .join(_side(tables), on="flow", how="left", maintain_order="left")
        .filter(
            pl.col("steady_flights") >= steady_flights_min,
            pl.col("least") >= STEADY_SHARE_MIN * pl.col("largest"),
            pl.col("growth") <= GROWTH_MAX,
            # Next to the sender what is outstanding shows a window that grows ACK by ACK, whatever the flights;
            # and one that stands before a slow link, of which the ACKs of several flights are on their way.
            ~pl.col("is_at_sender")
            | (
                (pl.col("outstanding_growth") <= GROWTH_MAX)
                & (pl.col("outstanding") <= OUTSTANDING_FLIGHTS_MAX * pl.col("largest") * pl.col("segment_bytes"))
            ),
            # A share of a window that others use up is as constant.
            ~pl.col("shares_window"),
            (pl.col("largest") >= FLIGHT_SEGMENTS_MIN) | pl.col("is_at_sender"),
            pl.col("receive_window_segments") >= window_factor_min * pl.col("largest"),
            (pl.col("round") / rtt).is_between(*ROUND_SHARES),
            pl.col("retransmissions") + pl.col("earlier_retransmissions") == 0,
            # A slow link spaces segments by a round trip as well; a full buffer waits for an ACK each time.
            pl.col("acks") + 1 >= flight.list.len(),
            (pl.col("stretch_acks") > 0) | (SEGMENTS_OF_AN_ACK * pl.col("acks") >= segments - flight.list.last()),
            rtt >= RTT_MIN_NS,
            surplus > 0,
        )
        .with_columns(
            lost=(surplus * pl.col("round")).cast(pl.Int64).cast(pl.Duration("ns")),
            start=pl.col("start") + pl.col("first_steady_ns").cast(pl.Int64).cast(pl.Duration("ns")),
            first_frame=pl.col("flight_first_frames").list.first(),
            last_frame=pl.col("flight_first_frames").list.last(),
            confidence=pl.lit(CONFIDENCE),
            cause=pl.lit("send_limited.send_buffer"),
            summary=pl.format(
                "the sender kept no more than {} in flight for {}, though the client"
                " offered room for {} and nothing was lost",
                counted("largest", "segment"),
                counted(flight.list.len(), "round trip"),
                "receive_window_segments",
            ),
            evidence=pl.format(
                "flights of {} segments start in frames {}, {} ms apart; round trip {} ms; a window that doubles"
                " would have needed {}",
                flight.cast(pl.List(pl.String)).list.join(", "),
                pl.col("flight_first_frames").cast(pl.List(pl.String)).list.join(", "),
                (pl.col("round") / 1e6).round(1),
                (rtt / 1e6).round(1),
                counted(needed.cast(pl.Int64), "round trip"),
            ),
            remedy=pl.lit(REMEDY),
        )
    )


def _growth(size: pl.Expr) -> pl.Expr:
    """The largest of the later half to that of the earlier one, to which the middle belongs."""
    import polars as pl

    later = pl.len() // 2
    return size.tail(later).max() / size.head(pl.len() - later).max()


def _side(tables: Mapping[str, pl.DataFrame]) -> pl.LazyFrame:
    """Whether a flow was captured nearer to the server, which sends the responses."""
    import polars as pl

    is_at_sender = (pl.col("server_path_rtt") < pl.col("client_path_rtt")).fill_null(value=False)
    return tables["flows"].lazy().select("flow", is_at_sender=is_at_sender)
