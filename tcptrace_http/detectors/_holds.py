"""Data held by its sender: the waits for the releasing segment, and their place in the message.

Each hold belongs to one detector only, so no time is claimed twice.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._recoveries import ms

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

__all__ = [
    "CLIENT_HELLO",
    "DELAYED_ACK",
    "FROM_CLIENT",
    "HANDSHAKE",
    "HOLD",
    "LOST_MIN",
    "NAGLE",
    "Held",
    "held_findings",
    "holds",
    "with_hosts",
]

FROM_CLIENT: Final = "client_to_server"
DELAYED_ACK: Final = "stall.nagle_delayed_ack"
HOLD: Final = "stall.nagle_hold"
#: Waits caused by Nagle's algorithm.
NAGLE: Final = (DELAYED_ACK, HOLD)
#: Minimum wait for a finding: host scheduling alone causes shorter ones. Segmentation offload merges only
#: segments that pass a host within a fraction of that time. A hold therefore lies between two captured
#: packets, never within one.
LOST_MIN: Final = timedelta(milliseconds=2)
#: Confidence of a wait that server think time explains as well as a hold.
DOUBTFUL: Final = 0.5
_SEGMENT: Final = ("flow", "transaction", "last_frame")
#: Columns of ``tls_handshakes`` that place a held segment inside or behind a TLS handshake.
_HANDSHAKE: Final = (
    *("client_hello_time", "client_hello_frame", "client_hello_last_time", "client_finished_frame", "done_time"),
    *("unasked_first_frame", "unasked_last_frame"),
)
#: Places of data held inside a TLS handshake: the ClientHello, and the rest.
CLIENT_HELLO: Final = "client_hello"
HANDSHAKE: Final = "handshake"
#: Places of data held behind a handshake: the request behind Finished, the response behind session tickets.
_FINISHED: Final = "finished"
_TICKETS: Final = "tickets"
#: Descriptions of the short segment, by place.
_SAID_OF_BEHIND: Final = {
    _FINISHED: "the client's TLS Finished in a short segment",
    _TICKETS: "TLS session tickets in a short segment",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Held:
    """Texts of one detector about data held by Nagle's algorithm."""

    detector: str
    #: Summary with placeholders for the message and for the unacknowledged segment.
    what: str
    remedy: str
    #: Setting of each known server, by a pattern of the Server field.
    remedies: Mapping[str, str] = field(default_factory=dict)
    remedy_of_requests: str = ""


def holds(tables: Mapping[str, pl.DataFrame], causes: tuple[str, ...], *, lost_min: timedelta) -> pl.LazyFrame:
    """Return the waits of ``causes`` that lost at least ``lost_min``, with the finding columns except the texts.

    ``first_frame`` is the unacknowledged segment. ``who`` sent the held segment and ``receiver``
    acknowledged. ``what`` names the message. ``doubt`` names another explanation of the wait. ``place`` is
    the place of the segment in or behind a TLS handshake, or null.
    """
    import polars as pl

    before = pl.col("first_frame").min().over(_SEGMENT)
    return (
        tables["waits"]
        .lazy()
        .with_columns(
            pl.col("cause", "direction").cast(pl.String),
            first_frame=pl.coalesce("behind_frame", before),
            lost=pl.col("end") - pl.col("start"),
        )
        .filter(pl.col("cause").is_in(causes), pl.col("lost") >= lost_min)
        .pipe(with_hosts)
        .join(
            tables["tls_handshakes"].lazy().select("flow", *_HANDSHAKE),
            on="flow",
            how="left",
            maintain_order="left",
        )
        .with_columns(place=_place_in_handshake())
        .with_columns(
            what=pl.when(pl.col("place").is_in([CLIENT_HELLO, HANDSHAKE]))
            .then(pl.lit("TLS handshake"))
            .otherwise("what"),
            doubt=pl.when(pl.col("confidence") <= DOUBTFUL)
            .then(pl.lit(" (or the congestion window was full, or the application wrote the data only then)"))
            .otherwise(pl.lit("")),
        )
    )


def _place_in_handshake() -> pl.Expr:
    """Return the place of a held segment in or behind a TLS handshake; null for no such place."""
    import polars as pl

    is_from_client = pl.col("direction") == FROM_CLIENT
    # Near the server, its Finished passes the capture point before the client receives it.
    is_in_handshake = pl.col("offset").is_null() & pl.col("start").is_between(
        "client_hello_time", "done_time", closed="left"
    )
    is_in_hello = is_in_handshake & is_from_client & (pl.col("end") <= pl.col("client_hello_last_time"))
    # A segment with the first byte of the message holds more than Finished or tickets.
    is_before_message = pl.col("behind_offset") + pl.col("behind_bytes") <= 0
    behind = pl.when(is_before_message).then("behind_frame")
    is_behind_finished = (pl.col("start") >= pl.col("done_time")) & behind.is_between(
        "client_hello_frame", "client_finished_frame"
    )
    is_behind_tickets = behind.is_between("unasked_first_frame", "unasked_last_frame")
    return (
        pl.when(is_in_hello)
        .then(pl.lit(CLIENT_HELLO))
        .when(is_in_handshake)
        .then(pl.lit(HANDSHAKE))
        .when(is_from_client & is_behind_finished)
        .then(pl.lit(_FINISHED))
        .when(~is_from_client & is_behind_tickets)
        .then(pl.lit(_TICKETS))
    )


def with_hosts(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Return ``rows`` with the sender ``who``, the ``receiver``, and the message name ``what``; they need
    ``direction``.
    """
    import polars as pl

    is_request = pl.col("direction").cast(pl.String) == FROM_CLIENT
    return rows.with_columns(
        who=pl.when(is_request).then(pl.lit("client")).otherwise(pl.lit("server")),
        receiver=pl.when(is_request).then(pl.lit("server")).otherwise(pl.lit("client")),
        what=pl.when(is_request).then(pl.lit("request")).otherwise(pl.lit("response")),
    )


def held_findings(tables: Mapping[str, pl.DataFrame], held: Held, *, lost_min: timedelta) -> pl.LazyFrame:
    """Return the findings of one detector about data held by Nagle's algorithm."""
    import polars as pl

    waited_for = pl.when(pl.col("behind_frame").is_null()).then(
        pl.format("unacknowledged data (frame {})", "first_frame")
    )
    short = pl.format(
        "{} of {} bytes (frame {})",
        pl.col("place").replace_strict(_SAID_OF_BEHIND, default="a short segment", return_dtype=pl.String),
        "behind_bytes",
        "behind_frame",
    )
    how = (
        pl.when(pl.col("cause") == DELAYED_ACK)
        .then(pl.format("whose ACK the {} delayed", "receiver"))
        .otherwise(pl.lit("whose ACK took an ordinary round trip"))
    )
    specific = (
        pl.when(pl.col("server_software").str.contains(pattern)).then(pl.lit(f"{text}. "))
        for pattern, text in held.remedies.items()
    )
    return (
        holds(tables, NAGLE, lost_min=lost_min)
        .join(_transactions(tables), on=["flow", "transaction"], how="left", maintain_order="left")
        .filter(_owner() == held.detector)
        .with_columns(
            summary=pl.format(
                f"{held.what}, {{}}; {{}} bytes were held for {{}} ms{{}}",
                "what",
                waited_for.otherwise(short),
                how,
                "bytes",
                ms("lost"),
                "doubt",
            ),
            evidence=pl.format(
                "frame {}; the ACK in frame {} released frame {} ({} bytes{} of the {})",
                "first_frame",
                "released_by",
                "last_frame",
                "bytes",
                # A handshake and tickets in the same segment precede the message.
                pl.format(" at offset {}", "offset").fill_null(""),
                "what",
            ),
            remedy=pl.when(pl.col("who") == "client")
            .then(pl.lit(held.remedy_of_requests))
            .otherwise(pl.format("{}{}", pl.coalesce(*specific, pl.lit("")), pl.lit(held.remedy))),
        )
    )


def _transactions(tables: Mapping[str, pl.DataFrame]) -> pl.LazyFrame:
    transactions = tables["transactions"].lazy()
    # Under TLS the first record stands for an unreadable head: two writes seldom share a record.
    sizes = ("response_header_wire_bytes", "response_wire_bytes")
    continued = ("expects_continue", "interim_responses")
    return transactions.select("flow", *sizes, *continued, "server_software", transaction="index")


def _owner() -> pl.Expr:
    """Return the detector that owns a hold, by the hold's place in the message; null for none."""
    import polars as pl

    is_response = pl.col("direction") != FROM_CLIENT
    behind_end = pl.col("behind_offset") + pl.col("behind_bytes")
    is_behind_opening = (pl.col("behind_offset") <= 0) & (behind_end > 0)
    is_behind_head = is_behind_opening & (behind_end <= pl.col("response_header_wire_bytes"))
    is_last = pl.col("offset") + pl.col("bytes") >= pl.col("response_wire_bytes")
    is_known = (pl.col("cause") == DELAYED_ACK) | pl.col("behind_frame").is_not_null()
    # The detector expect-continue-wait owns a body that waits for 100 (Continue) (RFC 9110, section 10.1.1).
    awaits_continue = ~is_response & (pl.col("expects_continue") | (pl.col("interim_responses") > 0))
    place = pl.col("place")
    return (
        pl.when(place == CLIENT_HELLO)
        .then(pl.lit("tls-client-hello-split"))
        .when(place == HANDSHAKE)
        .then(pl.lit("tls-handshake-nagle"))
        .when(place.is_not_null())
        .then(pl.lit("tls-ticket-nagle"))
        .when(awaits_continue)
        .then(None)
        .when(is_response & (is_behind_head | (is_behind_opening & ~is_last)))
        .then(pl.lit("short-initial-segment"))
        .when(is_response & is_last & (pl.col("offset") > 0) & is_known)
        .then(pl.lit("odd-short-final-segment"))
        .when(pl.col("cause") == DELAYED_ACK)
        .then(pl.lit("nagle-delayed-ack"))
        .otherwise(pl.lit("nagle-hold"))
    )
