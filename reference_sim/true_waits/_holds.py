"""Causes of a segment's delay: the sender's limits between this segment and the previous segment."""

from __future__ import annotations

import bisect
import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from reference_sim.true_waits._records import CLIENT, SERVER, Connection, Packet, Window

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Hold", "Holds"]

_OF_LIMIT: Final = {
    "send_buffer": "send_limited.send_buffer",
    "max_window": "send_limited.send_buffer",
    "slow_start": "send_limited.slow_start",
    "congestion_avoidance": "send_limited.cwnd",
    "receive_window": "send_limited.receive_window",
    "zero_window": "send_limited.zero_window",
    # The retransmitted data accounts for the time of recovery; new data meanwhile waits for the window.
    "fast_recovery": "send_limited.cwnd",
    "timeout": "send_limited.cwnd",
    "pacing": "send_limited.bottleneck",
    "handshake": "setup.handshake",
}
_APPLICATION: Final = {CLIENT: "client.think", SERVER: "server.data_unavailable"}
_CONGESTION: Final = ("slow_start", "congestion_avoidance")
#: Limits of loss recovery: the window before the loss no longer applies.
_LOSSES: Final = ("fast_recovery", "timeout")
_NAGLE: Final = ("stall.nagle_hold", "stall.nagle_delayed_ack")
#: Reasons of zero-window probes, and of the transmission that follows when the window opens, though the probe
#: was refused.
_PROBE: Final = "window_probe"
_OF_OPENING: Final = (_PROBE, "new")
#: Unacknowledged bytes, in full segments, that trigger an ACK at once (RFC 1122, section 4.2.3.2).
_ACKED_AT_ONCE: Final = 2
#: Minimum wait of a delayed ACK that was sent with data. A browser reads arrived data in less time.
_RODE_LATE_NS: Final = 5_000_000
#: A timer-driven ACK below this delay is within the hosts' scheduling noise: its cost is the RTT. (BSD's
#: heartbeat ends a wait after 0 to 200 ms.)
_DELAY_MIN_NS: Final = 8_000_000


@dataclass(frozen=True, slots=True)
class Hold:
    """Interval in which a sender held data back."""

    start: int
    end: int
    cause: str
    #: An ACK on another connection with the same cwnd ended the hold.
    ended_elsewhere: bool = False


@dataclass(frozen=True, slots=True)
class _Restart:
    """Reset of cwnd after an idle period; the old window would have allowed data up to ``edge`` at once."""

    time: int
    edge: int
    #: Offset of the first data sent after the reset.
    start: int
    #: Since the last loss reduced cwnd, more data was in flight than cwnd allows now.
    is_shown: bool
    #: Time at which an RTO reduced cwnd again: later holds are not due to the idle period.
    until: int | None


@dataclass(slots=True)
class Holds:
    """Holds of the data of one side of a connection."""

    connection: Connection
    side: str
    _acks: list[Packet] = field(init=False)
    _ack_times: list[int] = field(init=False)
    #: Acknowledged offset after each ACK's arrival.
    _acked: list[int] = field(init=False)
    _restarts: list[_Restart] = field(init=False)
    _window_times: list[int] = field(init=False)

    def __post_init__(self) -> None:
        peer = SERVER if self.side == CLIENT else CLIENT
        came = [packet for packet in self.connection.packets[peer] if packet.received is not None]
        self._acks = sorted(came, key=lambda packet: (packet.received or 0, packet.packet))
        self._ack_times = [packet.received or 0 for packet in self._acks]
        self._acked = list(itertools.accumulate((packet.ack for packet in self._acks), max))
        self._window_times = [window.time for window in self.connection.windows[self.side]]
        self._restarts = list(self._idle_restarts())

    def before(self, packet: Packet, start: int) -> list[Hold]:
        """Return the holds from ``start`` until ``packet`` was sent, without gaps."""
        holds: list[Hold] = []
        limits = list(self._limits(start, packet.sent))
        paced_from: int | None = None
        for (begins, ended, recorded), later in itertools.zip_longest(limits, limits[1:]):
            begun = begins if paced_from is None else paced_from
            limit = recorded
            if limit == "pacing" and later is not None and later[2] not in _LOSSES:
                # Data that a pacer held would have waited without it, too: for the ACK or write that came
                # then.
                paced_from = begun
                continue
            paced_from = None
            if limit == "pacing" and ended in self.connection.heard and not self._ends_restart(packet):
                # A pacer has released its data when the first ACK arrives; that is the window then.
                limit = self._phase(begun)
            # The application's reader did not open a receive window that is used up while closed.
            is_closed = limit == "receive_window" and later is not None and later[2] == "zero_window"
            cause = _OF_LIMIT[limit] if is_closed else self._cause(limit, packet, ended)
            is_window = limit in _CONGESTION
            may_be_elsewhere = self.connection.shares_window and (is_window or limit == "max_window")
            if may_be_elsewhere and not self._was_released_here(packet):
                holds.append(Hold(begun, ended, cause, ended_elsewhere=True))
                continue
            # An ACK that ends a pacer's restart may be delayed like an ACK that a window waits for.
            is_paced_restart = limit == "pacing" and self.side == SERVER and self._ends_restart(packet)
            if (is_window or is_paced_restart) and ended == packet.sent:
                holds += self._of_window(Hold(begun, ended, cause), packet)
            else:
                holds.append(Hold(begun, ended, cause))
        return holds

    def _cause(self, limit: str, packet: Packet, ended: int) -> str:
        is_above_nagle = packet.payload >= self.connection.mss or packet.has_fin
        if limit == "nagle" and is_above_nagle and self.side == SERVER:
            limit = self._what_filled(packet, ended)
        if limit == "application":
            return _APPLICATION[self.side]
        if limit == "pacing":
            return self._of_pacing(packet)
        if limit == "nagle":
            is_short = packet.payload < self.connection.mss or self.side == CLIENT
            return _NAGLE[is_short and self._is_delayed(self.released_by(packet), packet)]
        if limit in _CONGESTION and self._is_restarted(packet) and not self._nagle_holds(packet):
            return "stall.slow_start_restart"
        if limit == "receive_window":
            ack = self.released_by(packet)
            if ack is not None and ack.reason == "window_update":
                return "client.not_reading" if self.side == SERVER else _OF_LIMIT[limit]
        return _OF_LIMIT[limit]

    def _what_filled(self, packet: Packet, ended: int) -> str:
        """Return the wait of a segment without a Nagle hold: its remaining data, or its FIN, came later.

        An ACK frees buffer space for the data at that moment. Without an ACK, the application had not written
        the data. Exception: the rest of a response waited until the next response filled its segment.
        """
        responses = self.connection.transactions
        next_ones = (it for it in responses if packet.start < it.response_offset < packet.end)
        if any(it.response_written == packet.sent for it in next_ones):
            return "nagle"
        may_be_room = self.connection.writes_at_once or ended == packet.sent
        made_room = may_be_room and self._was_released_here(packet)
        return "send_buffer" if made_room else "application"

    def _of_pacing(self, packet: Packet) -> str:
        """Return a pacer's hold; an ACK that ended its restart released ``packet`` into the reduced window."""
        if self.side == CLIENT:
            return "request.send"
        return "stall.slow_start_restart" if self._ends_restart(packet) else _OF_LIMIT["pacing"]

    def _ends_restart(self, packet: Packet) -> bool:
        """Return whether cwnd was reset when ``packet`` was sent, and the old cwnd would have allowed it."""
        return any(it.time == packet.sent and packet.end <= it.edge for it in self._restarts)

    def _of_window(self, hold: Hold, packet: Packet) -> Iterator[Hold]:
        """Yield a hold by cwnd; the share of a delayed ACK is named after the delay."""
        ack = self.released_by(packet)
        outstanding = self.outstanding(packet)
        full = self.connection.mss
        at_once = _ACKED_AT_ONCE * full
        is_alone = ack is not None and all((it.received or ack.sent) <= ack.sent for it in outstanding)
        if ack is None or not self._is_delayed(ack, packet) or sum(it.payload for it in outstanding) >= at_once:
            yield hold
        elif any(map(self.connection.is_short, outstanding)) and not is_alone:
            # Data in flight triggers the ACK earlier, like a full segment.
            yield hold
        elif any(map(self.connection.is_short, outstanding)):
            yield Hold(hold.start, hold.end, _NAGLE[True])
        elif len(outstanding) == 1:
            delay = ack.sent - (outstanding[0].received or ack.sent)
            border = max(hold.start, hold.end - delay)
            yield Hold(hold.start, border, hold.cause)
            yield Hold(border, hold.end, "stall.delayed_ack_first_segment")
        else:
            yield hold

    def released_by(self, packet: Packet) -> Packet | None:
        """Return the last ACK before ``packet`` was sent."""
        at = bisect.bisect_right(self._ack_times, packet.sent) - 1
        return self._acks[at] if at >= 0 else None

    def _was_released_here(self, packet: Packet) -> bool:
        """Return whether ``packet`` was sent when a packet of the same connection arrived."""
        ack = self.released_by(packet)
        return ack is not None and ack.received == packet.sent

    def _is_delayed(self, ack: Packet | None, packet: Packet) -> bool:
        """Return whether the receiver delayed the ACK that released ``packet``, for its timer or for data."""
        if ack is None or (ack.reason != "delayed_ack" and not ack.payload):
            return False
        came = [each.received for each in self.outstanding(packet) if each.received and each.end <= ack.ack]
        least = _DELAY_MIN_NS if ack.reason == "delayed_ack" else _RODE_LATE_NS
        return bool(came) and ack.sent - max(came) >= least

    def outstanding(self, packet: Packet) -> list[Packet]:
        """Return the segments that the last ACK newly acknowledged, or that are still in flight."""
        ack = self.released_by(packet)
        if ack is None:
            return []
        at = bisect.bisect_left(self._ack_times, ack.received or 0)
        acked = max((each.ack for each in self._acks[:at]), default=0)
        return [
            each
            for each in self.connection.packets[self.side]
            if each.payload and each.end > acked and each.sent < packet.sent and each.received is not None
        ]

    def _limits(self, start: int, end: int) -> Iterator[tuple[int, int, str]]:
        """Yield the sender's limits in an interval; a scheduler's limit is the shared window."""
        for begun, ended, limit in self.connection.limits[self.side].between(start, end):
            if limit == "scheduler":
                yield from self._phases(begun, ended)
            else:
                yield begun, ended, limit

    def _phases(self, start: int, end: int) -> Iterator[tuple[int, int, str]]:
        """Yield the phases of cwnd in an interval.

        Losses and ACKs of other connections change a shared window while this connection waits.
        """
        phase, since = self._phase(start), start
        windows = self.connection.windows[self.side]
        after = bisect.bisect_right(self._window_times, start)
        until = bisect.bisect_left(self._window_times, end)
        for window in windows[after:until]:
            if _phase_of(window) != phase:
                if window.time > since:
                    yield since, window.time, phase
                phase, since = _phase_of(window), window.time
        yield since, end, phase

    def _phase(self, time: int) -> str:
        """Return whether the sender is in slow start at this time."""
        at = bisect.bisect_right(self._window_times, time) - 1
        return _phase_of(self.connection.windows[self.side][at]) if at >= 0 else "slow_start"

    def shows_restart(self, packet: Packet) -> bool:
        """Return whether packets show that cwnd before ``packet`` is smaller than the largest used cwnd."""
        last = [restart for restart in self._restarts if restart.time <= packet.sent]
        return bool(last) and last[-1].is_shown

    def _is_restarted(self, packet: Packet) -> bool:
        """Return whether cwnd before its last reset after an idle period would have allowed the segment.

        A reset at the moment of ``packet``'s own transmission did not hold it.
        """
        last = [restart for restart in self._restarts if restart.time < packet.sent]
        if not last or packet.end > last[-1].edge:
            return False
        return last[-1].until is None or packet.sent <= last[-1].until

    def _nagle_holds(self, packet: Packet) -> bool:
        """Return whether Nagle's algorithm would have held the segment without the cwnd limit."""
        full, nagle = self.connection.mss, self.connection.nagle
        if nagle == "off" or packet.payload >= full or packet.has_fin:
            return False
        if nagle == "bsd" and self.side == SERVER and self._is_of_first_write(packet):
            return False
        return any(nagle in {"bsd", "strict"} or it.payload < full for it in self.outstanding(packet))

    def _is_of_first_write(self, packet: Packet) -> bool:
        """Return whether its first data was written with the first data after the last idle period.

        BSD checks for unacknowledged data before a run of sending begins. A write to an idle connection thus
        goes out with its short final segment, if the window allows.
        """
        last = [restart for restart in self._restarts if restart.time <= packet.sent]
        return bool(last) and self.connection.write_start(packet.start) <= last[-1].start

    def _idle_restarts(self) -> Iterator[_Restart]:
        """List the resets of cwnd with nothing in flight, after an RTO without transmissions.

        The sender resets cwnd at the next transmission, even if the last ACK arrives only then. A reduction
        by other connections of an ensemble is no restart. A pacer keeps cwnd until the first ACK, which
        reduces cwnd to the released data. If this happens before the pacer's next release time, cwnd was
        reset all the same.
        """
        if "scheduler" in self.connection.limits[self.side].names:
            return
        sent = [packet for packet in self.connection.packets[self.side] if packet.payload]
        news = {packet.sent for packet in sent if not _is_repair(packet)}
        windows = self.connection.windows[self.side]
        for before, after in itertools.pairwise(windows):
            if after.cwnd >= before.cwnd or after.time not in news:
                continue
            if self.connection.shares_window and before.flight:
                continue
            earlier = [each for each in sent if each.sent < after.time]
            if not earlier:
                continue
            acked = self._acked_by(after.time)
            # Data of a refused zero-window probe is not in flight.
            end = max((each.end for each in earlier if each.reason != _PROBE or each.end <= acked), default=1)
            was_idle = after.time - earlier[-1].sent >= before.timeout and acked >= end
            paced_from = self._paced_from(earlier, before.timeout, after.time)
            if was_idle or paced_from is not None:
                start = end if paced_from is None else paced_from
                most = self._most_in_flight(earlier)
                until = next((it.sent for it in sent if _is_repair(it) and it.sent > after.time), None)
                yield _Restart(after.time, start + before.cwnd, end, is_shown=most > after.cwnd, until=until)

    def _paced_from(self, earlier: list[Packet], timeout: int, time: int) -> int | None:
        """Return the start of a pacer's hold that lasts up to ``time``, if it began after an idle period."""
        limits = [limit for _, _, limit in self.connection.limits[self.side].between(earlier[-1].sent, time)]
        if limits[-1:] != ["pacing"] or self.connection.shares_window:
            return None
        whole = (at for at, it in enumerate(earlier) if self._acked_by(it.sent) >= it.start)
        begun = max(whole, default=0)
        if begun == 0 or earlier[begun].sent - earlier[begun - 1].sent < timeout:
            return None
        return earlier[begun].start

    def _acked_by(self, time: int) -> int:
        """Return the acknowledged offset at a time, including an ACK at that time."""
        at = bisect.bisect_right(self._ack_times, time)
        return self._acked[at - 1] if at else 1

    def _most_in_flight(self, sent: list[Packet]) -> int:
        """Return the maximum flight size since recovery from the last loss that reduced cwnd."""
        again = max((it for it in sent if _is_repair(it)), key=lambda it: it.sent, default=None)
        repaired = again.end if again is not None else 0
        return max((self._in_flight(it) for it in sent if self._acked_by(it.sent) >= repaired), default=0)

    def _in_flight(self, packet: Packet) -> int:
        """Return the bytes in flight after ``packet`` was sent."""
        return packet.end - self._acked_by(packet.sent)


def _phase_of(window: Window) -> str:
    return "congestion_avoidance" if window.cwnd >= window.ssthresh else "slow_start"


def _is_repair(packet: Packet) -> bool:
    """Return whether the packet retransmits data."""
    return packet.is_retransmission and packet.reason not in _OF_OPENING
