"""Faults of tcptrace, as rules that decide whether a fault explains a cell's difference.

``disagreements.toml`` explains the reasons. A rule is a necessary condition: it reads the notes of the
tcptrace model on the direction, or the relation between both figures. In addition, the model must reproduce
tcptrace's figure exactly. A difference can thus have no other origin than tcptrace.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from differential.tcptrace_model import Connection, Direction
    from tcptrace_http.peers import Field

__all__ = ["FAULTS", "Cell", "Fault"]

#: Factor to tcptrace's unit.
_UNITS: Final = {"": 1.0, "mean": 1.0, "ms": 1e-6, "s": 1e-9, "B/s": 1.0}
#: Half the last printed digit, plus two microseconds for two truncated times.
_TOLERANCES: Final = {"ms": 0.0522, "s": 0.000502, "B/s": 0.502}
#: tcptrace divides a mean of times by their number plus 0.0001, a mean of bytes plus 0.001.
_EXCESS: Final = {"ms": 0.0001, "mean": 0.001}
#: Both ends of an interval are truncated to microseconds.
_CUT_US: Final = 2
_WORD: Final = 2**32
_FEW: Final = 2
_SIGN: Final = 2**15
_HALF: Final = 2**63


@dataclass(frozen=True, slots=True)
class Cell:
    """tcptrace's figure beside ours."""

    field: Field
    theirs: str
    ours: list[Any]
    connection: Connection
    #: Keep-alive probes of the direction, and packets captured twice.
    has_keep_alives: bool
    has_copies: bool

    @property
    def name(self) -> str:
        """Field name without its direction."""
        return self.field.name.removesuffix("_a2b").removesuffix("_b2a")

    @property
    def direction(self) -> Direction:
        """Model of the figure's direction."""
        return self.connection.directions[self.field.name.endswith("_b2a")]

    @property
    def reverse(self) -> Direction:
        """Model of the other direction."""
        return self.connection.directions[not self.field.name.endswith("_b2a")]

    @property
    def number(self) -> float:
        """Our figure in tcptrace's unit; tcptrace prints 0 for absent measurements."""
        return float(self.ours[0] or 0) * _UNITS[self.field.unit]

    def is_equal(self) -> bool:
        """Return whether both agree: counts exactly, times to tcptrace's printed precision."""
        if self.field.unit == "text":
            return self.theirs == _text(self.name, self.ours)
        if self.theirs == "NA":
            return not self.ours[0]
        if self.field.unit == "":
            return self.theirs == str(int(self.number))
        off, excess = self.number - float(self.theirs), self.number * _EXCESS.get(self.field.unit, 0)
        if self.field.unit == "mean":
            return 0 <= off < 1 + excess
        is_mean = self.name in _MEANS
        tolerance = _TOLERANCES[self.field.unit]
        if self.field.unit == "B/s":
            tolerance += self.number * _CUT_US / max(self.connection.end - self.connection.start, 1)
        return -tolerance <= off <= tolerance + excess * is_mean


def _text(name: str, ours: list[Any]) -> str:
    value = ours[0]
    if name in {"first_packet", "last_packet"}:
        seconds, microseconds = divmod(value // 1000, 1_000_000)
        return f"{seconds}.{microseconds}"
    if name.startswith("SYN/FIN"):
        return "/".join(map(str, ours))
    if name.startswith("req_1323"):
        return f"{'NY'[value is not None]}/{'NY'[ours[1]]}"
    if name.startswith("req_sack"):
        return "NY"[value]
    return "NA" if value is None else str(value)


@dataclass(frozen=True, slots=True)
class Fault:
    """Columns affected by a fault, and the fault's condition."""

    columns: frozenset[str]
    condition: Callable[[Cell], bool]

    def explains(self, cell: Cell) -> bool:
        """Return whether the cell differs for this reason."""
        return cell.name in self.columns and self.condition(cell)


def _names(text: str) -> frozenset[str]:
    return frozenset(name.replace("~", " ") for name in text.split())


def _times(prefix: str) -> frozenset[str]:
    return frozenset(f"{prefix}_{moment}" for moment in ("min", "max", "avg", "stdev"))


_FULL: Final = _times("RTT_full_sz") | {"RTT_full_sz_smpls", "RTT full_sz_stdev"}
_LAST: Final = _names("ambiguous_acks RTT_min_(last) RTT_max_(last) RTT_avg_(last) RTT_sdv_(last)")
_RESENDING: Final = _names("max_#_retrans min_retr_time max_retr_time avg_retr_time sdv_retr_time")
_MEANS: Final = _names("RTT_avg RTT_full_sz_avg RTT_avg_(last) avg_retr_time")
_FLIGHT: Final = _names("max_owin min_non-zero_owin avg_owin")
_RESENT: Final = _names("rexmt_data_pkts rexmt_data_bytes outoforder_pkts")
_NEW: Final = _names("unique_bytes_sent missed_data throughput initial_window_bytes initial_window_pkts")
_SAMPLES: Final = _times("RTT") | _FULL | _LAST | _names("RTT_samples post-loss_acks segs_cum_acked RTT_from_3WHS")
#: All columns that depend on the sent and retransmitted numbers.
_NUMBERS: Final = _SAMPLES | _RESENDING | _RESENT | _NEW
_DUPLICATES: Final = _names("duplicate_acks triple_dupacks")
_OPTIONS: Final = _names("adv_wind_scale req_1323_ws/ts req_sack mss_requested")
_WINDOWS: Final = _names("max_win_adv min_win_adv avg_win_adv zero_win_adv")


def _noted(fault: str) -> Callable[[Cell], bool]:
    return lambda cell: fault in cell.direction.faults


def _is_one_more(cell: Cell) -> bool:
    return cell.ours[0] is not None and 0 <= cell.number + 1 - float(cell.theirs) < 1


def _is_open(cell: Cell) -> bool:
    first, second = cell.connection.directions
    return not (first.fins and second.fins) and not first.resets and not second.resets


def _is_one_sided(cell: Cell) -> bool:
    return not (cell.direction.has_scale and cell.reverse.has_scale)


def _has_other_divisor(cell: Cell) -> bool:
    model = cell.direction
    return "window-divisor" in model.faults or model.is_rescaled != cell.reverse.is_rescaled


def _has_few(cell: Cell) -> bool:
    model = cell.direction
    times = {"RTT_stdev": model.rtt, "RTT_sdv_(last)": model.last, "sdv_retr_time": model.resending}
    return times.get(cell.name, model.full).count <= _FEW


def _has_zero(cell: Cell) -> bool:
    model = cell.direction
    times = {"RTT_min": model.rtt, "RTT_min_(last)": model.last, "min_retr_time": model.resending}
    return times.get(cell.name, model.full).had_zero


_DEVIATIONS: Final = _names("RTT_stdev RTT_full_sz_stdev RTT~full_sz_stdev RTT_sdv_(last) sdv_retr_time")
_MINIMA: Final = _names("RTT_min RTT_full_sz_min RTT_min_(last) min_retr_time")

#: The first matching rule is a cell's reason: narrow rules come before wide rules.
FAULTS: Final[dict[str, Fault]] = {
    "window-scale-of-one-side": Fault(_OPTIONS, _is_one_sided),
    "options-of-any-segment": Fault(
        _OPTIONS | _WINDOWS,
        lambda cell: "options-of-any" in cell.direction.faults | cell.reverse.faults,
    ),
    "mss-with-a-sign": Fault(_names("mss_requested"), lambda cell: cell.ours[0] >= _SIGN),
    "idle-to-the-end-of-the-capture": Fault(_names("idletime_max"), _is_open),
    "window-mean-over-all-packets": Fault(_names("avg_win_adv"), _has_other_divisor),
    "zero-window-of-syn-or-fin": Fault(_names("zero_win_adv"), _noted("window-of-control")),
    "flight-one-byte-more": Fault(_FLIGHT, _is_one_more),
    "flight-before-any-ack": Fault(_FLIGHT, lambda cell: cell.ours[0] is None),
    "flight-below-zero": Fault(_FLIGHT | {"wavg_owin"}, _noted("flight-wrap")),
    "flight-of-one-packet": Fault(_FLIGHT, lambda cell: True),
    "flight-weighted-by-whole-byte-seconds": Fault(_names("wavg_owin"), lambda cell: True),
    "full-size-is-a-syn": Fault(_FULL, lambda cell: cell.direction.full_size == _WORD),
    "deviation-of-two": Fault(_DEVIATIONS, _has_few),
    "length-after-a-reset": Fault(_names("ttl_stream_length missed_data"), lambda cell: cell.direction.resets > 0),
    "missed-below-zero": Fault(_names("missed_data"), lambda cell: int(cell.theirs) >= _HALF),
    "zero-is-no-minimum": Fault(_MINIMA, _has_zero),
    "initial-window-without-syn": Fault(
        _names("initial_window_bytes initial_window_pkts"), lambda cell: cell.ours[0] is None
    ),
    "duplicate-ack-by-number": Fault(_DUPLICATES, _noted("duplicate-ack")),
    "copies-by-two-fields": Fault(_names("hardware_dups"), lambda cell: int(cell.theirs) != cell.ours[0]),
    "syn-and-fin-are-bytes": Fault(_names("rexmt_data_bytes"), _noted("control-bytes")),
    "keep-alive-is-data": Fault(_NUMBERS, lambda cell: cell.has_keep_alives),
    "copy-is-sent-again": Fault(_NUMBERS, lambda cell: cell.has_copies),
    "probe-is-no-data": Fault(_NUMBERS | _names("zwnd_probe_pkts zwnd_probe_bytes"), _noted("probe")),
    "acked-before-it-was-seen": Fault(_NUMBERS, _noted("acked-before")),
    "acked-in-part": Fault(_NUMBERS, _noted("partial-ack")),
    "sent-again-together": Fault(_NUMBERS, _noted("resent-together")),
    "quadrant-boundary": Fault(_NUMBERS, _noted("quadrant")),
    "reset-with-data": Fault(_NUMBERS, _noted("reset-with-data")),
    "handshake-of-a-fast-open": Fault(_names("RTT_from_3WHS"), _noted("data-on-syn")),
    "second-syn": Fault(_NUMBERS | {"ttl_stream_length"}, _noted("second-syn")),
    "numbers-far-apart": Fault(_NUMBERS | {"ttl_stream_length"}, _noted("far-numbers")),
    "before-the-first-seen": Fault(_RESENT, lambda cell: not cell.direction.syns),
    "second-fin": Fault(_NEW | {"ttl_stream_length"}, _noted("second-fin")),
    "acked-what-was-not-sent": Fault(_names("initial_window_bytes initial_window_pkts"), _noted("acked-unsent")),
    "sack-without-ack": Fault(
        _names("sack_pkts_sent dsack_pkts_sent max_sack_blks/ack"),
        lambda cell: cell.direction.n["sacks"] > cell.direction.n["sack_acks"],
    ),
    "dsack-without-wrap": Fault(_names("dsack_pkts_sent"), lambda cell: int(cell.theirs) != cell.ours[0]),
    "late-is-reordered": Fault(_RESENT, _noted("late")),
}
