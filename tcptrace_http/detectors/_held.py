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

from tcptrace_http.detectors._first_window import fills_first_window
from tcptrace_http.detectors._hold_owner import FROM_CLIENT, owner, whole_segments
from tcptrace_http.detectors._steady_holds import (
    RELEASE_USUAL_NS,
    STEADY_COUNT_MIN,
    STEADY_RATIO_MAX,
    is_steady,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

__all__ = ["DELAYED_ACK_MIN", "LOST_MIN", "held"]


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
#: Initial windows before RFC 6928 (RFC 3390): what waits a round trip behind such a first flight was held by the
#: window or by Nagle's algorithm, which the capture does not tell. A choice: less likely than not.
INITIAL_WINDOW_SEGMENTS: Final = (2, 4)
INITIAL_WINDOW_DOUBT: Final = 0.3
#: No window is of so many segments but the first one of a sender that counts the SYN's ACK as 4.4BSD does, and one
#: that has grown from a single segment by one ACK.
SEGMENTS_OF_NO_WINDOW: Final = 2
#: Proofs that the sender does not use Nagle's algorithm. Against a delayed ACK one is not enough: setting
#: TCP_NODELAY pushes what is held, and a tail-loss probe does so too.
NAGLE_DISPROOFS_MIN: Final = 2
#: ... nor are a few on a flow with many holds.
NAGLE_DISPROOFS_SHARE: Final = 0.5


#: Columns that only the rules of this file read.
_FACTS: Final = (
    "rtt_ns",
    "missing",
    "is_short",
    "is_delayed",
    "disproofs",
    "may_be_hold",
    "is_in_pace",
    "is_stall",
)
_ONE_SENDER: Final = ("flow", "direction")


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

    return (
        _pauses(tables, delayed_ack_min)
        .filter(_follows_ack())
        .with_columns(is_stall=_is_stall())
        .with_columns(may_be_hold=_may_be_hold())
        .with_columns(is_in_pace=pl.col("may_be_hold") & _was_prompt() & (_ns("ack_to_release").abs() <= _pace()))
        .with_columns(is_stall=pl.col("is_stall") | _is_stall_behind_short(lost_min))
        .filter(pl.col("is_stall") | _is_hold(lost_min))
        .filter(pl.col("lost") >= lost_min)
        .join(_transactions(tables), on=["flow", "transaction"], how="left", maintain_order="left")
        # A body that waited for 100 Continue (RFC 9110, section 10.1.1) waited for the server's word.
        .filter((pl.col("direction") != FROM_CLIENT) | (~pl.col("awaits_continue").fill_null(value=False)))
        .with_columns(
            cause=pl.when("is_stall")
            .then(pl.lit("stall.nagle_delayed_ack"))
            .otherwise(pl.lit("stall.nagle_hold")),
        )
        .filter(is_steady(lost_min, steady_ratio_max).over(*_ONE_SENDER, "cause"), ~_nagle_is_off())
        .with_columns(
            confidence=_confidence(),
            start=pl.col("could_send_time"),
            first_frame=pl.min_horizontal("short_frame", "previous_frame"),
            last_frame=pl.col("released_frame"),
            owner=owner(),
        )
        .drop(_FACTS)
    )


def _pauses(tables: Mapping[str, pl.DataFrame], delayed_ack_min: timedelta) -> pl.LazyFrame:
    """The pauses, each with what was ``lost`` and the first of :data:`_FACTS`."""
    import polars as pl

    flows = tables["flows"].lazy().select("flow", "nagle_disproofs", "client_nagle_disproofs", "has_syn")
    disproofs = (
        pl.when(pl.col("direction") == FROM_CLIENT).then("client_nagle_disproofs").otherwise("nagle_disproofs")
    )
    return (
        tables["pauses"]
        .lazy()
        .with_columns(lost=pl.col("released_time") - pl.col("could_send_time"))
        .join(flows, on="flow", how="left", maintain_order="left")
        .with_columns(
            rtt_ns=_ns("server_path_rtt").fill_null(0) + _ns("client_path_rtt").fill_null(0),
            missing=_missing_before(),
            is_short=pl.col("released_bytes") % pl.col("segment_bytes") != 0,
            is_delayed=pl.col("ack_delay").is_between(delayed_ack_min, DELAYED_ACK_MAX),
            disproofs=disproofs,
        )
    )


def _transactions(tables: Mapping[str, pl.DataFrame]) -> pl.LazyFrame:
    """What the transaction of a hold tells of its server, and whether its request waits for 100 Continue."""
    import polars as pl

    awaits_continue = (pl.col("expects_continue") | (pl.col("interim_responses") > 0)).alias("awaits_continue")
    transactions = tables["transactions"].lazy()
    return transactions.select("flow", pl.col("index").alias("transaction"), "server_software", awaits_continue)


def _ns(name: str) -> pl.Expr:
    import polars as pl

    return pl.col(name).dt.total_nanoseconds()


def _behind_short() -> pl.Expr:
    """Whether a short segment was outstanding."""
    import polars as pl

    return pl.col("short_frame").is_not_null()


def _at_once() -> pl.Expr:
    """So many bytes a receiver acknowledges without a delay (RFC 1122, section 4.2.3.2).

    One that counts the options in, as BSDs did, waits for a third: where its delay is seen, that is no path's.
    """
    import polars as pl

    return 2 * pl.col("segment_bytes").cast(pl.UInt64)


def _is_at_receiver() -> pl.Expr:
    """Whether the capture was taken nearer to the receiver of the data than to its sender."""
    import polars as pl

    return 2 * _to_sender_ns() > pl.col("rtt_ns")


def _to_sender_ns() -> pl.Expr:
    """From the capture to the sender of the data and back."""
    import polars as pl

    is_request = pl.col("direction") == FROM_CLIENT
    return pl.when(is_request).then(_ns("client_path_rtt")).otherwise(_ns("server_path_rtt")).fill_null(0)


def _shows_delay() -> pl.Expr:
    """Whether an ACK shows how late it is: next to its sender, or of a response, whose link has become known."""
    import polars as pl

    return _is_at_receiver() | (pl.col("direction") != FROM_CLIENT)


def _follows_ack() -> pl.Expr:
    """Whether the segment after the pause comes a round trip after an ACK."""
    import polars as pl

    rtt, full = pl.col("rtt_ns"), pl.col("segment_bytes")
    # What a short segment held until a delayed ACK came took its time on a link that is not known, too.
    may_be_on_link = pl.col("is_delayed") & pl.col("ack_covers_all") & _behind_short()
    # ... with what was lost right before it.
    bytes_on_link = pl.col("released_bytes") + pl.min_horizontal("missing", LOST_MAX * full)
    on_link = pl.min_horizontal(
        RELEASE_ON_LINK_MAX_NS * (bytes_on_link / full).ceil(),
        rtt * bytes_on_link / HANDSHAKE_BYTES,
    )
    # ... and on one that is known by as long as that takes for it.
    takes = (pl.col("could_send_time") - pl.col("previous_time")).dt.total_nanoseconds()
    on_link = pl.when(takes > 0).then(pl.min_horizontal(on_link, takes)).otherwise(on_link)
    late = pl.when(may_be_on_link).then(on_link).otherwise(0.0)
    slack = pl.max_horizontal(RELEASE_MAX_NS, rtt * RELEASE_RTT_SHARE, late)
    return _ns("ack_to_release") <= slack


def _is_stall() -> pl.Expr:
    """Whether the ACK of all that was outstanding was delayed, and could have been."""
    import polars as pl

    newly = pl.col("newly_acked_bytes")
    # What followed a head that left alone may come after its ACK has gone: the ACK covers all that had come.
    covers_head = _is_head_alone() & (pl.col("outstanding_bytes") <= newly)
    may_delay = (newly < _at_once()) | ((newly == _at_once()) & pl.col("is_short") & _shows_delay())
    return pl.col("is_delayed") & (pl.col("ack_covers_all") | covers_head) & may_delay


def _may_be_hold() -> pl.Expr:
    """Whether Nagle's algorithm may have held the segment until an ACK came that was not delayed.

    A full segment is not Nagle's to hold. It waits for the ACK of a small window, all of which one ACK opens; on
    an ordinary round trip that is slow start and no pathology. Nor is one with a FIN: its sender had closed, and
    nothing more could come to fill it. Nor is what came behind a full segment that was lost: the algorithm as
    RFC 896 has it waits for its ACK, too.
    """
    import polars as pl

    full = pl.col("segment_bytes")
    is_behind_lost = (pl.col("missing") >= full) & ~pl.col("sender_permits_sack")
    return (
        ~pl.col("is_stall")
        & ~is_behind_lost
        & pl.col("is_short")
        & (_behind_short() | _had_room())
        & ~pl.col("released_has_fin")
        & ~fills_first_window()
    )


def _was_prompt() -> pl.Expr:
    """Whether the ACK was not delayed: what one of two full segments is late by they took on the link."""
    import polars as pl

    newly = pl.col("newly_acked_bytes")
    is_acked_at_once = (newly > _at_once()) | ((newly == _at_once()) & ~_shows_delay())
    return ~pl.col("is_delayed") | (is_acked_at_once & ~_is_at_receiver())


def _pace() -> pl.Expr:
    """By how much a segment is early or late that an ordinary ACK lets go.

    Next to its sender it leaves at once: only that part of the path varies which both have before them.
    """
    import polars as pl

    return pl.max_horizontal(HOLD_SLACK_NS, _to_sender_ns() * HOLD_RTT_SHARE)


def _is_stall_behind_short(lost_min: timedelta) -> pl.Expr:
    """Whether a short one's delayed ACK released the next short one, with full ones in between (Minshall).

    On a flow that was seen to send short ones without, chance has as many ACKs near.
    """
    import polars as pl

    is_of_one = pl.col("is_delayed") & (pl.col("newly_acked_bytes") < _at_once())
    return (
        pl.col("may_be_hold")
        & (_behind_short() & ~pl.col("ack_covers_all") & (pl.col("disproofs") == 0))
        & is_of_one
        & (_ns("ack_to_release").abs() <= _pace())
        & (pl.col("lost") >= lost_min)
    )


def _is_hold(lost_min: timedelta) -> pl.Expr:
    """Whether what may be a hold is one, by the others of its sender.

    Where no delay of its own class speaks for a hold, one proof that the sender does without the algorithm is
    enough against a few of them.
    """
    import polars as pl

    is_in_pace = pl.col("is_in_pace")
    is_known_window = ~_fills_unknown_window()
    holds = (is_in_pace & is_known_window).sum().over(_ONE_SENDER)
    has_many = holds >= HOLDS_MIN
    # Who held short segments behind others where the window had room holds each that is so. The first
    # window of a connection may be of one segment.
    is_later = (pl.col("outstanding_segments") > 1) | (pl.col("released_offset") > pl.col("outstanding_bytes"))
    is_behind_shown = is_in_pace & _behind_short() & (holds > 0) & is_later & (pl.col("lost") >= lost_min)
    is_undisputed = is_behind_shown | (is_known_window & (is_in_pace | (pl.col("may_be_hold") & has_many)))
    return ((pl.col("disproofs") == 0) & is_undisputed) | (is_in_pace & is_known_window & has_many)


def _nagle_is_off() -> pl.Expr:
    """Whether the sender was seen to send short segments as often as it seemed to hold them."""
    import polars as pl

    return (
        (pl.col("disproofs") >= NAGLE_DISPROOFS_MIN)
        & (pl.col("disproofs") >= NAGLE_DISPROOFS_SHARE * pl.len().over(_ONE_SENDER))
        & pl.col("is_short")
        # A window of one segment holds what is short behind a short one as well, until the delayed ACK of that.
        & ~(pl.col("is_stall") & _behind_short() & _fills_unknown_window())
    )


def _confidence() -> pl.Expr:
    """A delay of its own class proves more than a pause of one round trip, which chance may give."""
    import polars as pl

    is_stall = pl.col("is_stall")
    may_be_coincidence = _ns("ack_to_release").abs() > RELEASE_USUAL_NS
    enough_to_compare = pl.len().over(*_ONE_SENDER, "cause") >= STEADY_COUNT_MIN
    # A first flight of so few segments may have been all that the initial window let go.
    is_initial_window = (
        (pl.col("transaction") == 0)
        & (pl.col("direction") != FROM_CLIENT)
        & pl.col("outstanding_segments").is_between(*INITIAL_WINDOW_SEGMENTS)
        & (pl.col("largest_flight_bytes") <= pl.col("outstanding_bytes"))
    )
    return (
        pl.when(is_stall | enough_to_compare).then(0.9).otherwise(0.75)
        + pl.when(enough_to_compare).then(0.08).when(may_be_coincidence).then(-0.3).otherwise(0.0)
        - pl.when(pl.col("has_syn")).then(0.0).otherwise(0.05)
        - pl.when(is_initial_window & ~is_stall).then(INITIAL_WINDOW_DOUBT).otherwise(0.0)
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
