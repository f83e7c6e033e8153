"""Sums of the waits in other vocabularies: HAR timings, RFC 4898 sender states, TAPO stalls.

The sums equal those of the waits: no time is dropped or counted twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import polars as pl

__all__ = ["HAR_TIMINGS", "ROLLUPS", "RollUp", "by_rfc4898", "by_tapo", "har_timings", "tls_timings"]

#: HAR 1.2 timings, in its order. A capture of a connection never shows the name lookup: dns is null.
HAR_TIMINGS: Final = ("blocked", "dns", "connect", "send", "wait", "receive")
#: Marker of time whose HAR phase depends on the waits before it: receive once a response is arriving, else
#: wait.
BY_PLACE: Final = "by place"
#: Word outside RFC 4898 and TAPO: the server's sender is not limited, or no stall exists.
NONE: Final = "none"

_CWND, _RWIN, _SND = "SndLimTimeCwnd", "SndLimTimeRwin", "SndLimTimeSnd"


@dataclass(frozen=True, slots=True)
class RollUp:
    """Names of a cause's time in other vocabularies."""

    #: Word of ``HAR_TIMINGS`` (HAR 1.2, Odvarko et al.), or ``BY_PLACE``.
    har: str
    #: State of the server's sender (RFC 4898, section 4.3: tcpEStatsPerfSndLimTime…), or ``NONE``.
    rfc4898: str
    #: Leaf of TAPO's stall tree (Zhou et al., CoNEXT 2015), or ``NONE``.
    tapo: str


ROLLUPS: Final = {
    "setup.handshake": RollUp("connect", NONE, NONE),
    "setup.tls_handshake": RollUp("connect", NONE, NONE),
    "setup.h2_settings": RollUp("blocked", NONE, NONE),
    "setup.syn_retransmission": RollUp("connect", NONE, NONE),
    "setup.unanswered": RollUp("connect", NONE, NONE),
    "request.send": RollUp("send", _SND, "client idle"),
    "server.think": RollUp("wait", _SND, "data unavailable"),
    "server.data_unavailable": RollUp("receive", _SND, "resource constraint"),
    "server.upstream": RollUp(BY_PLACE, _SND, "data unavailable"),
    "client.think": RollUp("blocked", _SND, "client idle"),
    "client.not_reading": RollUp("receive", _RWIN, "zero window"),
    "client.head_of_line": RollUp("wait", NONE, NONE),
    "send_limited.slow_start": RollUp("receive", _CWND, NONE),
    "send_limited.cwnd": RollUp("receive", _CWND, NONE),
    "send_limited.receive_window": RollUp("receive", _RWIN, NONE),
    "send_limited.zero_window": RollUp("receive", _RWIN, "zero window"),
    "send_limited.send_buffer": RollUp("receive", _SND, "resource constraint"),
    "send_limited.h2_stream_window": RollUp(BY_PLACE, _SND, "resource constraint"),
    "send_limited.h2_connection_window": RollUp(BY_PLACE, _SND, "resource constraint"),
    "send_limited.h2_window_update": RollUp(BY_PLACE, _SND, "resource constraint"),
    "send_limited.multiplexed_behind": RollUp(BY_PLACE, NONE, NONE),
    "send_limited.bottleneck": RollUp("receive", NONE, NONE),
    "stall.nagle_delayed_ack": RollUp("receive", _SND, "packet delay"),
    "stall.nagle_hold": RollUp("receive", _SND, NONE),
    "stall.delayed_ack_first_segment": RollUp("receive", _CWND, "packet delay"),
    "stall.cork_timeout": RollUp("receive", _SND, "resource constraint"),
    "stall.slow_start_restart": RollUp("receive", _CWND, NONE),
    "stall.retransmission_timeout": RollUp(BY_PLACE, _CWND, "timeout retransmission"),
    "stall.tail_loss": RollUp(BY_PLACE, _CWND, "tail retransmission"),
    "stall.fast_recovery": RollUp(BY_PLACE, _CWND, NONE),
    "stall.persist": RollUp("receive", _RWIN, "zero window"),
    "network.propagation": RollUp(BY_PLACE, NONE, NONE),
    "network.queueing": RollUp(BY_PLACE, NONE, "packet delay"),
    "network.reordering": RollUp(BY_PLACE, NONE, "packet delay"),
    "unfinished.unanswered": RollUp("wait", _SND, "data unavailable"),
    "unfinished.undelivered": RollUp(BY_PLACE, _CWND, "timeout retransmission"),
    "unfinished.stopped": RollUp(BY_PLACE, _SND, "resource constraint"),
    "unexplained": RollUp(BY_PLACE, NONE, "undetermined"),
    "unobserved": RollUp(BY_PLACE, NONE, NONE),
}


def har_timings(waits: pl.DataFrame) -> pl.DataFrame:
    """Return the HAR timings of each transaction: a row with ``flow``, ``transaction`` and the six timings as
    durations.

    ``waits`` has the columns of ``schema.TABLES["waits"]``. ``dns`` is null (HAR writes -1). Time by place,
    such as that of a lost segment, is ``receive`` after a wait of that kind, ``wait`` before it, and ``send``
    for request segments.

    >>> import tcptrace_http
    >>> analysis = tcptrace_http.analyze("sample_traces/lan_hdrsep_small.pcap")
    >>> tcptrace_http.har_timings(analysis.waits).columns
    ['flow', 'transaction', 'blocked', 'dns', 'connect', 'send', 'wait', 'receive']
    """
    import polars as pl

    rolled_up = _rolled_up()
    sends = _is_of_request() & rolled_up.is_in(["receive", BY_PLACE])
    phase = pl.when(sends).then(pl.lit("send")).otherwise(rolled_up)
    key = ["flow", "transaction"]
    receives = (pl.col("phase") == "receive").cum_max().over(key, order_by="start")
    by_place = pl.when(receives).then(pl.lit("receive")).otherwise(pl.lit("wait"))
    length = pl.col("end") - pl.col("start")
    return (
        waits.lazy()
        .with_columns(phase=pl.when(_is_held_in_handshake()).then(pl.lit("connect")).otherwise(phase))
        .with_columns(phase=pl.when(pl.col("phase") == BY_PLACE).then(by_place).otherwise("phase"))
        .group_by(key)
        .agg(
            pl.lit(None, pl.Duration("ns")).alias(name)
            if name == "dns"
            else length.filter(pl.col("phase") == name).sum().alias(name)
            for name in HAR_TIMINGS
        )
        .sort(key)
        .collect()
    )


def tls_timings(waits: pl.DataFrame) -> pl.DataFrame:
    """Return the TLS part of ``connect``, HAR's ``ssl``: ``flow``, ``transaction``, ``ssl``.

    Only transactions that waited for a TLS handshake have a row.
    """
    import polars as pl

    is_of_handshake = pl.col("cause").cast(pl.String) == "setup.tls_handshake"
    handshakes = waits.filter(is_of_handshake | _is_held_in_handshake())
    length = pl.col("end") - pl.col("start")
    return handshakes.group_by("flow", "transaction").agg(length.sum().alias("ssl"))


def _rolled_up() -> pl.Expr:
    """Return the HAR timing of a cause."""
    import polars as pl

    return pl.col("cause").cast(pl.String).replace_strict({name: up.har for name, up in ROLLUPS.items()})


def _is_held_in_handshake() -> pl.Expr:
    """Return whether a part of a TLS handshake was held: before its message, and behind another part."""
    import polars as pl

    is_before_message = pl.col("bytes").is_not_null() & pl.col("offset").is_null()
    before = _rolled_up().shift(1).over("flow", "transaction", order_by="start")
    return (is_before_message & (before == "connect")).fill_null(value=False)


def by_rfc4898(waits: pl.DataFrame) -> pl.DataFrame:
    """Return the time of each transaction by sender state: ``flow``, ``transaction``, ``state``, ``time``.
    ``none`` is time that did not wait for the response's sender.

    >>> import tcptrace_http
    >>> analysis = tcptrace_http.analyze("sample_traces/lan_hdrsep_small.pcap")
    >>> tcptrace_http.by_rfc4898(analysis.waits).columns
    ['flow', 'transaction', 'state', 'time']
    """
    import polars as pl

    of_response = waits.with_columns(cause=pl.when(~_is_of_request()).then(pl.col("cause").cast(pl.String)))
    return _summed(of_response, "state", {name: up.rfc4898 for name, up in ROLLUPS.items()})


def by_tapo(waits: pl.DataFrame) -> pl.DataFrame:
    """Return the time of each transaction by TAPO's stall kinds: ``flow``, ``transaction``, ``stall``, ``time``.

    ``none`` is time without a TAPO stall: ordinary round trips, and the handshake.

    >>> import tcptrace_http
    >>> analysis = tcptrace_http.analyze("sample_traces/lan_hdrsep_small.pcap")
    >>> tcptrace_http.by_tapo(analysis.waits).columns
    ['flow', 'transaction', 'stall', 'time']
    """
    return _summed(waits, "stall", {name: up.tapo for name, up in ROLLUPS.items()})


def _is_of_request() -> pl.Expr:
    """Return whether a segment of the request waited."""
    import polars as pl

    return (pl.col("direction").cast(pl.String) == "client_to_server").fill_null(value=False)


def _summed(waits: pl.DataFrame, column: str, names: dict[str, str]) -> pl.DataFrame:
    import polars as pl

    key = ["flow", "transaction", column]
    return (
        waits.lazy()
        .with_columns(pl.col("cause").cast(pl.String).replace_strict(names).fill_null(NONE).alias(column))
        .group_by(key)
        .agg(time=(pl.col("end") - pl.col("start")).sum())
        .sort(key)
        .collect()
    )
