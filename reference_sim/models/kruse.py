"""Window model of Kruse, Allman, Griner, Tran: "Experimentation and Modeling of HTTP Over Satellite Channels".

(2001; extends Heidemann, Obraczka, Touch 1997.) Sections and equations are those of the paper. Times are
nanoseconds. Valid without loss, if the RTT is long against the serialization time of a segment.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from tcptrace_http.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from reference_sim.models.path import Path

__all__ = [
    "GROWTH",
    "GROWTH_WITH_DELAYED_ACKS",
    "acknowledgments",
    "approximate_window",
    "distribution",
    "effective_initial_window",
    "element_size",
    "flights",
    "initial_window",
    "page_time",
    "pipelined_page_time",
    "round_trips_to_window",
    "transfer_time",
    "windows",
]

#: Growth base of equation 5 for equation 3: every segment is acknowledged.
GROWTH: Final = 2.0
#: Growth base of equation 5 for equation 4: delayed ACKs.
GROWTH_WITH_DELAYED_ACKS: Final = 1.57


def initial_window(mss: int) -> int:
    """Return equation 1: the larger initial window in bytes, min(4 MSS, max(2 MSS, 4380)) (RFC 2414)."""
    return min(4 * mss, max(2 * mss, 4380))


def acknowledgments(segments: int, *, delayed_acks: bool) -> int:
    """Return equations 3 and 4: the number of ACKs for a flight of this many segments."""
    return -(-segments // 2) if delayed_acks else segments


def windows(initial: int, *, delayed_acks: bool) -> Iterator[int]:
    """Yield equation 2: cwnd of each flight in segments, without end."""
    window = initial
    while True:
        yield window
        window += acknowledgments(window, delayed_acks=delayed_acks)


def approximate_window(initial: int, flight: int, *, delayed_acks: bool) -> float:
    """Return equation 5: the window of the i-th flight, as a power of the growth base."""
    return initial * float(_growth(delayed_acks=delayed_acks) ** flight)


def round_trips_to_window(window: int, initial: int, *, delayed_acks: bool, connections: int = 1) -> float:
    """Return equations 6 and 7: RTTs (a real number) until ``connections`` together reach this window."""
    if window < 1 or initial < 1 or connections < 1:
        raise ScenarioError("a window has at least one segment and a positive growth")
    ratio = window / effective_initial_window(connections, initial)
    return math.log(ratio) / math.log(_growth(delayed_acks=delayed_acks))


def effective_initial_window(connections: int, initial: int) -> int:
    """Return equation 8: the joint initial window of M connections, S_a = M cwnd(0)."""
    return connections * initial


def element_size(size: int, *, path: Path, initial: int, delayed_acks: bool) -> int:
    """Return equations 10 and 11: an element's weight when connections are filled.

    (I + 1) RTTs of slow start and the serialization time. The estimate depends on the element alone and
    serves :func:`distribution` only.
    """
    growth = _growth(delayed_acks=delayed_acks)
    wanted = size / (initial * path.mss)
    last, sent = 0, 1.0
    while sent < wanted:
        last += 1
        sent += growth**last
    return (last + 1) * path.rtt_ns + path.sending_ns(size)


def distribution(sizes: Sequence[int], connections: int) -> list[list[int]]:
    """Return section 5.3.3: the element numbers of each connection, longest connection first.

    The printed order of the elements (ascending) contradicts the text, which takes the largest first and
    calls the order descending afterwards. This function uses the descending order. Unused connections are
    omitted: the algorithm uses the fewest connections with the same time.

    :raises ScenarioError: there is no connection.
    """
    if connections < 1:
        raise ScenarioError("elements need at least one connection")
    order = sorted(range(len(sizes)), key=lambda index: -sizes[index])
    loads = [_Load() for _ in range(connections)]
    if not order:
        return []
    # Step 1.
    loads[0].add(order[0], sizes)
    number, tried = 1, 1
    while number < len(order):
        element = order[number]
        # Step 2: on the first connection whose total stays within that of the previous connection.
        while tried < connections and loads[tried].length + sizes[element] > loads[tried - 1].length:
            tried += 1
        if tried < connections:
            loads[tried].add(element, sizes)
        else:
            # Steps 3 and 4: the time must grow; it grows least on the shortest connection.
            loads.sort(key=lambda load: -load.length)
            loads[-1].add(element, sizes)
            loads.sort(key=lambda load: -load.length)
            tried = 1
        number += 1
    return [load.elements for load in loads if load.elements]


class _Load:
    """Return equation 9: a connection's load."""

    def __init__(self) -> None:
        self.elements: list[int] = []
        self.length = 0

    def add(self, element: int, sizes: Sequence[int]) -> None:
        self.elements.append(element)
        self.length += sizes[element]


def flights(segments: int, initial: int, *, delayed_acks: bool) -> list[int]:
    """Return the flights of slow start for this many segments; the last flight carries the remainder."""
    made: list[int] = []
    for window in windows(initial, delayed_acks=delayed_acks):
        if segments <= 0:
            break
        made.append(min(window, segments))
        segments -= made[-1]
    return made


def transfer_time(size: int, *, path: Path, initial: int, delayed_acks: bool) -> int:
    """Return the time from a request to the last byte of its response, on a new window, in slow start.

    A flight takes an RTT, or its serialization time if that is longer.
    """
    sent = flights(path.segments(size), initial, delayed_acks=delayed_acks)
    waits = sum(max(path.rtt_ns, path.sending_ns(flight * path.mss)) for flight in sent[:-1])
    last = size - sum(sent[:-1]) * path.mss
    return path.rtt_ns + waits + path.sending_ns(last)


def pipelined_page_time(sizes: Sequence[int], *, path: Path, initial: int, delayed_acks: bool) -> int:
    """Return section 5.3.1: handshake and one bulk transfer of all elements, with the request's RTT."""
    handshake = path.rtt_ns
    return handshake + transfer_time(sum(sizes), path=path, initial=initial, delayed_acks=delayed_acks)


def page_time(
    sizes: Sequence[int],
    *,
    path: Path,
    initial: int,
    delayed_acks: bool,
    connections: int,
    split_request: bool = False,
) -> int:
    """Return section 5.3.2: HTTP/1.0 on several connections, as base document plus the longest connection.

    :func:`distribution` assigns the elements. An RTT separates two elements on a connection, and slow start
    continues across them. The first connection carries the base document and keeps its window; the others
    open a connection. ``split_request`` is the anomaly of Figure 7: an extra RTT.
    """
    base, *rest = sizes
    start = path.rtt_ns * (2 if split_request else 1)
    start += transfer_time(base, path=path, initial=initial, delayed_acks=delayed_acks)
    counted = [element_size(size, path=path, initial=initial, delayed_acks=delayed_acks) for size in rest]
    used = len(flights(path.segments(base), initial, delayed_acks=delayed_acks))
    longest = 0
    for index, elements in enumerate(distribution(counted, connections)):
        is_first = index == 0
        opening = 0 if is_first else path.rtt_ns
        flown = used if is_first else 0
        carried = [rest[element] for element in elements]
        time = opening + _serial_time(carried, path, initial, flown, delayed_acks=delayed_acks)
        longest = max(longest, time)
    return start + longest


def _serial_time(sizes: Sequence[int], path: Path, initial: int, flown: int, *, delayed_acks: bool) -> int:
    """Return the time of serial elements on a connection whose window has grown for this many flights."""
    time = 0
    for size in sizes:
        growing = windows(initial, delayed_acks=delayed_acks)
        window = next(grown for index, grown in enumerate(growing) if index == flown)
        time += transfer_time(size, path=path, initial=window, delayed_acks=delayed_acks)
        flown += len(flights(path.segments(size), window, delayed_acks=delayed_acks))
    return time


def _growth(*, delayed_acks: bool) -> float:
    return GROWTH_WITH_DELAYED_ACKS if delayed_acks else GROWTH
