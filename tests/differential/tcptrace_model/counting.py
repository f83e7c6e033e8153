"""Effect of one packet on the figures of its direction and of the other direction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from .direction import REMEMBERED
from .fields import ACK, FIN, PSH, RST, SYN, URG
from .numbers import LONG, SHORT, WORD, elapsed, signed

if TYPE_CHECKING:
    from .direction import Direction

#: No sender exceeds half the largest window (RFC 7323, section 2.3).
_FAR: Final = 2**29
_COUNT: Final = 256


def count(this: Direction, other: Direction, packet: dict[str, Any], now: int) -> None:
    """Count a packet of this direction at a time in microseconds, and its acknowledgment for the other."""
    flags, length = packet["flags"], packet["payload_bytes"]
    _count_flags(this, packet)
    window = _window(this, other, packet)
    if this.time is not None:
        this.idle = max(this.idle, elapsed(this.time, now))
    this.time = now
    _places(this, other, packet, window)
    _options(this, other, packet)
    _data(this, packet, now)
    _copies(this, packet)
    again, late = _numbers(this, other, packet, now)
    if flags & ACK:
        _note_duplicate(this, other, packet, window)
        other.acknowledge(packet["ack_raw"], this, length, window, now)
        if packet["ack_raw"] == (other.syn + 1) % WORD and other.syns == 1:
            other.rtt_handshake = other.rtt_last
    if again > 0:
        this.n["resent_packets"] += 1
        this.n["resent_bytes"] += again
    if flags & RST:
        this.faults.add("window-divisor")
        this.n["ack_packets"] += bool(flags & ACK)
        return
    _windows(this, other, packet, window)
    if flags & ACK:
        _acks(this, packet)
    _initial(this, other, packet, is_again=again > 0)
    if not flags & SYN and not late and again <= 0:
        _flight(this, other, packet, now)


def _count_flags(this: Direction, packet: dict[str, Any]) -> None:
    flags = packet["flags"]
    this.syns = (this.syns + bool(flags & SYN)) % _COUNT
    this.resets = (this.resets + bool(flags & RST)) % _COUNT
    this.fins = (this.fins + bool(flags & FIN)) % _COUNT


def _window(this: Direction, other: Direction, packet: dict[str, Any]) -> int:
    flags, window = packet["flags"], int(packet["window_raw"])
    if not flags & (ACK | SYN):
        return 0
    if this.has_scale and other.has_scale and not flags & SYN:
        return window << this.scale
    return window


def _places(this: Direction, other: Direction, packet: dict[str, Any], window: int) -> None:
    flags, end = packet["flags"], (packet["seq_raw"] + packet["payload_bytes"]) % WORD
    if this.n["packets"] and abs(signed(end - this.latest)) >= _FAR:
        this.faults.add("far-numbers")
        other.faults.add("far-numbers")
    if flags & SYN and this.syns > 1 and this.syn != packet["seq_raw"]:
        this.faults.add("second-syn")
        other.faults.add("second-syn")
    if flags & SYN and packet["payload_bytes"]:
        this.faults.add("data-on-syn")
    if flags & SYN:
        this.syn = other.ack = packet["seq_raw"]
    if flags & FIN and (flags & SYN or (this.fins > 1 and this.fin != end)):
        this.faults.add("second-fin")
    if flags & FIN:
        this.fin = end
    if flags & ACK:
        this.windowend = (packet["ack_raw"] + window) % WORD
    this.latest = end


def _options(this: Direction, other: Direction, packet: dict[str, Any]) -> None:
    if packet["mss_option"] is not None:
        mss = packet["mss_option"]
        # tcptrace reads a signed short, in which -1 means none, and stores it unsigned.
        if mss != SHORT - 1:
            this.mss = mss if mss < SHORT // 2 else WORD - SHORT + mss
    has_option = packet["mss_option"] is not None or packet["window_scale_option"] is not None
    if has_option and (this.syns > 1 or not packet["flags"] & SYN):
        this.faults.add("options-of-any")
    if packet["window_scale_option"] is not None:
        this.scale, this.has_scale = packet["window_scale_option"], True
    this.has_stamps |= packet["timestamp_value"] is not None
    if not packet["flags"] & SYN and not (this.has_scale and other.has_scale):
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
    n["pushed"] += bool(packet["flags"] & PSH)
    n["data_bytes"] += length
    if packet["flags"] & URG:
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
    this.recent_at = (this.recent_at + 1) % REMEMBERED


def _numbers(this: Direction, other: Direction, packet: dict[str, Any], now: int) -> tuple[int, bool]:
    flags, length = packet["flags"], packet["payload_bytes"]
    if length <= 0 and not flags & (SYN | FIN):
        return 0, False
    n, again, late = this.n, 0, False
    syn, fin = bool(flags & SYN), bool(flags & FIN)
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
    if flags & RST:
        this.faults.add("reset-with-data")
    return again, late


def _note_duplicate(this: Direction, other: Direction, packet: dict[str, Any], window: int) -> None:
    """Note an ACK that repeats the previous ACK, by tcptrace's rule, which differs from RFC 5681."""
    if packet["ack_raw"] == this.said and not packet["payload_bytes"] and window == this.window_last:
        other.faults.add("duplicate-ack")
    this.said = packet["ack_raw"]


def _windows(this: Direction, other: Direction, packet: dict[str, Any], window: int) -> None:
    n = this.n
    this.window_last = window
    if not packet["flags"] & (ACK | SYN):
        this.faults.add("window-divisor")
        return
    if packet["flags"] & (SYN | FIN) and window == 0:
        this.faults.add("window-of-control")
    n["window_max"] = max(n["window_max"], window)
    is_scaled = this.has_scale and other.has_scale and not packet["flags"] & SYN
    if window > 0 and is_scaled and not this.is_rescaled:
        this.is_rescaled = True
        n["window_min"] = n["window_max"] = window
        n["window_total"], n["scaled"] = 0, 1
    elif window > 0:
        n["window_min"] = min(n["window_min"] or window, window)
    n["window_total"] += window
    n["window_zero"] += window == 0 and bool(packet["flags"] & ACK)


def _acks(this: Direction, packet: dict[str, Any]) -> None:
    n, edges = this.n, packet["sack_edges_raw"]
    n["ack_packets"] += 1
    n["pure_acks"] += packet["payload_bytes"] == 0 and not packet["flags"] & (SYN | FIN | RST)
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
    if packet["flags"] & ACK and (other.syn + 1) % WORD != packet["ack_raw"]:
        if signed(packet["ack_raw"] - other.latest) > 1 or signed(packet["ack_raw"] - other.syn) < 0:
            other.faults.add("acked-unsent")
        other.data_acked = True
    if packet["payload_bytes"] > 0 and not this.data_acked and not is_again:
        this.n["initial_bytes"] += packet["payload_bytes"]
        this.n["initial_packets"] += 1


def _flight(this: Direction, other: Direction, packet: dict[str, Any], now: int) -> None:
    n = this.n
    length = packet["payload_bytes"]
    end = packet["seq_raw"] + length
    flight = length if other.ack == 0 else (end - (other.ack - 1) % WORD) % LONG
    if flight >= WORD // 2:
        this.faults.add("flight-wrap")
    n["flight_max"] = max(n["flight_max"], flight)
    if flight > 0:
        n["flight_min"] = min(n["flight_min"] or flight, flight)
    n["flight_total"] = (n["flight_total"] + flight) % LONG
    n["flights"] += 1
    if this.flight_time is not None:
        seconds = elapsed(this.flight_time, now) / 1_000_000
        this.weighted += int(this.flight_last * seconds)
    this.flight_time, this.flight_last = now, flight
