"""After an idle period the server opens its congestion window again from the start.

What it does
------------
Finds responses that came after an idle period in the small, growing flights of slow start, on a flow
that had shown a much larger flight before.

Why it is bad
-------------
The congestion window that the connection had earned is thrown away (reset to the initial window, or
halved for each timeout that passed). A user who reads a page for a second gets the next one over a
cold connection: one round trip more for each doubling, although nothing was lost.

Evidence
--------
The idle period, the flights after it, and the larger flight before. Not said where it cannot be seen:
a response that fits in the initial window, a receive window that limits, loss, a timer that ran out, or
a path of less than a few milliseconds.

Fix
---
Linux: ``net.ipv4.tcp_slow_start_after_idle=0`` on the server (``sysctl -w``), or BBR, which does not
restart. Pacing (``fq``) keeps the burst from overflowing a queue.

Reference
---------
J. Heidemann, Performance Interactions Between P-HTTP and TCP Implementations, 1996, section 2.4;
RFC 5681, section 4.1; RFC 7661.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._held import held
from tcptrace_http.detectors._recoveries import ms, ns
from tcptrace_http.detectors._when_left import when_left
from tcptrace_http.detectors._window_flights import between_holds
from tcptrace_http.detectors._wording import counted, times
from tcptrace_http.detectors.delayed_ack_first_segment import CAUSE as DELAYED_ACK

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

__all__ = ["NEEDS", "READS", "find", "find_in_waits"]

READS: Final = ("flights", "pauses")
NEEDS: Final = ("both_directions", "handshake", "no_gaps", "whole_payload", "segments_as_sent", "pure_acks")

#: A sender restarts after its retransmission timeout, which no stack has below 200 ms, nor below a round trip.
IDLE_MIN_NS: Final = 200_000_000
#: The first flight is at most this share of the largest before the idle period. In slow start the
#: ACKs of that one had opened the window to twice as much; one halving of it cannot be told.
FIRST_FLIGHT_SHARE_MAX: Final = 0.7
#: The second flight is larger than the first by this factor: slow start doubles, a window does not.
GROWTH_MIN: Final = 1.4
#: Windows that a sender restarts with: those of RFC 2001, 2581 and 3390, and of RFC 6928 and more. A first flight
#: between them is what the application had, if there is one other flight only.
OLD_WINDOW_MAX: Final = 4
WINDOW_NOW_MIN: Final = 10
#: Full segments that a receiver acknowledges with one ACK (RFC 1122, section 4.2.3.2).
ACKED_AT_ONCE: Final = 2
#: A flight that starts so close to when an ACK would have let it go waited for that: what a busy host takes, and
#: by which share of them round trips vary.
OFF_ACK_MAX_NS: Final = 1_000_000
OFF_ACK_RTT_SHARE: Final = 0.01
#: ... and what a slow link takes for its own headers, of which the capture shows nothing.
OFF_ACK_PACE_SHARE: Final = 0.02
#: One ACK may have opened the window since it was thrown away: that of a response's short end, which Nagle's
#: algorithm had held for longer than the retransmission timeout.
OPENED_SINCE: Final = 1
#: Flights follow each other in round trips; these vary, and the one at hand may be less than the handshake's.
ROUND_TRIP_SHARE_MIN: Final = 0.75
#: A first flight, or a segment, that takes this share of the round trip has gone through the bottleneck.
PACE_RTT_SHARE: Final = 0.02
#: A flight more costs one round trip, and as much over it as round trips vary; what its sender waited
#: longer is another's (a window that was closed).
LOST_RTT_MAX: Final = 1.25
#: Recoveries in which a timer ran out: its silence is no idle period, and starts the window anew by itself.
TIMED: Final = ("timeout", "tail_loss", "tail_loss_probe")
#: What the pause between two flights is where Nagle's algorithm held the second one.
OF_NAGLE: Final = ("short-initial-segment", "odd-short-final-segment", "nagle-delayed-ack", "nagle-hold")
#: Below this round trip a restart costs less than can be measured.
RTT_MIN_NS: Final = 4_000_000
#: Of what single waits show, and no flights.
CONFIDENCE_OF_WAITS: Final = 0.8

_CAUSE: Final = "stall.slow_start_restart"
#: Less than the shortest round trip that is told is not worth a finding.
WAITED_MIN_NS: Final = RTT_MIN_NS
REMEDY: Final = (
    "Linux: net.ipv4.tcp_slow_start_after_idle=0 on the server, with fq pacing;"
    " or a congestion control that does not restart (bbr)"
)


def find(
    tables: Mapping[str, pl.DataFrame],
    *,
    first_flight_share_max: float = FIRST_FLIGHT_SHARE_MAX,
    growth_min: float = GROWTH_MIN,
) -> pl.LazyFrame:
    """Responses that were slow-started again after an idle period; see :class:`Detector`."""
    import polars as pl

    times = pl.List(pl.Int64)
    flights = pl.col("flight_segments")
    first, second = flights.list.get(0), flights.list.get(1)
    earlier = pl.col("earlier_flight_segments")
    rtt = pl.col("rtt").dt.total_nanoseconds()
    idle = pl.col("idle").dt.total_nanoseconds()

    # With the initial window of today goes a timeout of a round trip and those 200 ms (Linux's TCP_RTO_MIN).
    least_timeout = (
        pl.when(pl.col("initial_window_segments") >= WINDOW_NOW_MIN)
        .then(rtt + IDLE_MIN_NS)
        .otherwise(pl.max_horizontal(rtt, pl.lit(IDLE_MIN_NS)))
    )
    was_idle = idle > least_timeout
    # Nagle's algorithm holds no full segment, nor the last one with the FIN: if an ACK let one go, the window had
    # no room for it.
    full = pl.col("segment_bytes")
    starts, ends = pl.col("flight_start_ns").cast(times), pl.col("flight_end_ns").cast(times)
    spacing = ((ends - starts) / (flights.cast(times) - 1)).list.eval(
        pl.element().filter(pl.element().is_finite())
    )
    waited_for_ack = pl.col("flight_off_ack_ns").list.get(1) <= pl.max_horizontal(
        pl.lit(OFF_ACK_MAX_NS), rtt * OFF_ACK_RTT_SHARE, spacing.list.max() * OFF_ACK_PACE_SHARE
    )
    ends_full = pl.col("flight_last_bytes").list.get(0) >= full
    has_fin = (second == 1) & _has_fin(1)
    waited_full = waited_for_ack & ((pl.col("flight_first_bytes").list.get(1) >= full) | has_fin)
    # A full segment that waited for an ACK behind others shows the window that it did not fit into.
    # The first ACK lets it go, not the last of several. Losses make windows small as well.
    has_one_ack = first <= ACKED_AT_ONCE
    was_first_ack = has_one_ack | (pl.col("flight_behind_bytes").list.get(1) > 0)
    shows_window = waited_full & ends_full & was_first_ack & (pl.col("earlier_retransmissions") == 0)
    starts_small = (first <= earlier * first_flight_share_max) | (shows_window & (first < earlier))
    # The last flight is what was left to send and need not have grown. Two of one segment each are the writes of
    # an application as well, unless the flow had begun with one, or the sender had closed with the last.
    ends_at_second = flights.list.get(2, null_on_oob=True).is_null()
    begins_as_flow = (first == pl.col("initial_window_segments")) & waited_full
    grows = (
        (second >= first * growth_min)
        | (shows_window & (second >= first) & ((first > 1) | has_fin))
        | (ends_at_second & ((first > 1) | begins_as_flow))
    )
    # One last segment the original algorithm of Nagle holds behind full ones as well, unless it is off; it waits
    # until all of them are acknowledged.
    waited_for_all = ~waited_for_ack | (pl.col("flight_behind_bytes").list.get(1) == 0)
    may_be_nagle = (
        ends_at_second
        & (second == 1)
        & (first > 1)
        & (pl.col("nagle_disproofs") == 0)
        & ~waited_full
        & waited_for_all
    )
    is_window = ~ends_at_second | (first <= OLD_WINDOW_MAX) | (first >= WINDOW_NOW_MIN) | shows_window
    # A window that is used up ends with a full segment or has no room for one (RFC 9293, section 3.8.6.2.1); a
    # short write before it may have been a flight of its own.
    third = flights.list.get(2, null_on_oob=True)
    second_is_used_up = (pl.col("flight_last_bytes").list.get(1) >= full) & (third >= second * growth_min)
    is_used_up = (
        ends_full
        | (waited_full & (first <= pl.col("initial_window_segments") + OPENED_SINCE))
        | second_is_used_up.fill_null(value=False)
    )
    window_is_open = pl.col("receive_window_segments") > first
    window_may_be_open = pl.col("receive_window_segments") > 1
    is_undisturbed = (pl.col("retransmissions") == 0) & (rtt >= RTT_MIN_NS)

    window, segments = _window_before(), flights.list.sum()
    # Without them the response takes its time on the wire, in the pace of its first flight (of its closest
    # segments, if that is a single one), and the shortest of the waits as often as the earlier window had
    # asked for. Before the bottleneck a flight has no pace; there the longest waits are what was lost.
    pace = pl.when(first > 1).then(spacing.list.first()).otherwise(spacing.list.min()).fill_null(0.0)
    begun = pl.min_horizontal(ends.list.first() + pace, starts.list.get(1))
    waits = (starts.list.slice(1) - ends.list.head(ends.list.len() - 1)).list.sort()
    # A window that fills the path waits for no ACK any more.
    rounds = (segments / window + 1).log(2).ceil() - 1
    filling = (rtt / (pace * window)).log(2).ceil()
    kept = pl.min_horizontal(rounds, filling).clip(0, 63).cast(pl.UInt32)
    fewer = (flights.list.len() - 1 - kept.cast(pl.Int64)).clip(0)
    surplus = pl.max_horizontal(fewer, _that_would_have_fit(window)).cast(pl.UInt32)
    has_pace = pl.max_horizontal(ends.list.first(), pace) >= rtt * PACE_RTT_SHARE
    paced = ends.list.last() - pace * (segments - 1) - (waits.list.head(kept).list.sum() - pace * kept)
    waited = pl.when(has_pace).then(paced).otherwise(waits.list.tail(surplus).list.sum())
    lost = pl.min_horizontal(waited, rtt * surplus * LOST_RTT_MAX)
    # What Nagle's algorithm held no window did.
    nagle = held(tables).filter(pl.col("owner").is_in(OF_NAGLE))
    timed = tables["recoveries"].lazy().filter(pl.col("kind").cast(pl.String).is_in(TIMED))
    flows = tables["flows"].lazy().select("flow", "nagle_disproofs")
    after_idle = (
        tables["flights"]
        .lazy()
        .filter(was_idle, window_may_be_open, is_undisturbed)
        .join(timed.select("flow", "transaction"), on=["flow", "transaction"], how="anti", maintain_order="left")
        .join(flows, on="flow", maintain_order="left")
    )
    return (
        between_holds(after_idle, nagle)
        .filter(starts_small, grows, is_window, window_is_open, is_used_up, _took_round_trip(rtt), ~may_be_nagle)
        .with_columns(surplus=surplus)
        .filter(pl.col("surplus") > 0, lost > 0)
        .with_columns(
            lost=lost.cast(pl.Int64).cast(pl.Duration("ns")),
            start=pl.col("start") + begun.cast(pl.Int64).cast(pl.Duration("ns")),
            first_frame=pl.col("flight_first_frames").list.first(),
            last_frame=pl.col("flight_first_frames").list.get(pl.col("surplus")),
            confidence=pl.when(ends_at_second)
            .then(0.7)
            .when(first <= pl.col("initial_window_segments"))
            .then(0.95)
            .otherwise(0.85),
            # Of a window that connections share each has what the others leave: that is no time of a restart.
            cause=pl.when(~pl.col("shares_window")).then(pl.lit(_CAUSE)),
            summary=pl.format(
                "after {} ms idle the response came in flights of {} segments, where {} had been sent at once",
                (idle / 1e6).round(0).cast(pl.Int64),
                flights.cast(pl.List(pl.String)).list.join(", "),
                earlier,
            ),
            evidence=pl.format(
                "flights start in frames {}; round trip {} ms; initial window {}",
                pl.col("flight_first_frames").cast(pl.List(pl.String)).list.join(", "),
                (rtt / 1e6).round(3),
                counted("initial_window_segments", "segment"),
            ),
            remedy=pl.lit(REMEDY),
        )
    )


def find_in_waits(tables: Mapping[str, pl.DataFrame]) -> pl.LazyFrame:
    """What else responses waited for a window that had been larger, as what was outstanding shows."""
    import polars as pl

    key = ["flow", "transaction"]
    # The ACK of a window of one segment may be delayed: that is the rest of the wait, to its last frame.
    is_delayed = (pl.col("cause").cast(pl.String) == DELAYED_ACK) & (pl.col("start") == pl.col("end").shift())
    frame_behind = pl.when(is_delayed).then("last_frame").shift(-1).over(key)
    waits = (
        tables["waits"]
        .lazy()
        .with_columns(ended_by=pl.coalesce(frame_behind, "last_frame"))
        .filter(pl.col("cause").cast(pl.String) == _CAUSE)
    )
    # Flights that have grown into each other show nothing more: there each ACK lets go what waited for it.
    found = find(tables).select(*key, shown_from="start", shown_for="lost", shown_until="last_frame")
    in_time = pl.col("start") < pl.col("shown_from") + pl.col("shown_for")
    is_shown = (pl.col("end") > pl.col("shown_from")) & (in_time | (pl.col("last_frame") <= pl.col("shown_until")))
    shown = waits.join(found, on=key).filter(is_shown)
    return (
        when_left(waits.join(shown, on=[*key, "start"], how="anti", maintain_order="left"), tables)
        .group_by(key, maintain_order=True)
        .agg(
            pl.col("first_frame").first(),
            start=(pl.col("left") - (pl.col("end") - pl.col("start"))).first(),
            last_frame=pl.col("ended_by").last(),
            lost=(pl.col("end") - pl.col("start")).sum(),
            waits=pl.len(),
        )
        .filter(ns("lost") >= WAITED_MIN_NS)
        .with_columns(
            confidence=pl.lit(CONFIDENCE_OF_WAITS),
            cause=pl.lit(_CAUSE),
            summary=pl.format(
                "after an idle period the response waited {} for its window to grow again, {} ms in all",
                times("waits"),
                ms("lost"),
            ),
            evidence=pl.format(
                "frames {} to {}: less was outstanding when the sender stopped than had been before the idle"
                " period, and the window of that time would have let the data go",
                "first_frame",
                "last_frame",
            ),
            remedy=pl.lit(REMEDY),
        )
    )


def _took_round_trip(rtt: pl.Expr) -> pl.Expr:
    """Whether an ACK can have let the second flight go: what came sooner after the first was written then."""
    import polars as pl

    starts = pl.col("flight_start_ns").cast(pl.List(pl.Int64))
    return starts.list.get(1) - starts.list.get(0) >= rtt * ROUND_TRIP_SHARE_MIN


def _has_fin(flight: int) -> pl.Expr:
    """Whether a flight of one segment is its sender's last, with the FIN.

    That has a number of its own (RFC 9293, section 3.4), which is outstanding besides the payload.
    """
    import polars as pl

    payload = pl.col("flight_first_bytes").list.get(flight) + pl.col("flight_behind_bytes").list.get(flight)
    return pl.col("flight_outstanding_bytes").list.get(flight) == payload + 1


def _window_before() -> pl.Expr:
    """The window, in segments, that the idle period threw away.

    The ACKs of the earlier flight opened it to twice as much, unless loss had ended slow start; from there
    it would have doubled each round trip (RFC 5681, section 3.1). On stacks from before RFC 2861 each ACK
    after them had opened it on, were it used or not.
    """
    import polars as pl

    earlier = pl.col("earlier_flight_segments")
    is_old = pl.col("initial_window_segments") < WINDOW_NOW_MIN
    opened = pl.when(is_old).then("earlier_window_segments").otherwise(0)
    no_loss = pl.col("earlier_retransmissions") == 0
    return pl.when(no_loss).then(pl.max_horizontal(earlier * 2, opened)).otherwise(earlier)


def _that_would_have_fit(window: pl.Expr) -> pl.Expr:
    """Flights behind the first that begin with what ``window`` would have let go at once: they waited for it.

    Of a window that connections share, the others had taken their part.
    """
    import polars as pl

    flights = pl.col("flight_segments").cast(pl.List(pl.Int64))
    before = flights.list.head(flights.list.len() - 1).list.eval(pl.element().cum_sum())
    fit = (before - window.cast(pl.Int64)).list.eval(pl.element() < 0).list.sum()
    return pl.when(pl.col("shares_window")).then(0).otherwise(fit)
