"""True waits of one transaction."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from reference_sim.true_waits._chain import PACE, Chain
from reference_sim.true_waits._gap import Gap
from reference_sim.true_waits._partition import Partition, Piece
from reference_sim.true_waits._records import CLIENT, SERVER, Packet, Transaction
from reference_sim.true_waits._streams import comes_behind_others, pieces_among_streams

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reference_sim.true_waits._deliveries import Delivery, Stream
    from reference_sim.true_waits._holds import Holds
    from reference_sim.true_waits._observer import Observer
    from reference_sim.true_waits._partition import Wait

__all__ = ["Times", "gaps_of", "partition_of", "request_gaps_of", "times_of"]

_ACK: Final = 0x10


@dataclass(frozen=True, slots=True)
class Times:
    """Moments of a complete transaction, as observed."""

    start: int
    request_first: int
    request_last: int
    response_first: int
    response_last: int
    #: Last byte; later packets, such as its ACK, are outside the transaction's time.
    end: int
    #: Time at which the first ACK of the whole response passes, if any.
    last_ack: int | None
    opens_connection: bool
    #: Arrival of the response's first own byte, and of all its bytes, despite holes before them.
    first_byte: int
    all_bytes: int


def times_of(transaction: Transaction, observer: Observer) -> Times | None:
    """Return the times at which a transaction's parts passed; None if a part did not arrive."""
    first = observer.requests.delivered(transaction.request_offset)
    last = observer.requests.delivered(transaction.request_end - 1)
    came = observer.responses.delivered(transaction.response_offset)
    had = observer.responses.delivered(transaction.response_end - 1)
    if first is None or last is None or came is None or had is None:
        return None
    syn = next(
        (seen for packet in _syns(observer) if packet.side == CLIENT for seen in [observer.seen(packet)]), None
    )
    opens = transaction.index == 0 and syn is not None and syn <= first.time
    own = _came(transaction.response_offset, transaction.response_end, observer)
    return Times(
        start=syn if opens and syn is not None else first.time,
        request_first=first.time,
        request_last=last.time,
        response_first=came.time,
        response_last=had.time,
        end=max(had.time, last.time),
        last_ack=_last_ack(transaction.response_end, observer),
        opens_connection=opens,
        first_byte=own[0],
        all_bytes=own[1],
    )


def _came(start: int, end: int, observer: Observer) -> tuple[int, int]:
    """Return when the first byte of a range of responses passed, and when all its bytes had passed."""
    opening = last = 0
    missing = [(start, end)]
    seen = [(observer.seen(packet), packet) for packet in observer.responses.packets]
    came = [(time, packet.start, packet.end) for time, packet in seen if time is not None]
    for time, begun, ended in sorted(came):
        left = [part for hole in missing for part in _without(hole, begun, ended)]
        if left != missing:
            last = time
        if not opening and begun <= start < ended:
            opening = time
        missing = left
    return opening, last


def _without(hole: tuple[int, int], start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield a range without the overlap with another range."""
    for part in ((hole[0], min(hole[1], start)), (max(hole[0], end), hole[1])):
        if part[0] < part[1]:
            yield part


def partition_of(
    transaction: Transaction, times: Times, observer: Observer, previous_end: int | None
) -> list[Wait]:
    """Return the causes of a transaction's time; ``previous_end`` is the previous response's delivery time."""
    partition = Partition(times.start, times.end)
    if times.opens_connection:
        _give_setup(partition, observer)
        if observer.connection.is_secured:
            partition.until(times.request_first, "setup.tls_handshake")
        elif observer.connection.waits_for_settings:
            partition.until(times.request_first, "setup.h2_settings")
    partition.until(times.request_first, "client.think")
    for gap in request_gaps_of(times, observer):
        partition.pieces(gap.pieces)
    partition.until(times.request_last, "request.send")
    if transaction.frames:
        _give_stream(transaction, times, observer, partition)
        return partition.waits
    _give_server(transaction, times, observer, previous_end, partition)
    for gap in gaps_of(times, observer):
        partition.pieces(gap.pieces)
    return partition.waits


def gaps_of(times: Times, observer: Observer) -> Iterator[Gap]:
    """Return the intervals between the deliveries of a response, after the first delivery."""
    first, last = times.response_first, times.response_last
    return _gaps(first, last, observer.responses, observer.server, observer)


def request_gaps_of(times: Times, observer: Observer) -> Iterator[Gap]:
    """Return the intervals between the deliveries of a request, after the first delivery."""
    first, last = times.request_first, times.request_last
    return _gaps(first, last, observer.requests, observer.client, observer)


def _gaps(since: int, last: int, stream: Stream, holds: Holds, observer: Observer) -> Iterator[Gap]:
    for delivery in stream.deliveries:
        if since < delivery.time <= last:
            pieces = list(_gap(since, delivery, stream, holds, observer))
            held, came = _held(since, delivery, stream, observer)
            yield Gap(since, delivery, pieces, held, came)
            since = delivery.time


def _syns(observer: Observer) -> list[Packet]:
    packets = observer.connection.packets
    return [packet for side in (CLIENT, SERVER) for packet in packets[side] if packet.is_syn]


def _last_ack(end: int, observer: Observer) -> int | None:
    """Return when the first ACK of a whole response passes."""
    seen = [observer.seen(packet) for packet in observer.connection.packets[CLIENT] if packet.ack >= end]
    return min((time for time in seen if time is not None), default=None)


def _give_setup(partition: Partition, observer: Observer) -> None:
    done = min(
        (
            seen
            for packet in observer.connection.packets[CLIENT]
            if packet.flags & _ACK and not packet.is_syn
            for seen in [observer.seen(packet)]
            if seen is not None
        ),
        default=None,
    )
    times: dict[str, list[int]] = {CLIENT: [], SERVER: []}
    for packet in _syns(observer):
        seen = observer.seen(packet)
        if seen is not None and (done is None or seen <= done):
            times[packet.side].append(seen)
    again = [time for side in times.values() for time in sorted(side)[1:]]
    if again:
        partition.until(max(again), "setup.syn_retransmission")
    if done is not None:
        partition.until(done, "setup.handshake")


def _give_server(
    transaction: Transaction, times: Times, observer: Observer, previous_end: int | None, partition: Partition
) -> None:
    """Assign the time from the request's last byte to the response: path, response queue, server, path."""
    chain = Chain.of(transaction, observer)
    if chain is None:
        partition.until(times.response_first, "unobserved")
        return
    if previous_end is None or chain.requested[1].sent > previous_end:
        # A retransmission during the previous response's transit delayed nothing.
        partition.pieces(chain.repairs_up(observer))
    stands_in_line = previous_end is not None and previous_end > partition.at
    path_is_first = observer.at == CLIENT or stands_in_line
    if path_is_first:
        # With data in the SYN-ACK (RFC 1644, RFC 7413), the response arrives with the handshake's end.
        round_trip = partition.at + chain.path_up + chain.path_down
        partition.until(min(round_trip, times.response_first), "network.propagation")
    if previous_end is not None:
        partition.until(previous_end, "client.head_of_line")
    partition.pieces(
        chain.ending(times.response_first, with_request=observer.at == CLIENT, with_path=not path_is_first)
    )


def _give_stream(transaction: Transaction, times: Times, observer: Observer, partition: Partition) -> None:
    """Assign the time from the request's last byte to an HTTP/2 response's last byte."""
    chain = Chain.of(transaction, observer)
    first = times.response_first
    if chain is not None:
        path = chain.path_up + chain.path_down
        think = max(0, transaction.frames[0].ready - chain.received)
        since = min(partition.at + think + path, first)
        gaps = list(_gaps(since, first, observer.responses, observer.server, observer))
        if comes_behind_others(transaction, gaps):
            partition.pieces(chain.repairs_up(observer))
            if observer.at == CLIENT:
                partition.until(min(partition.at + path, first), "network.propagation")
                partition.until(min(partition.at + think, first), "server.think")
                partition.pieces(pieces_among_streams(transaction, partition.at, gaps, observer))
            else:
                # The observer at the server sees the response before its path, which comes last.
                partition.until(min(partition.at + think, first), "server.think")
                earlier = pieces_among_streams(transaction, since, gaps, observer)
                partition.pieces(replace(piece, end=piece.end - path) for piece in earlier)
            partition.until(first, "network.propagation")
    _give_server(transaction, times, observer, None, partition)
    gaps = list(_gaps(first, times.response_last, observer.responses, observer.server, observer))
    partition.pieces(pieces_among_streams(transaction, first, gaps, observer))


def _gap(since: int, delivery: Delivery, stream: Stream, holds: Holds, observer: Observer) -> Iterator[Piece]:
    """Yield the interval from the previous delivery to this delivery."""
    if delivery.lost is None:
        packets = (delivery.packet, delivery.packet)
        yield from _plain(since, delivery.time, packets, stream, holds, observer)
        return
    packet, time = _held(since, delivery, stream, observer)
    first = delivery.lost if delivery.lost.sent <= packet.sent else packet
    yield from _plain(since, time, (first, packet), stream, holds, observer)
    probed = stream.probed(delivery)
    if probed is not None and observer.at != stream.sender:
        came, probe = probed
        yield Piece(min(came, delivery.time), stream.repair_cause(probe))
    yield Piece(delivery.time, stream.repair_cause(delivery.packet))


def _held(since: int, delivery: Delivery, stream: Stream, observer: Observer) -> tuple[Packet, int]:
    """Return the packet whose transit begins a gap, and its actual or expected arrival time.

    For lost data, this is the first later packet, if the observer sees arrivals and that packet was not lost.
    Otherwise it is the lost packet.
    """
    if delivery.lost is None:
        return delivery.packet, delivery.time
    is_probed = stream.probed(delivery) is not None
    if delivery.behind is not None and observer.at != stream.sender and not is_probed:
        time, packet = delivery.behind
    else:
        # Its copy may have delivered data sent after it, whose serialization also took time.
        packet = replace(delivery.lost, bytes=max(delivery.lost.bytes, delivery.packet.bytes))
        time = _undisturbed(since, packet, stream, observer)
    return packet, min(time, delivery.time)


def _undisturbed(since: int, packet: Packet, stream: Stream, observer: Observer) -> int:
    """Return the expected arrival time of a lost packet."""
    path = observer.connection.paths[stream.sender]
    if stream.sender == observer.at == CLIENT:
        return packet.sent
    back = observer.connection.paths[CLIENT].least if observer.at == stream.sender else 0
    return max(since + path.service(packet.bytes), packet.sent + path.crossing(packet.bytes) + back)


def _plain(
    since: int, time: int, packets: tuple[Packet, Packet], stream: Stream, holds: Holds, observer: Observer
) -> Iterator[Piece]:
    """Yield the interval before a packet that was not lost: first the path's pace, then the hold.

    ``packets`` are the first packet sent since the previous delivery, and this packet.
    """
    first, packet = packets
    is_departure = stream.sender == observer.at == CLIENT
    burst = "request.send" if stream.sender == CLIENT else PACE
    service = 0 if is_departure else observer.connection.paths[stream.sender].service(packet.bytes)
    # A copy of delivered data also occupied the bottleneck.
    busy = since if is_departure else max(since, stream.arrived_before(time))
    yield Piece(min(time, busy + service), burst)
    # Earlier lost data delayed nothing: both waited for the same event.
    previous = stream.sent_before(first)
    if previous is None:
        yield Piece(time, burst)
        return
    shift = time - packet.sent
    for hold in holds.before(packet, previous.sent):
        yield Piece(min(time, hold.start + shift), burst)
        yield Piece(min(time, hold.end + shift), hold.cause, hold.ended_elsewhere)
    yield Piece(time, burst)
