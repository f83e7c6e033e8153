"""One direction of a connection: sent, retransmitted and acknowledged data."""

from __future__ import annotations

from typing import Final

from .numbers import WORD, elapsed, signed
from .sequence_space import QUADRANT_BITS, Piece, Quadrant, Space, collapse
from .times import Times

#: Number of earlier packets searched for a copy made by hardware.
REMEMBERED: Final = 8
_TRIPLE: Final = 4
COUNTERS: Final = (
    "packets ack_packets pure_acks sack_acks dsacks sack_blocks unique data_packets data_bytes resent_packets"
    " resent_bytes probes probe_bytes late pushed sacks urgent urgent_bytes size_max size_min window_max"
    " window_min window_zero window_total scaled flight_max flight_min flight_total flights initial_bytes"
    " initial_packets cut_bytes cut_packets copies cumulative duplicates triples post_loss resent_max"
).split()


class Direction:
    """Sent data of one end."""

    def __init__(self) -> None:
        self.faults: set[str] = set()
        self.space = Space()
        self.n: dict[str, int] = dict.fromkeys(COUNTERS, 0)
        self.rtt, self.full, self.last, self.resending = Times(), Times(), Times(), Times()
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
        self.recent: list[tuple[int, int]] = [(0, 0)] * REMEMBERED
        self.recent_at = 0
        self.acked: int | None = None
        self.said: int | None = None

    # -- sending -------------------------------------------------------------------------------------------

    def send(self, seq: int, length: int, now: int) -> tuple[int, bool]:
        """Note retransmitted numbers, and whether they came out of order."""
        if self.acked is not None and signed(seq + length - self.acked) <= 0:
            self.faults.add("acked-before")
        last = (seq + length - 1) % WORD
        here = self.space.at(seq)
        if seq >> QUADRANT_BITS == last >> QUADRANT_BITS:
            return self._put(here, seq, length, now)
        self.faults.add("quadrant")
        until = ((seq >> QUADRANT_BITS) + 1 << QUADRANT_BITS) - seq
        again, _ = self._put(here, seq, until, now)
        assert here.after is not None
        more, late = self._put(here.after, (last >> QUADRANT_BITS) << QUADRANT_BITS, length - until, now)
        return again + more, late

    def _put(self, here: Quadrant, first: int, length: int, now: int) -> tuple[int, bool]:
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
                pieces.insert(at, Piece(first, min(last, piece.first - 1), now))
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
        pieces.append(Piece(first, last, now))
        return again, late

    def _resend(self, piece: Piece, now: int) -> None:
        if not piece.acked:
            self.n["resent_max"] = max(self.n["resent_max"], piece.resent)
            self.resending.add(elapsed(piece.time, now))
        piece.time = now

    # -- being acknowledged --------------------------------------------------------------------------------

    def acknowledge(self, ack: int, peer: Direction, length: int, window: int, now: int) -> None:
        self.acked = ack if self.acked is None or signed(ack - self.acked) > 0 else self.acked
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
            if ack == (piece.last + 1) % WORD:
                self._sample(piece, now, is_behind=latest > piece.time)
            else:
                self.n["cumulative"] += 1
                self.faults |= {"partial-ack"} if ack <= piece.last else set()
        if changed:
            collapse(here)

    def _acknowledge_all(self, here: Quadrant) -> int:
        """Acknowledge a quadrant before the ACK's; return the sending time of its newest piece."""
        waiting = [piece for piece in here.pieces if not piece.acked]
        for piece in waiting:
            piece.acked += 1
        if waiting:
            self.n["cumulative"] += len(waiting)
            self.faults.add("quadrant")
            collapse(here)
        return max((piece.time for piece in waiting), default=0)

    def _acknowledge_again(self, piece: Piece, ack: int, peer: Direction, length: int, window: int) -> None:
        is_duplicate = ack == (piece.last + 1) % WORD and ack == peer.ack and length == 0
        if is_duplicate and window == peer.window_last and self.n["flight_total"] > 0:
            self.n["duplicates"] += 1
            piece.acked += 1
            self.n["triples"] += piece.acked == _TRIPLE
        else:
            piece.acked = 1

    def _sample(self, piece: Piece, now: int, *, is_behind: bool) -> None:
        time = elapsed(piece.time, now)
        if is_behind:
            self.rtt_last = 0
            self.n["post_loss"] += 1
        elif piece.resent:
            self.rtt_last = 0
            self.last.add(time)
        else:
            self.rtt_last = time
            self.rtt.add(time)
            size = piece.last - piece.first + 1 if piece.last > piece.first else WORD - piece.first + piece.last
            if size > self.full_size:
                self.full_size, self.full = size, Times()
            if size == self.full_size:
                self.full.add(time)
