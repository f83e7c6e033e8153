"""What tcptrace 6.6.7 computes of a connection, its faults included, from packets as we read them.

Written from its behaviour, to explain it: where tcptrace and we differ on a figure, this model must give
tcptrace's figure to the last digit, and ``FAULTS`` names what in it makes the difference. A fault is noted
on the direction it strikes, so that a difference can be ascribed to it, and to nothing else.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["PACKET_COLUMNS", "Connection", "connections"]

PACKET_COLUMNS: Final = (
    "frame time source destination identification source_port destination_port seq_raw ack_raw flags window_raw"
    " urgent_pointer mss_option window_scale_option sack_permitted sack_edges_raw timestamp_value payload_bytes"
    " payload_captured_bytes"
).split()

_FIN, _SYN, _RST, _PSH, _ACK, _URG = 1, 2, 4, 8, 16, 32
_WORD: Final = 2**32
_LONG: Final = 2**64
_SHORT: Final = 2**16
#: Beyond half the largest window (RFC 7323, section 2.3) nobody sends.
_FAR: Final = 2**29
_QUADRANT_BITS: Final = 30
_REMEMBERED: Final = 8
_SILENCE_US: Final = 240_000_000
_TRIPLE: Final = 4
_COUNT: Final = 256


@dataclass(slots=True)
class _Piece:
    """Numbers sent together."""

    first: int
    last: int
    time: int
    resent: int = 0
    acked: int = 0


@dataclass(slots=True)
class _Quadrant:
    pieces: list[_Piece] = field(default_factory=list)
    before: _Quadrant | None = None
    after: _Quadrant | None = None


@dataclass(slots=True)
class _Times:
    """A minimum that takes zero for none, a maximum, and sums, in microseconds."""

    least: int = 0
    most: int = 0
    total: float = 0.0
    squares: float = 0.0
    count: int = 0
    had_zero: bool = False

    def add(self, time: int) -> None:
        self.had_zero |= time == 0
        if self.least == 0 or time < self.least:
            self.least = time
        self.most = max(self.most, time)
        self.total += time
        self.squares += float(time) * time
        self.count += 1

    def mean(self) -> float:
        return self.total / (self.count + 0.0001)

    def deviation(self) -> float:
        if self.count <= 2:
            return 0.0
        variance = (self.squares - self.total * self.total / self.count) / (self.count - 1)
        return math.sqrt(variance) if variance >= 0 else math.nan


class _Space:
    """The circle of sequence numbers in four quadrants, of which three at a time are kept."""

    def __init__(self) -> None:
        self.quadrants: list[_Quadrant | None] = [None] * 4

    def at(self, seq: int) -> _Quadrant:
        index = seq >> _QUADRANT_BITS
        here = self.quadrants[index]
        if here and here.before and here.after:
            return here
        here, after, before = (self._made((index + step) % 4) for step in (0, 1, 3))
        self.quadrants[(index + 2) % 4] = None
        here.before, here.after = before, after
        after.before, before.after = here, here
        after.after, before.before = None, None
        return here

    def _made(self, index: int) -> _Quadrant:
        made = self.quadrants[index] or _Quadrant()
        self.quadrants[index] = made
        return made


class Direction:
    """One direction: what one end sent."""

    def __init__(self) -> None:
        self.faults: set[str] = set()
        self.space = _Space()
        self.n: dict[str, int] = dict.fromkeys(_COUNTERS, 0)
        self.rtt, self.full, self.last, self.resending = _Times(), _Times(), _Times(), _Times()
        self.full_size = self.rtt_last = self.rtt_handshake = 0
        self.syn = self.fin = self.ack = self.windowend = self.latest = 0
        self.syns = self.fins = self.resets = 0
        self.has_scale = self.has_stamps = self.may_sack = self.is_rescaled = self.data_acked = False
        self.scale = self.mss = 0
        self.window_last = self.idle = self.weighted = 0
        self.time: int | None = None
        self.flight_time: int | None = None
        self.flight_last = 0
        self.first_data: int | None = None
        self.last_data = 0
        self.recent: list[tuple[int, int]] = [(0, 0)] * _REMEMBERED
        self.recent_at = 0
        self.acked: int | None = None
        self.said: int | None = None

    # -- sending -------------------------------------------------------------------------------------------

    def send(self, seq: int, length: int, now: int) -> tuple[int, bool]:
        """Numbers sent again, and whether they came late."""
        if self.acked is not None and _signed(seq + length - self.acked) <= 0:
            self.faults.add("acked-before")
        last = (seq + length - 1) % _WORD
        here = self.space.at(seq)
        if seq >> _QUADRANT_BITS == last >> _QUADRANT_BITS:
            return self._put(here, seq, length, now)
        self.faults.add("quadrant")
        until = ((seq >> _QUADRANT_BITS) + 1 << _QUADRANT_BITS) - seq
        again, _ = self._put(here, seq, until, now)
        assert here.after is not None
        more, late = self._put(here.after, (last >> _QUADRANT_BITS) << _QUADRANT_BITS, length - until, now)
        return again + more, late

    def _put(self, here: _Quadrant, first: int, length: int, now: int) -> tuple[int, bool]:
        last, again, late, is_more = first + length - 1, 0, False, False
        pieces = here.pieces
        at = len(pieces) if pieces and first > pieces[-1].last else 0
        while at < len(pieces):
            piece = pieces[at]
            if first > piece.last:
                at += 1
                continue
            if first < piece.first:
                late |= last < piece.last
                pieces.insert(at, _Piece(first, min(last, piece.first - 1), now))
                at += 1
                if last < piece.first:
                    return again, late
                first = piece.first
            piece.resent += 1
            if is_more:
                self.faults.add("resent-together")
            else:
                self._resend(piece, now)
            if last <= piece.last:
                return again + last - first + 1, late
            is_more = True
            again += piece.last - first + 1
            first = piece.last + 1
            at += 1
        pieces.append(_Piece(first, last, now))
        return again, late

    def _resend(self, piece: _Piece, now: int) -> None:
        if not piece.acked:
            self.n["resent_max"] = max(self.n["resent_max"], piece.resent)
            self.resending.add(_elapsed(piece.time, now))
        piece.time = now

    # -- being acknowledged --------------------------------------------------------------------------------

    def acknowledge(self, ack: int, peer: Direction, length: int, window: int, now: int) -> None:
        self.acked = ack if self.acked is None or _signed(ack - self.acked) > 0 else self.acked
        here = self.space.at(ack)
        assert here.before is not None
        latest, changed = self._acknowledge_all(here.before), False
        for piece in here.pieces:
            if ack <= piece.first:
                break
            latest = max(latest, piece.time)
            if piece.acked:
                self._acknowledge_again(piece, ack, peer, length, window)
                continue
            piece.acked += 1
            changed = True
            if ack == (piece.last + 1) % _WORD:
                self._sample(piece, now, is_behind=latest > piece.time)
            else:
                self.n["cumulative"] += 1
                self.faults |= {"partial-ack"} if ack <= piece.last else set()
        if changed:
            _collapse(here)

    def _acknowledge_all(self, here: _Quadrant) -> int:
        """Acknowledges a quadrant before that of the ACK; when its newest piece was sent."""
        waiting = [piece for piece in here.pieces if not piece.acked]
        for piece in waiting:
            piece.acked += 1
        if waiting:
            self.n["cumulative"] += len(waiting)
            self.faults.add("quadrant")
            _collapse(here)
        return max((piece.time for piece in waiting), default=0)

    def _acknowledge_again(self, piece: _Piece, ack: int, peer: Direction, length: int, window: int) -> None:
        is_duplicate = ack == (piece.last + 1) % _WORD and ack == peer.ack and length == 0
        if is_duplicate and window == peer.window_last and self.n["flight_total"] > 0:
            self.n["duplicates"] += 1
            piece.acked += 1
            self.n["triples"] += piece.acked == _TRIPLE
        else:
            piece.acked = 1

    def _sample(self, piece: _Piece, now: int, *, is_behind: bool) -> None:
        time = _elapsed(piece.time, now)
        if is_behind:
            self.rtt_last = 0
            self.n["post_loss"] += 1
        elif piece.resent:
            self.rtt_last = 0
            self.last.add(time)
        else:
            self.rtt_last = time
            self.rtt.add(time)
            size = piece.last - piece.first + 1 if piece.last > piece.first else _WORD - piece.first + piece.last
            if size > self.full_size:
                self.full_size, self.full = size, _Times()
            if size == self.full_size:
                self.full.add(time)


_COUNTERS: Final = (
    "packets ack_packets pure_acks sack_acks dsacks sack_blocks unique data_packets data_bytes resent_packets"
    " resent_bytes probes probe_bytes late pushed sacks urgent urgent_bytes size_max size_min window_max"
    " window_min window_zero window_total scaled flight_max flight_min flight_total flights initial_bytes"
    " initial_packets cut_bytes cut_packets copies cumulative duplicates triples post_loss resent_max"
).split()


def _elapsed(start: int, end: int) -> int:
    return max(end - start, 0)


def _collapse(here: _Quadrant) -> None:
    """Makes one of acknowledged pieces that touch, from the start on."""
    pieces = here.pieces
    at = 0
    while at + 1 < len(pieces) and pieces[at].acked:
        one, other = pieces[at], pieces[at + 1]
        if other.acked and one.last + 1 == other.first:
            one.last, one.acked, one.time = other.last, other.acked, max(one.time, other.time)
            del pieces[at + 1]
        else:
            at += 1


def _signed(number: int) -> int:
    number %= _WORD
    return number - _WORD if number >= _WORD // 2 else number


class Connection:
    """A connection as tcptrace tells them apart."""

    def __init__(self, packet: dict[str, Any]) -> None:
        self.ends = _source(packet), _destination(packet)
        self.directions = Direction(), Direction()
        self.frames: list[int] = []
        self.start = self.end = _microseconds(packet)

    def halves(self, packet: dict[str, Any]) -> tuple[Direction, Direction]:
        """The direction of the packet, and the other one."""
        first, second = self.directions
        return (first, second) if _source(packet) == self.ends[0] else (second, first)

    def is_over_at(self, packet: dict[str, Any]) -> bool:
        """Whether the packet belongs to another connection between the same ends."""
        if _microseconds(packet) - self.end > _SILENCE_US:
            return True
        if not packet["flags"] & _SYN:
            return False
        this, other = self.halves(packet)
        seq = packet["seq_raw"]
        was_closed = this.fins or other.fins or this.resets or other.resets
        # Meant to heed the wrap; a long of 64 bits does not.
        is_outside = seq > other.windowend or seq < this.syn
        return bool(was_closed and is_outside) or (this.syns > 1 and this.syn != seq)

    def take(self, packet: dict[str, Any]) -> None:
        """The next packet of the connection."""
        self.frames.append(packet["frame"])
        now = self.end = _microseconds(packet)
        this, other = self.halves(packet)
        flags, length = packet["flags"], packet["payload_bytes"]
        _count_flags(this, packet)
        window = _window(this, other, packet)
        if this.time is not None:
            this.idle = max(this.idle, _elapsed(this.time, now))
        this.time = now
        _places(this, other, packet, window)
        _options(this, other, packet)
        _data(this, packet, now)
        _copies(this, packet)
        again, late = _numbers(this, other, packet, now)
        if flags & _ACK:
            _note_duplicate(this, other, packet, window)
            other.acknowledge(packet["ack_raw"], this, length, window, now)
            if packet["ack_raw"] == (other.syn + 1) % _WORD and other.syns == 1:
                other.rtt_handshake = other.rtt_last
        if again > 0:
            this.n["resent_packets"] += 1
            this.n["resent_bytes"] += again
        if flags & _RST:
            this.faults.add("window-divisor")
            this.n["ack_packets"] += bool(flags & _ACK)
            return
        _windows(this, other, packet, window)
        if flags & _ACK:
            _acks(this, packet)
        _initial(this, other, packet, is_again=again > 0)
        if not flags & _SYN and not late and again <= 0:
            _flight(this, other, packet, now)

    def columns(self, end_of_capture: int) -> dict[str, str]:
        """What tcptrace prints, without the padding."""
        first, second = self.directions
        is_closed = (first.fins > 0 and second.fins > 0) or first.resets or second.resets
        columns: dict[str, str] = {}
        for name, this in (("a2b", first), ("b2a", second)):
            both_scaled = first.is_rescaled and second.is_rescaled
            idle = this.idle
            if not is_closed and this.time is not None:
                idle = max(idle, _elapsed(this.time, end_of_capture))
            elapsed = _elapsed(self.start, self.end)
            values = _values(this, elapsed, idle, both_scaled=both_scaled)
            columns |= {f"{key}_{name}": value for key, value in values.items()}
        columns["RTT full_sz_stdev_a2b"] = columns.pop("RTT_full_sz_stdev_a2b")
        return columns


def _count_flags(this: Direction, packet: dict[str, Any]) -> None:
    flags = packet["flags"]
    this.syns = (this.syns + bool(flags & _SYN)) % _COUNT
    this.resets = (this.resets + bool(flags & _RST)) % _COUNT
    this.fins = (this.fins + bool(flags & _FIN)) % _COUNT


def _window(this: Direction, other: Direction, packet: dict[str, Any]) -> int:
    flags, window = packet["flags"], int(packet["window_raw"])
    if not flags & (_ACK | _SYN):
        return 0
    if this.has_scale and other.has_scale and not flags & _SYN:
        return window << this.scale
    return window


def _places(this: Direction, other: Direction, packet: dict[str, Any], window: int) -> None:
    flags, end = packet["flags"], (packet["seq_raw"] + packet["payload_bytes"]) % _WORD
    if this.n["packets"] and abs(_signed(end - this.latest)) >= _FAR:
        this.faults.add("far-numbers")
        other.faults.add("far-numbers")
    if flags & _SYN and this.syns > 1 and this.syn != packet["seq_raw"]:
        this.faults.add("second-syn")
        other.faults.add("second-syn")
    if flags & _SYN and packet["payload_bytes"]:
        this.faults.add("data-on-syn")
    if flags & _SYN:
        this.syn = other.ack = packet["seq_raw"]
    if flags & _FIN and (flags & _SYN or (this.fins > 1 and this.fin != end)):
        this.faults.add("second-fin")
    if flags & _FIN:
        this.fin = end
    if flags & _ACK:
        this.windowend = (packet["ack_raw"] + window) % _WORD
    this.latest = end


def _options(this: Direction, other: Direction, packet: dict[str, Any]) -> None:
    if packet["mss_option"] is not None:
        mss = packet["mss_option"]
        # Read as a short with a sign, of which -1 stands for none, and kept without one.
        if mss != _SHORT - 1:
            this.mss = mss if mss < _SHORT // 2 else _WORD - _SHORT + mss
    has_option = packet["mss_option"] is not None or packet["window_scale_option"] is not None
    if has_option and (this.syns > 1 or not packet["flags"] & _SYN):
        this.faults.add("options-of-any")
    if packet["window_scale_option"] is not None:
        this.scale, this.has_scale = packet["window_scale_option"], True
    this.has_stamps |= packet["timestamp_value"] is not None
    if not packet["flags"] & _SYN and not (this.has_scale and other.has_scale):
        this.scale = other.scale = 0
    this.may_sack |= bool(packet["sack_permitted"])
    this.n["sacks"] += len(packet["sack_edges_raw"]) > 1


def _data(this: Direction, packet: dict[str, Any], now: int) -> None:
    n, length = this.n, packet["payload_bytes"]
    n["packets"] += 1
    n["scaled"] += this.is_rescaled
    if length <= 0:
        return
    n["data_packets"] += 1
    n["pushed"] += bool(packet["flags"] & _PSH)
    n["data_bytes"] += length
    if packet["flags"] & _URG:
        n["urgent"] += 1
        n["urgent_bytes"] += packet["urgent_pointer"]
    n["size_max"] = max(n["size_max"], length)
    n["size_min"] = min(n["size_min"] or length, length)
    if this.first_data is None:
        this.first_data = now
    this.last_data = now
    cut = length - packet["payload_captured_bytes"]
    if cut > 0:
        n["cut_bytes"] += cut
        n["cut_packets"] += 1


def _copies(this: Direction, packet: dict[str, Any]) -> None:
    if ":" in packet["source"]:
        return
    key = packet["seq_raw"], packet["identification"]
    if key in this.recent and all(key):
        this.n["copies"] += 1
        return
    this.recent[this.recent_at] = key
    this.recent_at = (this.recent_at + 1) % _REMEMBERED


def _numbers(this: Direction, other: Direction, packet: dict[str, Any], now: int) -> tuple[int, bool]:
    flags, length = packet["flags"], packet["payload_bytes"]
    if length <= 0 and not flags & (_SYN | _FIN):
        return 0, False
    n, again, late = this.n, 0, False
    syn, fin = bool(flags & _SYN), bool(flags & _FIN)
    if other.window_last == 0 and other.n["packets"] > 0 and not syn:
        n["probes"] += 1
        n["probe_bytes"] += length
        this.faults.add("probe")
        return 0, False
    again, late = this.send(packet["seq_raw"], length + syn + fin, now)
    n["late"] += late
    if again > 0 and (syn or fin):
        this.faults.add("control-bytes")
    if late:
        this.faults.add("late")
    counted = again - (syn and this.syns > 1) - (fin and this.fins > 1)
    n["unique"] += max(length - counted, 0)
    if flags & _RST:
        this.faults.add("reset-with-data")
    return again, late


def _note_duplicate(this: Direction, other: Direction, packet: dict[str, Any], window: int) -> None:
    """Notes an ACK that repeats the one before, for which tcptrace's rule is not that of RFC 5681."""
    if packet["ack_raw"] == this.said and not packet["payload_bytes"] and window == this.window_last:
        other.faults.add("duplicate-ack")
    this.said = packet["ack_raw"]


def _windows(this: Direction, other: Direction, packet: dict[str, Any], window: int) -> None:
    n = this.n
    this.window_last = window
    if not packet["flags"] & (_ACK | _SYN):
        this.faults.add("window-divisor")
        return
    if packet["flags"] & (_SYN | _FIN) and window == 0:
        this.faults.add("window-of-control")
    n["window_max"] = max(n["window_max"], window)
    is_scaled = this.has_scale and other.has_scale and not packet["flags"] & _SYN
    if window > 0 and is_scaled and not this.is_rescaled:
        this.is_rescaled = True
        n["window_min"] = n["window_max"] = window
        n["window_total"], n["scaled"] = 0, 1
    elif window > 0:
        n["window_min"] = min(n["window_min"] or window, window)
    n["window_total"] += window
    n["window_zero"] += window == 0 and bool(packet["flags"] & _ACK)


def _acks(this: Direction, packet: dict[str, Any]) -> None:
    n, edges = this.n, packet["sack_edges_raw"]
    n["ack_packets"] += 1
    n["pure_acks"] += packet["payload_bytes"] == 0 and not packet["flags"] & (_SYN | _FIN | _RST)
    if len(edges) > 1:
        n["sack_acks"] += 1
        n["sack_blocks"] = max(n["sack_blocks"], len(edges) // 2)
        n["dsacks"] += _is_dsack(edges, packet["ack_raw"])
    this.ack = packet["ack_raw"]


def _is_dsack(edges: list[int], ack: int) -> bool:
    left, right = edges[:2]
    if right <= ack:
        return True
    if len(edges) < 4:
        return False
    left2, right2 = edges[2:4]
    if right <= right2 and left >= left2:
        return True
    return (left <= left2 and right > left2) or (right >= right2 and left < right2)


def _initial(this: Direction, other: Direction, packet: dict[str, Any], *, is_again: bool) -> None:
    if packet["flags"] & _ACK and (other.syn + 1) % _WORD != packet["ack_raw"]:
        if _signed(packet["ack_raw"] - other.latest) > 1 or _signed(packet["ack_raw"] - other.syn) < 0:
            other.faults.add("acked-unsent")
        other.data_acked = True
    if packet["payload_bytes"] > 0 and not this.data_acked and not is_again:
        this.n["initial_bytes"] += packet["payload_bytes"]
        this.n["initial_packets"] += 1


def _flight(this: Direction, other: Direction, packet: dict[str, Any], now: int) -> None:
    n = this.n
    length = packet["payload_bytes"]
    end = packet["seq_raw"] + length
    flight = length if other.ack == 0 else (end - (other.ack - 1) % _WORD) % _LONG
    if flight >= _WORD // 2:
        this.faults.add("flight-wrap")
    n["flight_max"] = max(n["flight_max"], flight)
    if flight > 0:
        n["flight_min"] = min(n["flight_min"] or flight, flight)
    n["flight_total"] = (n["flight_total"] + flight) % _LONG
    n["flights"] += 1
    if this.flight_time is not None:
        seconds = _elapsed(this.flight_time, now) / 1_000_000
        this.weighted += int(this.flight_last * seconds)
    this.flight_time, this.flight_last = now, flight


def _stream(this: Direction) -> int | None:
    if not (this.syns and this.fins):
        return None
    last = this.latest if this.resets else this.fin
    return last - this.syn - 1 if last > this.syn else _WORD + last - this.syn - 1


def _values(this: Direction, elapsed: int, idle: int, *, both_scaled: bool) -> dict[str, str]:
    n, stream = this.n, _stream(this)
    windows = n["scaled"] if both_scaled else n["packets"]
    whole: dict[str, int] = {
        "total_packets": n["packets"], "resets_sent": this.resets, "ack_pkts_sent": n["ack_packets"],
        "pure_acks_sent": n["pure_acks"], "sack_pkts_sent": n["sack_acks"], "dsack_pkts_sent": n["dsacks"],
        "max_sack_blks/ack": n["sack_blocks"], "unique_bytes_sent": n["unique"],
        "actual_data_pkts": n["data_packets"], "actual_data_bytes": n["data_bytes"],
        "rexmt_data_pkts": n["resent_packets"], "rexmt_data_bytes": n["resent_bytes"],
        "zwnd_probe_pkts": n["probes"], "zwnd_probe_bytes": n["probe_bytes"], "outoforder_pkts": n["late"],
        "pushed_data_pkts": n["pushed"], "adv_wind_scale": this.scale, "sacks_sent": n["sacks"],
        "urgent_data_pkts": n["urgent"], "urgent_data_bytes": n["urgent_bytes"], "mss_requested": this.mss,
        "max_segm_size": n["size_max"], "min_segm_size": n["size_min"],
        "avg_segm_size": int(n["data_bytes"] / (n["data_packets"] + 0.001)),
        "max_win_adv": n["window_max"], "min_win_adv": n["window_min"], "zero_win_adv": n["window_zero"],
        "avg_win_adv": n["window_total"] // windows if windows else 0,
        "max_owin": n["flight_max"], "min_non-zero_owin": n["flight_min"],
        "avg_owin": n["flight_total"] // n["flights"] if n["flights"] else 0,
        "initial_window_bytes": n["initial_bytes"], "initial_window_pkts": n["initial_packets"],
        "truncated_data": n["cut_bytes"], "truncated_packets": n["cut_packets"], "hardware_dups": n["copies"],
        "RTT_samples": this.rtt.count, "RTT_full_sz_smpls": this.full.count, "post-loss_acks": n["post_loss"],
        "ambiguous_acks": this.last.count, "segs_cum_acked": n["cumulative"], "duplicate_acks": n["duplicates"],
        "triple_dupacks": n["triples"], "max_#_retrans": n["resent_max"],
    }  # fmt: skip
    text = {
        "SYN/FIN_pkts_sent": f"{this.syns}/{this.fins}",
        "req_1323_ws/ts": f"{'NY'[this.has_scale]}/{'NY'[this.has_stamps]}",
        "req_sack": "NY"[this.may_sack],
        "wavg_owin": str(int(this.weighted / (elapsed / 1_000_000))) if elapsed else "NA",
        "ttl_stream_length": "NA" if stream is None else str(stream),
        "missed_data": "NA" if stream is None else str((stream - n["unique"]) % _LONG),
        "data_xmit_time": f"{_elapsed(this.first_data or 0, this.last_data) / 1_000_000:.3f}",
        "idletime_max": "NA" if this.time is None else f"{idle / 1000:.1f}",
        "throughput": f"{n['unique'] / (elapsed / 1_000_000):.0f}" if elapsed else "NA",
        "RTT_from_3WHS": f"{this.rtt_handshake / 1000:.1f}",
    }
    for times, least, most, mean, deviation in (
        (this.rtt, "RTT_min", "RTT_max", "RTT_avg", "RTT_stdev"),
        (this.full, "RTT_full_sz_min", "RTT_full_sz_max", "RTT_full_sz_avg", "RTT_full_sz_stdev"),
        (this.last, "RTT_min_(last)", "RTT_max_(last)", "RTT_avg_(last)", "RTT_sdv_(last)"),
        (this.resending, "min_retr_time", "max_retr_time", "avg_retr_time", "sdv_retr_time"),
    ):
        text[least], text[most] = f"{times.least / 1000:.1f}", f"{times.most / 1000:.1f}"
        text[mean], text[deviation] = f"{times.mean() / 1000:.1f}", f"{times.deviation() / 1000:.1f}"
    return {name: str(value) for name, value in whole.items()} | text


def _microseconds(packet: dict[str, Any]) -> int:
    return int(packet["time"]) // 1000


def _source(packet: dict[str, Any]) -> tuple[str, int]:
    return packet["source"], packet["source_port"]


def _destination(packet: dict[str, Any]) -> tuple[str, int]:
    return packet["destination"], packet["destination_port"]


def connections(packets: Iterable[dict[str, Any]]) -> Iterator[Connection]:
    """The connections of the packets of a capture, in the order of their first packets."""
    found: list[Connection] = []
    live: dict[frozenset[tuple[str, int]], Connection] = {}
    for packet in packets:
        ends = frozenset((_source(packet), _destination(packet)))
        connection = live.get(ends)
        if connection is None or connection.is_over_at(packet):
            connection = live[ends] = Connection(packet)
            found.append(connection)
        connection.take(packet)
    return iter(found)
