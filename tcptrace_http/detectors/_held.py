"""Data that was held until an acknowledgment came: the common part of the Nagle detectors.

A pause of a message is a hold if the segment after it was *released by an ACK*: it comes one round
trip (observation point to sender and back) after the ACK went by. Think time looks alike, but keeps
its own time: over several pauses of a flow, the distance from the ACK to the data then
varies as much as the pause itself, while behind an ACK it hardly varies at all.

Each hold belongs to one detector alone (:mod:`tcptrace_http.detectors._hold_owner`), so no time is claimed twice.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._hold_owner import FROM_CLIENT, owner, whole_segments

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

__all__ = ["DELAYED_ACK_MIN", "LOST_MIN", "held", "held_findings"]


#: Released data follows its ACK by -0.1 to 1.1 ms more than the path takes, on a busy server by 5.
RELEASE_MAX_NS: Final = 6_000_000
#: ... and on a long path by a share of it, for round trips vary.
RELEASE_RTT_SHARE: Final = 0.1
#: ... and on a link of which the pace is not known by what that takes for it: a full segment at 1.2 Mbit/s this.
RELEASE_ON_LINK_MAX_NS: Final = 10_000_000
#: So many segments may be missing of a flight of which the rest shows when it left.
LOST_MAX: Final = 3
#: The headers of a handshake crossed that link twice within a round trip: no byte takes longer than a share of it.
HANDSHAKE_BYTES: Final = 80
#: Data comes no sooner than its ACK lets it go, but for what a link seemed to take, and by less of the path: that
#: is the least round trip that was seen.
EARLY_MAX_NS: Final = 10_000_000
EARLY_RTT_SHARE: Final = 0.05
#: Within this it follows on all but a busy host; one that is later may be a coincidence.
RELEASE_USUAL_NS: Final = 2_000_000
#: Where the ACK was not delayed, the pause is one round trip; what comes later by more than this
#: share of it, or than a few segments take on a local network, was not ready before.
HOLD_RTT_SHARE: Final = 0.25
HOLD_SLACK_NS: Final = 500_000
#: An ACK later than this was delayed. Receivers use 10 ms (tuned), 40 (Linux) or 200 (BSD); an ACK
#: that is not delayed leaves within the time in which a host is scheduled.
DELAYED_ACK_MIN: Final = timedelta(milliseconds=8)
#: On a flow that shows this many holds in that pace Nagle's algorithm is at work, and a busy host
#: may take longer now and then.
HOLDS_MIN: Final = 5
#: Less than this is not worth a finding: hosts lose as much by scheduling.
LOST_MIN: Final = timedelta(milliseconds=2)
#: A delayed ACK waits less than 500 ms (RFC 1122, section 4.2.3.2).
DELAYED_ACK_MAX: Final = timedelta(milliseconds=500)
#: Pauses that it takes to tell think time by how it varies, and the variation that tells: measured
#: 0.00 to 0.49 for stalls and 0.78 to 157 for pauses of the application.
STEADY_COUNT_MIN: Final = 5
STEADY_RATIO_MAX: Final = 0.7
#: Less variation than this is the noise of a host and tells nothing; and data that comes so close behind
#: a delayed ACK, more often than not, was released by it however much a busy host spreads the rest.
STEADY_NOISE_NS: Final = 500_000
#: ... and so is a small share of the path, as which it is known, where it is one of what was lost each time, too:
#: a timer makes that always the same. Holds had 0.00 to 0.05 of that, chance 1.1 and more.
STEADY_LOST_SHARE_MAX: Final = 0.1
#: Initial windows before RFC 6928 (RFC 3390): what waits a round trip behind such a first flight was held by the
#: window or by Nagle's algorithm, which the capture does not tell. A choice: less likely than not.
INITIAL_WINDOW_SEGMENTS: Final = (2, 4)
INITIAL_WINDOW_DOUBT: Final = 0.3
#: No window is of so many segments but the first one of a sender that counts the SYN's ACK as 4.4BSD does, and one
#: that has grown from a single segment by one ACK.
SEGMENTS_OF_NO_WINDOW: Final = 2
#: The initial window of today (RFC 6928): behind so many segments of a connection the window held, too. Where
#: offload merged them, each is acknowledged by itself, and what was outstanding does not tell.
INITIAL_WINDOW_NOW: Final = 10
#: Proofs that the sender does not use Nagle's algorithm. Against a delayed ACK one is not enough: setting
#: TCP_NODELAY pushes what is held, and a tail-loss probe does so too.
NAGLE_DISPROOFS_MIN: Final = 2
#: ... nor are a few on a flow with many holds.
NAGLE_DISPROOFS_SHARE: Final = 0.5


def held(
    tables: Mapping[str, pl.DataFrame],
    *,
    delayed_ack_min: timedelta = DELAYED_ACK_MIN,
    lost_min: timedelta = LOST_MIN,
    steady_ratio_max: float = STEADY_RATIO_MAX,
) -> pl.LazyFrame:
    """Pauses in which data waited for an ACK, with ``cause``, ``start``, ``lost``, ``confidence``, ``owner``.

    Columns are those of ``pauses``, and ``server_software`` of the transaction. ``delayed_ack_min``
    is the least delay of an ACK that counts as delayed, ``lost_min`` the least loss that is told,
    ``steady_ratio_max`` how much the distance from ACK to data may vary, against the pause itself.
    """
    import polars as pl

    pauses = tables["pauses"].lazy()
    flows = tables["flows"].lazy().select("flow", "nagle_disproofs", "client_nagle_disproofs", "has_syn")
    awaits_continue = (pl.col("expects_continue") | (pl.col("interim_responses") > 0)).alias("awaits_continue")
    transactions = (
        tables["transactions"]
        .lazy()
        .select("flow", pl.col("index").alias("transaction"), "server_software", awaits_continue)
    )

    def ns(name: str) -> pl.Expr:
        return pl.col(name).dt.total_nanoseconds()

    rtt = ns("server_path_rtt").fill_null(0) + ns("client_path_rtt").fill_null(0)
    released_is_short = pl.col("released_bytes") % pl.col("segment_bytes") != 0
    is_delayed = pl.col("ack_delay").is_between(delayed_ack_min, DELAYED_ACK_MAX)
    # What a short segment held until a delayed ACK came took its time on a link that is not known, too.
    may_be_on_link = is_delayed & pl.col("ack_covers_all") & pl.col("short_frame").is_not_null()
    # ... with what was lost right before it.
    missing = _missing_before()
    bytes_on_link = pl.col("released_bytes") + pl.min_horizontal(missing, LOST_MAX * pl.col("segment_bytes"))
    on_link = pl.min_horizontal(
        RELEASE_ON_LINK_MAX_NS * (bytes_on_link / pl.col("segment_bytes")).ceil(),
        rtt * bytes_on_link / HANDSHAKE_BYTES,
    )
    late = pl.when(may_be_on_link).then(on_link).otherwise(0.0)
    slack = pl.max_horizontal(RELEASE_MAX_NS, rtt * RELEASE_RTT_SHARE, late)
    early = pl.max_horizontal(EARLY_MAX_NS, rtt * EARLY_RTT_SHARE)
    follows_ack = ns("ack_to_release").is_between(-early, slack)

    # A receiver that has two full segments to acknowledge does not delay (RFC 1122, 4.2.3.2). One that counts
    # the options in, as BSDs did, waits for a third: next to it its delay is seen, and is no path's.
    at_once = 2 * pl.col("segment_bytes").cast(pl.UInt64)
    to_sender = (
        pl.when(pl.col("direction") == FROM_CLIENT).then(ns("client_path_rtt")).otherwise(ns("server_path_rtt"))
    )
    is_at_receiver = 2 * to_sender.fill_null(0) > rtt
    # What followed a head that left alone may come after its ACK has gone: the ACK covers all that had come.
    covers_head = _is_head_alone() & (pl.col("outstanding_bytes") <= pl.col("newly_acked_bytes"))
    is_stall = (
        is_delayed
        & (pl.col("ack_covers_all") | covers_head)
        & (
            (pl.col("newly_acked_bytes") < at_once)
            | ((pl.col("newly_acked_bytes") == at_once) & released_is_short & is_at_receiver)
        )
    )
    fills_initial_window = (
        (pl.col("transaction") == 0)
        & (pl.col("direction") != FROM_CLIENT)
        & ((pl.col("released_offset") / pl.col("segment_bytes")).ceil() == INITIAL_WINDOW_NOW)
        & (pl.col("outstanding_bytes") <= pl.col("largest_flight_bytes"))
        & (pl.col("previous_bytes") > pl.col("segment_bytes"))
    )
    disproofs = (
        pl.when(pl.col("direction") == FROM_CLIENT).then("client_nagle_disproofs").otherwise("nagle_disproofs")
    )
    # A full segment is not Nagle's to hold. It waits for the ACK of a small window, all of which
    # one ACK opens; on an ordinary round trip that is slow start and no pathology. Nor is one with a FIN: its
    # sender had closed, and nothing more could come to fill it. Where no delay of its own class speaks for a hold,
    # one proof that the sender does without the algorithm is enough against a few of them.
    # Nor is what came behind a full segment that was lost: the algorithm as RFC 896 has it waits for its ACK, too.
    is_behind_lost = (missing >= pl.col("segment_bytes")) & ~pl.col("sender_permits_sack")
    may_be_hold = (
        ~is_stall
        & ~is_behind_lost
        & released_is_short
        & (pl.col("short_frame").is_not_null() | _had_room())
        & ~pl.col("released_has_fin")
        & ~fills_initial_window
    )
    is_known_window = ~_fills_unknown_window()
    one_sender = ("flow", "direction")
    pace = pl.max_horizontal(HOLD_SLACK_NS, rtt * HOLD_RTT_SHARE)
    # What an ACK of two full segments comes late by at their sender they took on the link.
    was_prompt = ~is_delayed | ((pl.col("newly_acked_bytes") >= at_once) & ~is_at_receiver)
    is_in_pace = may_be_hold & was_prompt & (ns("ack_to_release").abs() <= pace)
    holds = (is_in_pace & is_known_window).sum().over(one_sender)
    has_many = holds >= HOLDS_MIN
    # Who held short segments behind others where the window had room holds each that is so. The first
    # window of a connection may be of one segment.
    behind_short = pl.col("short_frame").is_not_null()
    is_later = (pl.col("outstanding_segments") > 1) | (pl.col("released_offset") > pl.col("outstanding_bytes"))
    has_lost = pl.col("lost") >= lost_min
    is_behind_shown = is_in_pace & behind_short & (holds > 0) & is_later & has_lost
    is_hold = (
        (disproofs == 0) & (is_behind_shown | (is_known_window & (is_in_pace | (may_be_hold & has_many))))
    ) | (is_in_pace & is_known_window & has_many)
    # A short one's delayed ACK releases the next short one, also if full ones were sent in between (Minshall). On
    # a flow that was seen to send short ones without, chance has as many ACKs near.
    is_behind_short = behind_short & ~pl.col("ack_covers_all") & (disproofs == 0)
    is_of_one = is_delayed & (pl.col("newly_acked_bytes") < at_once)
    is_stall |= may_be_hold & is_behind_short & is_of_one & (ns("ack_to_release").abs() <= pace) & has_lost

    is_steady = _is_steady(rtt, lost_min, steady_ratio_max).over(*one_sender, "cause")
    nagle_is_off = (
        (disproofs >= NAGLE_DISPROOFS_MIN)
        & (disproofs >= NAGLE_DISPROOFS_SHARE * pl.len().over(one_sender))
        & released_is_short
    )
    may_be_coincidence = ns("ack_to_release").abs() > RELEASE_USUAL_NS
    enough_to_compare = pl.len().over(*one_sender, "cause") >= STEADY_COUNT_MIN
    # A first flight of so few segments may have been all that the initial window let go.
    is_initial_window = (
        (pl.col("transaction") == 0)
        & (pl.col("direction") != FROM_CLIENT)
        & pl.col("outstanding_segments").is_between(*INITIAL_WINDOW_SEGMENTS)
        & (pl.col("largest_flight_bytes") <= pl.col("outstanding_bytes"))
    )
    # A delay of its own class proves more than a pause of one round trip, which chance may give.
    confidence = (
        pl.when(is_stall | enough_to_compare).then(0.9).otherwise(0.75)
        + pl.when(enough_to_compare).then(0.08).when(may_be_coincidence).then(-0.3).otherwise(0.0)
        - pl.when(pl.col("has_syn")).then(0.0).otherwise(0.05)
        - pl.when(is_initial_window & ~is_stall).then(INITIAL_WINDOW_DOUBT).otherwise(0.0)
    )
    return (
        pauses.with_columns(lost=pl.col("released_time") - pl.col("could_send_time"))
        .join(flows, on="flow", how="left", maintain_order="left")
        .filter(follows_ack)
        .filter(is_stall | is_hold)
        .filter(pl.col("lost") >= lost_min)
        .join(transactions, on=["flow", "transaction"], how="left", maintain_order="left")
        # A body that waited for 100 Continue (RFC 9110, section 10.1.1) waited for the server's word.
        .filter((pl.col("direction") != FROM_CLIENT) | (~pl.col("awaits_continue").fill_null(value=False)))
        .with_columns(
            cause=pl.when(is_stall).then(pl.lit("stall.nagle_delayed_ack")).otherwise(pl.lit("stall.nagle_hold")),
        )
        .filter(is_steady, ~nagle_is_off)
        .with_columns(
            confidence=confidence,
            start=pl.col("could_send_time"),
            first_frame=pl.min_horizontal("short_frame", "previous_frame"),
            last_frame=pl.col("released_frame"),
            owner=owner(),
        )
    )


def _is_steady(rtt: pl.Expr, lost_min: timedelta, steady_ratio_max: float) -> pl.Expr:
    """Whether the pauses of a flow and a cause follow their ACKs, and not a time of their own."""
    import polars as pl

    distance = pl.col("ack_to_release").dt.total_nanoseconds()
    lost = pl.col("lost").dt.total_nanoseconds()
    # Between the quartiles: one late segment on a busy host says nothing.
    varies = distance.quantile(0.75) - distance.quantile(0.25)
    pauses_vary = lost.quantile(0.75) - lost.quantile(0.25)
    ratio = varies / pauses_vary
    is_close = distance.abs().median() <= STEADY_NOISE_NS
    # Delayed ACKs of one timer make pauses that are alike: there is nothing to compare the distances with.
    are_alike = pl.max_horizontal(varies, pauses_vary) <= RELEASE_USUAL_NS
    typical = lost.filter(pl.col("lost") >= lost_min).median()
    return (
        (pl.len() < STEADY_COUNT_MIN)
        | (ratio <= steady_ratio_max)
        | (varies <= STEADY_NOISE_NS)
        | (varies <= pl.min_horizontal(STEADY_LOST_SHARE_MAX * typical, EARLY_RTT_SHARE * rtt.median()))
        | ((is_close | are_alike) & (pl.col("cause").first() == "stall.nagle_delayed_ack"))
    )


def _had_room() -> pl.Expr:
    """Whether a window that was used before had room for what waited until all was acknowledged.

    Such data was held by Nagle's algorithm as RFC 896 has it: behind full segments as well.
    """
    import polars as pl

    in_flight = pl.col("outstanding_bytes").cast(pl.Int64) + pl.col("released_bytes").cast(pl.Int64)
    window = pl.min_horizontal("largest_flight_bytes", "receive_window").cast(pl.Int64)
    return pl.col("ack_covers_all") & (in_flight <= window)


def _fills_unknown_window() -> pl.Expr:
    """Whether the congestion window alone may have held data: no larger one was ever shown.

    A window is a whole number of segments. The first one, and one after an idle period, was a single segment, or a
    few, before SACK (RFC 2001; RFC 2414 and RFC 2018 are of one time), and counted in bytes. None of these has two
    segments, of which a head alone and a full one leave a part; and behind the first flight a short segment and a
    full one do. Where these are all that is outstanding the window is larger than they show.
    """
    import polars as pl

    is_first_flight = (pl.col("transaction") == 0) & (pl.col("released_offset") <= pl.col("outstanding_bytes"))
    has_short = _is_head_alone() | (pl.col("short_frame").is_not_null() & ~is_first_flight)
    are_two = (pl.col("outstanding_segments") == SEGMENTS_OF_NO_WINDOW) & has_short
    outstanding = pl.col("outstanding_bytes").cast(pl.Int64)
    shown = whole_segments(outstanding)
    return (
        (pl.col("direction") != FROM_CLIENT)
        & pl.col("has_syn")
        & ~pl.col("sender_permits_sack")
        & (pl.col("largest_flight_bytes").cast(pl.Int64) <= shown)
        & (outstanding + pl.col("released_bytes").cast(pl.Int64) > shown)
        & ~are_two
    )


def _is_head_alone() -> pl.Expr:
    """Whether what was waited for is the response's head, which its application wrote alone."""
    import polars as pl

    is_head = (pl.col("short_offset") == 0) & (pl.col("short_bytes") <= pl.col("head_bytes"))
    return is_head.fill_null(value=False)


def _missing_before() -> pl.Expr:
    """Bytes that were lost between what was waited for and what was released, as far as that is known."""
    import polars as pl

    is_alone = pl.col("outstanding_segments") == 1
    waited_for = pl.when(is_alone).then("short_bytes").otherwise("outstanding_bytes").cast(pl.Int64)
    missing = pl.col("released_offset").cast(pl.Int64) - pl.col("short_offset") - waited_for
    return pl.max_horizontal(0, pl.when("ack_covers_all").then(missing)).fill_null(0)


def held_findings(
    holds: pl.LazyFrame,
    *,
    what: str,
    remedy: str,
    remedies: Mapping[str, str] | None = None,
    remedy_of_requests: str = "",
) -> pl.LazyFrame:
    """Findings of holds. ``what`` has places for the bytes and the frame of what was waited for;
    ``remedies`` maps a pattern of the Server field to what to change in that server, and
    ``remedy_of_requests`` is for data that the client held.
    """
    import polars as pl

    def ms(name: str) -> pl.Expr:
        return (pl.col(name).dt.total_nanoseconds() / 1e6).round(3)

    waited_for = (
        pl.coalesce("short_bytes", "previous_bytes"),
        pl.coalesce("short_frame", "previous_frame"),
    )
    is_request = pl.col("direction") == FROM_CLIENT
    receiver = pl.when(is_request).then(pl.lit("server")).otherwise(pl.lit("client"))
    how = (
        pl.when(pl.col("cause") == "stall.nagle_delayed_ack")
        .then(pl.format("whose ACK the {} delayed by {} ms", receiver, ms("ack_delay")))
        .otherwise(pl.lit("whose ACK took an ordinary round trip"))
    )
    specific = pl.coalesce(
        *(
            pl.when(pl.col("server_software").str.contains(pattern)).then(pl.lit(f"{text}. "))
            for pattern, text in (remedies or {}).items()
        ),
        pl.lit(""),
    )
    return holds.with_columns(
        summary=pl.format(
            f"{what} {{}}; {{}} bytes were held for {{}} ms",
            *waited_for,
            how,
            pl.col("released_bytes"),
            ms("lost"),
        ),
        evidence=pl.format(
            "frame {} ({} bytes), ACK in frame {}, then frame {} ({} bytes) {} ms after it, less the path",
            "previous_frame",
            "previous_bytes",
            "ack_frame",
            "released_frame",
            "released_bytes",
            ms("ack_to_release"),
        ),
        remedy=pl.when(is_request)
        .then(pl.lit(remedy_of_requests))
        .otherwise(pl.format("{}{}", specific, pl.lit(remedy))),
    )
