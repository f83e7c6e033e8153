"""Why a segment left no sooner: the sender's limits between it and the segment before, in words of causes."""

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
    # What the repair itself takes is told by what was sent again; new data waits for the window meanwhile.
    "fast_recovery": "send_limited.cwnd",
    "timeout": "send_limited.cwnd",
    "pacing": "send_limited.bottleneck",
    "handshake": "setup.handshake",
}
_APPLICATION: Final = {CLIENT: "client.think", SERVER: "server.data_unavailable"}
_CONGESTION: Final = ("slow_start", "congestion_avoidance")
#: Limits that a loss brings: what the window was until then it is no more.
_LOSSES: Final = ("fast_recovery", "timeout")
_NAGLE: Final = ("stall.nagle_hold", "stall.nagle_delayed_ack")
#: What probes a closed window, and what goes on behind that when it opens, though the probe was refused.
_PROBE: Final = "window_probe"
_OF_OPENING: Final = (_PROBE, "new")
#: Segments' bytes that a receiver acknowledges at once (RFC 1122, 4.2.3.2).
_ACKED_AT_ONCE: Final = 2
#: An ACK that rode on data was delayed if it had waited so long for it; less a browser takes to read what came.
_RODE_LATE_NS: Final = 5_000_000
#: A timer that sent an ACK sooner delayed it by no more than hosts' scheduling does: what that cost is the round
#: trip. (The heartbeat of the BSDs ends a wait after 0 to 200 ms.)
_DELAY_MIN_NS: Final = 8_000_000


@dataclass(frozen=True, slots=True)
class Hold:
    """A stretch of a sender's time in which it held data back."""

    start: int
    end: int
    cause: str
    #: An ACK of another connection ended it, with which this one shares its window.
    ended_elsewhere: bool = False


@dataclass(frozen=True, slots=True)
class _Restart:
    """The window was reset after an idle period: what ``edge`` it would have let go at once."""

    time: int
    edge: int
    #: The offset of what is sent first since.
    start: int
    #: More had been in flight before, since a loss last cut the window, than it lets go now.
    is_shown: bool
    #: When a timeout cut the window again: what it lets go from then on is not what idleness left of it.
    until: int | None


@dataclass(slots=True)
class Holds:
    """What held the data of one side of a connection."""

    connection: Connection
    side: str
    _acks: list[Packet] = field(init=False)
    _ack_times: list[int] = field(init=False)
    #: Up to where all was acknowledged when each of them had come.
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
        """The holds from ``start`` until ``packet`` left; they follow each other without a gap."""
        holds: list[Hold] = []
        limits = list(self._limits(start, packet.sent))
        paced_from: int | None = None
        for (begins, ended, recorded), later in itertools.zip_longest(limits, limits[1:]):
            begun = begins if paced_from is None else paced_from
            limit = recorded
            if limit == "pacing" and later is not None and later[2] not in _LOSSES:
                # What a pacer did not let go would have waited without it, too: for what came then, all that time.
                paced_from = begun
                continue
            paced_from = None
            if limit == "pacing" and ended in self.connection.heard and not self._ends_restart(packet):
                # Who paces has let go what it has when the first ACK comes; that is the window then.
                limit = self._phase(begun)
            # A window that is closed while it is used up was not what its reader opened.
            is_closed = limit == "receive_window" and later is not None and later[2] == "zero_window"
            cause = _OF_LIMIT[limit] if is_closed else self._cause(limit, packet, ended)
            is_window = limit in _CONGESTION
            may_be_elsewhere = self.connection.shares_window and (is_window or limit == "max_window")
            if may_be_elsewhere and not self._was_released_here(packet):
                holds.append(Hold(begun, ended, cause, ended_elsewhere=True))
                continue
            # An ACK that ends a pacer's restart may have been delayed as one that a window waits for.
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
        """What a segment waited for that Nagle's algorithm does not hold: what filled it, or its FIN, came later.

        An ACK makes room for it, at the very moment; where none came it was the application that had not written
        it. But the rest of a response that the next one filled lay there until then.
        """
        responses = self.connection.transactions
        next_ones = (it for it in responses if packet.start < it.response_offset < packet.end)
        if any(it.response_written == packet.sent for it in next_ones):
            return "nagle"
        may_be_room = self.connection.writes_at_once or ended == packet.sent
        made_room = may_be_room and self._was_released_here(packet)
        return "send_buffer" if made_room else "application"

    def _of_pacing(self, packet: Packet) -> str:
        """What a pacer held; an ACK that ended its restart let ``packet`` go into the window that was left."""
        if self.side == CLIENT:
            return "request.send"
        return "stall.slow_start_restart" if self._ends_restart(packet) else _OF_LIMIT["pacing"]

    def _ends_restart(self, packet: Packet) -> bool:
        """Whether the window was thrown away when ``packet`` left, which it would have let go before."""
        return any(it.time == packet.sent and packet.end <= it.edge for it in self._restarts)

    def _of_window(self, hold: Hold, packet: Packet) -> Iterator[Hold]:
        """A hold by the congestion window; what a delayed ACK had to do with it is named after that."""
        ack = self.released_by(packet)
        outstanding = self.outstanding(packet)
        full = self.connection.mss
        at_once = _ACKED_AT_ONCE * full
        is_alone = ack is not None and all((it.received or ack.sent) <= ack.sent for it in outstanding)
        if ack is None or not self._is_delayed(ack, packet) or sum(it.payload for it in outstanding) >= at_once:
            yield hold
        elif any(map(self.connection.is_short, outstanding)) and not is_alone:
            # What is on its way makes the receiver acknowledge as a full segment before it would have.
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
        """The ACK that came last when ``packet`` left."""
        at = bisect.bisect_right(self._ack_times, packet.sent) - 1
        return self._acks[at] if at >= 0 else None

    def _was_released_here(self, packet: Packet) -> bool:
        """Whether ``packet`` left when something of this very connection came."""
        ack = self.released_by(packet)
        return ack is not None and ack.received == packet.sent

    def _is_delayed(self, ack: Packet | None, packet: Packet) -> bool:
        """Whether the receiver kept back the ACK that released ``packet``, for its timer or for data."""
        if ack is None or (ack.reason != "delayed_ack" and not ack.payload):
            return False
        came = [each.received for each in self.outstanding(packet) if each.received and each.end <= ack.ack]
        least = _DELAY_MIN_NS if ack.reason == "delayed_ack" else _RODE_LATE_NS
        return bool(came) and ack.sent - max(came) >= least

    def outstanding(self, packet: Packet) -> list[Packet]:
        """What came or will of the segments that the last ACK newly acknowledged, or that are in flight still."""
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
        """The sender's limits in a stretch of time; that of a scheduler is the window of all that share it."""
        for begun, ended, limit in self.connection.limits[self.side].between(start, end):
            if limit == "scheduler":
                yield from self._phases(begun, ended)
            else:
                yield begun, ended, limit

    def _phases(self, start: int, end: int) -> Iterator[tuple[int, int, str]]:
        """The phases of the window in a stretch of time: others' losses and ACKs move it while this one waits."""
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
        """Whether the window grows as in slow start at this time."""
        at = bisect.bisect_right(self._window_times, time) - 1
        return _phase_of(self.connection.windows[self.side][at]) if at >= 0 else "slow_start"

    def shows_restart(self, packet: Packet) -> bool:
        """Whether packets show that the window before ``packet`` is smaller than one that had been used."""
        last = [restart for restart in self._restarts if restart.time <= packet.sent]
        return bool(last) and last[-1].is_shown

    def _is_restarted(self, packet: Packet) -> bool:
        """Whether the window that was thrown away after the last idle period would have let it go.

        One that was thrown away when ``packet`` itself left had not held it until then.
        """
        last = [restart for restart in self._restarts if restart.time < packet.sent]
        if not last or packet.end > last[-1].edge:
            return False
        return last[-1].until is None or packet.sent <= last[-1].until

    def _nagle_holds(self, packet: Packet) -> bool:
        """Whether Nagle's algorithm would have held it, had the window not: then the window cost nothing."""
        full, nagle = self.connection.mss, self.connection.nagle
        if nagle == "off" or packet.payload >= full or packet.has_fin:
            return False
        if nagle == "bsd" and self.side == SERVER and self._is_of_first_write(packet):
            return False
        return any(nagle in {"bsd", "strict"} or it.payload < full for it in self.outstanding(packet))

    def _is_of_first_write(self, packet: Packet) -> bool:
        """Whether what it begins with was written with what was sent first after the last idle period.

        BSD looks whether all was acknowledged before a run of sending begins: a write to an idle connection goes
        out with its short end, if the window lets it.
        """
        last = [restart for restart in self._restarts if restart.time <= packet.sent]
        return bool(last) and self.connection.write_start(packet.start) <= last[-1].start

    def _idle_restarts(self) -> Iterator[_Restart]:
        """Where the window shrank with nothing in flight, after a timeout's length in which nothing was sent.

        It is thrown away when something is to be sent again, be it that the last ACK comes at that moment only;
        what other connections of an ensemble take of its window is no restart. Who paces a restart keeps the
        window up to the first ACK, which leaves of it what the pacer had let go: if that was before the pacer's
        next time, the window was thrown away all the same.
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
            # Of a probe that a closed window did not take nothing is on its way.
            end = max((each.end for each in earlier if each.reason != _PROBE or each.end <= acked), default=1)
            was_idle = after.time - earlier[-1].sent >= before.timeout and acked >= end
            paced_from = self._paced_from(earlier, before.timeout, after.time)
            if was_idle or paced_from is not None:
                start = end if paced_from is None else paced_from
                most = self._most_in_flight(earlier)
                until = next((it.sent for it in sent if _is_repair(it) and it.sent > after.time), None)
                yield _Restart(after.time, start + before.cwnd, end, is_shown=most > after.cwnd, until=until)

    def _paced_from(self, earlier: list[Packet], timeout: int, time: int) -> int | None:
        """Where what a pacer held up to ``time`` begins, if that had begun after an idle period."""
        limits = [limit for _, _, limit in self.connection.limits[self.side].between(earlier[-1].sent, time)]
        if limits[-1:] != ["pacing"] or self.connection.shares_window:
            return None
        whole = (at for at, it in enumerate(earlier) if self._acked_by(it.sent) >= it.start)
        begun = max(whole, default=0)
        if begun == 0 or earlier[begun].sent - earlier[begun - 1].sent < timeout:
            return None
        return earlier[begun].start

    def _acked_by(self, time: int) -> int:
        """Up to where all was acknowledged at a time, that of an ACK then included."""
        at = bisect.bisect_right(self._ack_times, time)
        return self._acked[at - 1] if at else 1

    def _most_in_flight(self, sent: list[Packet]) -> int:
        """The most that was in flight at once since the last loss was repaired, which had cut the window."""
        again = max((it for it in sent if _is_repair(it)), key=lambda it: it.sent, default=None)
        repaired = again.end if again is not None else 0
        return max((self._in_flight(it) for it in sent if self._acked_by(it.sent) >= repaired), default=0)

    def _in_flight(self, packet: Packet) -> int:
        """What was not acknowledged when ``packet`` had left."""
        return packet.end - self._acked_by(packet.sent)


def _phase_of(window: Window) -> str:
    return "congestion_avoidance" if window.cwnd >= window.ssthresh else "slow_start"


def _is_repair(packet: Packet) -> bool:
    """Whether it carries again what was on its way before."""
    return packet.is_retransmission and packet.reason not in _OF_OPENING
