"""Chain of events from the end of a request to the beginning of its response."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from reference_sim.true_waits._partition import Piece
from reference_sim.true_waits._records import CLIENT, SERVER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reference_sim.true_waits._holds import Hold
    from reference_sim.true_waits._observer import Observer
    from reference_sim.true_waits._records import Connection, Packet, Transaction

__all__ = ["PACE", "Chain"]

#: The serialization time at the bottleneck is not queueing behind other packets.
PACE: Final = "send_limited.bottleneck"


@dataclass(frozen=True, slots=True)
class Chain:
    """Events between a request's last byte and its response's first byte, in order."""

    #: First copy and delivered copy of the packet that completes the request, and of the packet that begins
    #: the response.
    requested: tuple[int, Packet]
    answered: tuple[Packet, Packet]
    repair_up: str
    repair_down: str
    received: int
    written: int
    holds: list[Hold]
    came: int
    path_up: int
    path_down: int
    #: Extra time of packets above the minimum size. For the request, this includes its own earlier segments
    #: on the bottleneck.
    size_excess: int

    @staticmethod
    def of(transaction: Transaction, observer: Observer) -> Chain | None:
        connection = observer.connection
        request = _taken(transaction, connection) or _completing(
            connection.packets[CLIENT], transaction.request_end
        )
        last_copy = observer.requests.first_copy(transaction.request_end - 1)
        answer = observer.responses.delivered(transaction.response_offset)
        first = observer.responses.first_copy(transaction.response_offset)
        if request is None or last_copy is None or answer is None or first is None:
            return None
        if request.received is None or answer.packet.received is None:
            return None
        written = transaction.response_written or first.sent
        received = min(transaction.request_received or request.received, written)
        up, down = connection.paths[CLIENT], connection.paths[SERVER]
        excess = up.crossing(request.bytes) - up.least + down.crossing(answer.packet.bytes) - down.least
        return Chain(
            requested=(last_copy.sent, request),
            answered=(first, answer.packet),
            repair_up=observer.requests.repair_cause(request),
            repair_down=observer.responses.repair_cause(answer.packet),
            received=received,
            written=written,
            holds=observer.server.before(first, written),
            came=answer.packet.received,
            path_up=up.least,
            path_down=down.least,
            size_excess=excess + _own_ahead(transaction, request, connection),
        )

    def repairs_up(self, observer: Observer) -> Iterator[Piece]:
        first_sent, request = self.requested
        seen = observer.seen(request)
        if request.sent > first_sent and seen is not None:
            yield Piece(seen, self.repair_up)

    def ending(self, came: int, *, with_request: bool, with_path: bool) -> list[Piece]:
        """Return the pieces from the server's processing on; the last piece ends when the response ``came``.

        ``with_request`` includes the request's time beyond the path's, as at the client. ``with_path``
        includes the path's RTT.
        """
        first, brought = self.answered
        _, request = self.requested
        up_excess = max(0, self.received - request.sent - self.path_up) if with_request else 0
        down_excess = max(0, self.came - brought.sent - self.path_down)
        excess = up_excess + down_excess
        parts = [(self.written - self.received, "server.think", False)]
        parts += [(hold.end - hold.start, hold.cause, hold.ended_elsewhere) for hold in self.holds]
        if with_path:
            parts.append((self.path_up + self.path_down, "network.propagation", False))
        parts.append((max(0, brought.sent - first.sent), self.repair_down, False))
        size = min(self.size_excess, excess)
        parts += [(excess - size, "network.queueing", False), (size, PACE, False)]
        return _laid_back(parts, came)


def _own_ahead(transaction: Transaction, last: Packet, connection: Connection) -> int:
    """Return how long a request's last packet queues behind its own earlier packets on the bottleneck."""
    others = [
        packet
        for packet in connection.packets[CLIENT]
        if packet.payload and transaction.request_offset <= packet.start < last.start and packet.sent <= last.sent
    ]
    path = connection.paths[CLIENT]
    behind = 0
    for packet in sorted(others, key=lambda it: it.sent):
        behind = max(behind, packet.sent) + path.service(packet.bytes)
    return max(0, behind - last.sent)


def _taken(transaction: Transaction, connection: Connection) -> Packet | None:
    """Return the copy with which the server received the end of a request.

    The copy need not be the first to arrive. The server drops a repeated SYN that it already answered, with
    all its data (RFC 9293, section 3.10.7.4).
    """
    return next(
        (
            packet
            for packet in connection.packets[CLIENT]
            if packet.start < transaction.request_end <= packet.end
            and packet.received is not None
            and packet.received == transaction.request_received
        ),
        None,
    )


def _completing(packets: list[Packet], end: int) -> Packet | None:
    """Return the packet with which the receiver had all data up to ``end``."""
    edge, beyond = 1, []
    came = sorted(
        (it for it in packets if it.payload and it.received is not None), key=lambda it: it.received or 0
    )
    for packet in came:
        beyond.append((packet.start, packet.end))
        for start, until in sorted(beyond):
            edge = max(edge, until) if start <= edge else edge
        if edge >= end:
            return packet
    return None


def _laid_back(parts: list[tuple[int, str, bool]], end: int) -> list[Piece]:
    """Return parts as pieces of these lengths; the last piece ends at ``end``."""
    pieces: list[Piece] = []
    for length, cause, ended_elsewhere in reversed(parts):
        if length > 0:
            pieces.append(Piece(end, cause, ended_elsewhere))
            end -= length
    pieces.reverse()
    return pieces
