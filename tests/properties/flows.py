"""Hypothesis strategies for captured flows: HTTP in segments, with network faults.

A flow is a list of :class:`Step` with relative numbers. :func:`render` makes its frames for any end points,
initial numbers and time. Hypothesis alone makes all random choices.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import captures
from captures import ACK, FIN, MILLISECOND, MSS, PSH, RST, START, SYN
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["FIRST", "SECOND", "Ends", "Record", "Step", "cut", "exchanges", "flows", "render", "stalled"]

Record = tuple[int, bytes]
MICROSECOND: Final = 1000
NUMBERS: Final = 2**32


@dataclass(frozen=True, slots=True)
class Step:
    """Segment: its sender, its delay after the previous segment, and relative numbers (SYN 0)."""

    from_client: bool
    seq: int
    ack: int | None
    flags: int
    payload: bytes
    after: int


@dataclass(frozen=True, slots=True)
class Ends:
    """End points of a flow; the initial numbers are shortly before they wrap."""

    client: tuple[str, int] = ("10.0.0.1", 40_000)
    server: tuple[str, int] = ("10.0.0.2", 80)
    client_initial: int = NUMBERS - 40
    server_initial: int = NUMBERS - 1500


FIRST: Final = Ends()
SECOND: Final = Ends(client=("10.0.0.9", 40_000), client_initial=NUMBERS - 9, server_initial=77)


def render(steps: list[Step], ends: Ends = FIRST, *, start: int = START) -> list[Record]:
    """Return the frames of a flow, each with its time."""
    time, records = start, []
    for step in steps:
        time += step.after
        pair = (ends.client, ends.server) if step.from_client else (ends.server, ends.client)
        initial = (ends.client_initial, ends.server_initial)
        own, peer = initial if step.from_client else initial[::-1]
        ack = 0 if step.ack is None else peer + step.ack
        records.append((time, captures.tcp(*pair, own + step.seq, ack, step.flags, step.payload)))
    return records


bodies = st.one_of(st.sampled_from([0, 1, MSS - 1, MSS, 4096]), st.integers(0, 5000)).map(lambda size: b"x" * size)


def _chunked(body: bytes, sizes: list[int]) -> bytes:
    made, at = b"", 0
    for size in sizes:
        piece = body[at : at + size]
        if piece:
            made += b"%x\r\n%s\r\n" % (len(piece), piece)
        at += size
    rest = body[at:]
    if rest:
        made += b"%X;e=1\r\n%s\r\n" % (len(rest), rest)
    return made + b"0\r\nTrailer: t\r\n\r\n"


chunk_sizes = st.lists(st.integers(1, 2000), max_size=3)


@st.composite
def _requests(draw: st.DrawFn) -> bytes:
    target = draw(st.sampled_from([b"/", b"/a?b=c", b"/" + b"p" * 300, b"http://h/x"]))
    kind = draw(st.sampled_from(["GET", "GET", "GET", "POST", "chunked"]))
    if kind == "GET":
        return b"GET %s HTTP/1.1\r\nHost: h\r\n\r\n" % target
    body = draw(bodies)
    if kind == "POST":
        return b"POST %s HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%s" % (target, len(body), body)
    framed = _chunked(body, draw(chunk_sizes))
    return b"PUT %s HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n%s" % (target, framed)


@st.composite
def _responses(draw: st.DrawFn, *, is_last: bool) -> bytes:
    kinds = ["length", "length", "chunked", "none", "interim"] + ["until_close"] * is_last
    kind, body = draw(st.sampled_from(kinds)), draw(bodies)
    if kind == "none":
        return b"HTTP/1.1 204 No Content\r\n\r\n"
    if kind == "chunked":
        return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + _chunked(body, draw(chunk_sizes))
    if kind == "until_close":
        return b"HTTP/1.0 200 OK\r\n\r\n" + body
    interim = b"HTTP/1.1 103 Early Hints\r\n\r\n" if kind == "interim" else b""
    return interim + b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


@st.composite
def exchanges(draw: st.DrawFn) -> list[tuple[bytes, bytes]]:
    """Return complete requests and responses; only the last response may end with the close."""
    count = draw(st.integers(1, 3))
    return [(draw(_requests()), draw(_responses(is_last=number == count - 1))) for number in range(count)]


def cut(stream: bytes, sizes: list[int]) -> list[bytes]:
    """Return a message in segments of these sizes in turn, at most an MSS each."""
    pieces, at, number = [], 0, 0
    while at < len(stream):
        size = min(sizes[number % len(sizes)], MSS) if sizes else MSS
        pieces.append(stream[at : at + size])
        at, number = at + size, number + 1
    return pieces


segment_sizes = st.lists(st.one_of(st.just(MSS), st.integers(200, MSS)), max_size=3)


class _Writer:
    """Writer of the steps of an undisturbed flow."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.next = {True: 0, False: 0}

    def send(self, from_client: bool, payload: bytes = b"", flags: int = ACK, after: int = MILLISECOND) -> None:
        ack = self.next[not from_client] if flags & ACK else None
        self.steps.append(Step(from_client, self.next[from_client], ack, flags, payload, after))
        self.next[from_client] += len(payload) + bool(flags & (SYN | FIN))


def write(
    messages: list[tuple[bytes, bytes]],
    sizes: list[int],
    *,
    ack_delay: int = 20 * MICROSECOND,
    end: str = "fin",
) -> list[Step]:
    """Return a flow with every segment acknowledged; response data waits for no ACK but the first."""
    writer = _Writer()
    writer.send(True, flags=SYN)
    writer.send(False, flags=SYN | ACK)
    writer.send(True)
    for request, response in messages:
        for piece in cut(request, sizes):
            writer.send(True, piece, PSH | ACK)
        for number, piece in enumerate(cut(response, sizes)):
            writer.send(False, piece, PSH | ACK, after=MILLISECOND if number < 2 else 12 * MICROSECOND)
            writer.send(True, after=ack_delay if number == 0 else 20 * MICROSECOND)
    if end == "fin":
        writer.send(False, flags=FIN | ACK)
        writer.send(True, flags=FIN | ACK)
        writer.send(False)
    elif end == "rst":
        writer.send(True, flags=RST | ACK)
    return writer.steps


def _data(steps: list[Step]) -> list[int]:
    return [at for at, step in enumerate(steps) if step.payload]


def _resent(steps: list[Step], at: int) -> list[Step]:
    """Add a segment that is captured and retransmitted later, as seen near the sender."""
    later = min(at + 3, len(steps))
    return [*steps[:later], replace(steps[at], after=250 * MILLISECOND), *steps[later:]]


def _late(steps: list[Step], at: int) -> list[Step]:
    """Add a segment that is lost before the capture, and retransmitted after later data."""
    later = min(at + 3, len(steps) - 1)
    moved = [*steps[:at], *steps[at + 1 : later + 1], replace(steps[at], after=250 * MILLISECOND)]
    return [*moved, *steps[later + 1 :]]


def _swapped(steps: list[Step], at: int) -> list[Step]:
    return [*steps[:at], *steps[at : at + 2][::-1], *steps[at + 2 :]]


def _gone(steps: list[Step], at: int) -> list[Step]:
    return [*steps[:at], *steps[at + 1 :]]


def _copied(steps: list[Step], at: int) -> list[Step]:
    return [*steps[: at + 1], replace(steps[at], after=10 * MICROSECOND), *steps[at + 1 :]]


_FAULTS: Final[dict[str, Callable[[list[Step], int], list[Step]]]] = {
    "sent again": _resent,
    "lost and sent again": _late,
    "reordered": _swapped,
    "never captured": _gone,
    "captured twice": _copied,
}


@st.composite
def flows(draw: st.DrawFn) -> list[Step]:
    """Return a flow with up to three faults, complete or unfinished."""
    delay = draw(st.sampled_from([20 * MICROSECOND, 40 * MILLISECOND, 180 * MILLISECOND]))
    end = draw(st.sampled_from(["fin", "rst", "open"]))
    steps = write(draw(exchanges()), draw(segment_sizes), ack_delay=delay, end=end)
    for fault in draw(st.lists(st.sampled_from(sorted(_FAULTS)), max_size=3)):
        data = _data(steps)
        if data:
            steps = _FAULTS[fault](steps, draw(st.sampled_from(data)))
    return steps


def stalled() -> list[Step]:
    """Return a response whose second segment waits for the delayed ACK of its first: always a finding."""
    body = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", b"x" * 1000
    writer = _Writer()
    for from_client, payload, flags, after in (
        (True, b"", SYN, MILLISECOND),
        (False, b"", SYN | ACK, MILLISECOND),
        (True, b"", ACK, 10 * MICROSECOND),
        (True, captures.REQUEST, PSH | ACK, MILLISECOND),
        (False, body[0], PSH | ACK, 2 * MILLISECOND),
        (True, b"", ACK, 180 * MILLISECOND),
        (False, body[1], PSH | ACK, MILLISECOND),
        (True, b"", ACK, 20 * MICROSECOND),
    ):
        writer.send(from_client, payload, flags, after)
    return writer.steps
