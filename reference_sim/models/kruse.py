"""The window model of Kruse, Allman, Griner, Tran: "Experimentation and Modeling of HTTP Over Satellite Channels".

(2001; extends Heidemann, Obraczka, Touch 1997.) Sections and equations are those of the paper. Times are
nanoseconds. Valid for round trips that are long against the time to send a segment, and without loss.
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

#: Equation 5, for equation 3: every segment is acknowledged.
GROWTH: Final = 2.0
#: Equation 5, for equation 4: delayed ACKs.
GROWTH_WITH_DELAYED_ACKS: Final = 1.57


def initial_window(mss: int) -> int:
    """Equation 1: the larger initial window in bytes, min(4 MSS, max(2 MSS, 4380)) (RFC 2414)."""
    return min(4 * mss, max(2 * mss, 4380))


def acknowledgments(segments: int, *, delayed_acks: bool) -> int:
    """Equations 3 and 4: the ACKs that a flight of so many segments causes."""
    return -(-segments // 2) if delayed_acks else segments


def windows(initial: int, *, delayed_acks: bool) -> Iterator[int]:
    """Equation 2: the congestion window of each flight in segments, without end."""
    window = initial
    while True:
        yield window
        window += acknowledgments(window, delayed_acks=delayed_acks)


def approximate_window(initial: int, flight: int, *, delayed_acks: bool) -> float:
    """Equation 5: the window of the i-th flight, as a power of the growth base."""
    return initial * float(_growth(delayed_acks=delayed_acks) ** flight)


def round_trips_to_window(window: int, initial: int, *, delayed_acks: bool, connections: int = 1) -> float:
    """Equations 6 and 7: round trips until ``connections`` together have this window; no integer."""
    if window < 1 or initial < 1 or connections < 1:
        raise ScenarioError("a window has at least one segment, and somebody opens it")
    ratio = window / effective_initial_window(connections, initial)
    return math.log(ratio) / math.log(_growth(delayed_acks=delayed_acks))


def effective_initial_window(connections: int, initial: int) -> int:
    """Equation 8: what M connections start with together, S_a = M cwnd(0)."""
    return connections * initial


def element_size(size: int, *, path: Path, initial: int, delayed_acks: bool) -> int:
    """Equations 10 and 11: what an element of so many bytes counts when connections are filled.

    (I + 1) round trips of slow start and the time to send it. An estimate that depends on nothing but
    the element: it is for :func:`distribution` only.
    """
    growth = _growth(delayed_acks=delayed_acks)
    wanted = size / (initial * path.mss)
    last, sent = 0, 1.0
    while sent < wanted:
        last += 1
        sent += growth**last
    return (last + 1) * path.rtt_ns + path.sending_ns(size)


def distribution(sizes: Sequence[int], connections: int) -> list[list[int]]:
    """Section 5.3.3: which element goes on which connection; the elements' numbers, longest connection first.

    The printed order of the elements (ascending) contradicts the text, which takes the largest first
    and calls the order descending afterwards; this is the descending one. Unused connections are left
    out: the algorithm uses as few as give the same time.

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
        # Step 2: on the first connection whose time that of the one before it still covers.
        while tried < connections and loads[tried].length + sizes[element] > loads[tried - 1].length:
            tried += 1
        if tried < connections:
            loads[tried].add(element, sizes)
        else:
            # Steps 3 and 4: the time must grow; it grows least on the shortest.
            loads.sort(key=lambda load: -load.length)
            loads[-1].add(element, sizes)
            loads.sort(key=lambda load: -load.length)
            tried = 1
        number += 1
    return [load.elements for load in loads if load.elements]


class _Load:
    """What a connection carries: equation 9."""

    def __init__(self) -> None:
        self.elements: list[int] = []
        self.length = 0

    def add(self, element: int, sizes: Sequence[int]) -> None:
        self.elements.append(element)
        self.length += sizes[element]


def flights(segments: int, initial: int, *, delayed_acks: bool) -> list[int]:
    """The flights of slow start that carry so many segments: the last one is what is left."""
    made: list[int] = []
    for window in windows(initial, delayed_acks=delayed_acks):
        if segments <= 0:
            break
        made.append(min(window, segments))
        segments -= made[-1]
    return made


def transfer_time(size: int, *, path: Path, initial: int, delayed_acks: bool) -> int:
    """From a request to the last byte of a response of so many bytes on a new window, in slow start.

    A flight takes a round trip, or the time to send it once that is longer.
    """
    sent = flights(path.segments(size), initial, delayed_acks=delayed_acks)
    waits = sum(max(path.rtt_ns, path.sending_ns(flight * path.mss)) for flight in sent[:-1])
    last = size - sum(sent[:-1]) * path.mss
    return path.rtt_ns + waits + path.sending_ns(last)


def pipelined_page_time(sizes: Sequence[int], *, path: Path, initial: int, delayed_acks: bool) -> int:
    """Section 5.3.1: handshake and one bulk transfer of all elements together, the request's round trip in it."""
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
    """Section 5.3.2: HTTP/1.0 on so many connections; the longest one after the base document.

    Elements are distributed by :func:`distribution`; a round trip lies between two on a connection;
    slow start goes on across them. The first connection carries the base document, and goes on with
    its window; the others open one. ``split_request`` is the anomaly of Figure 7: one round trip more.
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
    """Elements one after the other on a connection whose window has grown for so many flights."""
    time = 0
    for size in sizes:
        growing = windows(initial, delayed_acks=delayed_acks)
        window = next(grown for index, grown in enumerate(growing) if index == flown)
        time += transfer_time(size, path=path, initial=window, delayed_acks=delayed_acks)
        flown += len(flights(path.segments(size), window, delayed_acks=delayed_acks))
    return time


def _growth(*, delayed_acks: bool) -> float:
    return GROWTH_WITH_DELAYED_ACKS if delayed_acks else GROWTH
