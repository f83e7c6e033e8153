"""First divergence of two flows with the same transactions: in the sent data, and in its times.

The data segments of each aligned transaction are compared in parallel, request and response. The data
diverges at a segment of another size, in another order, or retransmitted. The times diverge if one side
waited longer for the same byte, beyond the variation of hosts and paths. The wait of that time gives the
reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tcptrace_http.analysis import Analysis

__all__ = ["KINDS", "Divergence", "first_divergences", "flows_to_compare"]

#: Kinds of divergence between two flows.
KINDS: Final = {
    "size": "the same bytes were cut into other segments",
    "order": "segments came in another order",
    "loss": "one side sent data again",
    "hold": "data was ready and held by the sender",
    "window": "a window was full",
    "rate": "the bottleneck, or the sender, has another pace",
    "path": "the path time differs",
    "tls": "the TLS handshake time differs",
    "server": "the server time differs",
    "client": "the client time differs",
    "version": "one side speaks HTTP/2, and their segments are not compared",
    "streams": "streams of HTTP/2 overlap, and their segments are not compared",
    "other": "no rule explains it",
}
#: Kind of divergence by the prefix of the wait's cause; the first match applies.
_KIND_OF_CAUSE: Final = (
    ("stall.nagle", "hold"),
    ("stall.delayed_ack", "hold"),
    ("stall.cork", "hold"),
    ("stall.slow_start_restart", "window"),
    ("stall.persist", "window"),
    ("stall.", "loss"),
    ("setup.syn_retransmission", "loss"),
    ("send_limited.bottleneck", "rate"),
    ("send_limited.", "window"),
    ("network.reordering", "order"),
    ("network.", "path"),
    ("setup.tls_handshake", "tls"),
    ("setup.", "path"),
    ("unfinished.undelivered", "loss"),
    ("unfinished.unanswered", "server"),
    ("server.", "server"),
    ("client.", "client"),
    ("request.", "client"),
)
#: Minimum difference between two waits: host schedulers and their timers vary by less.
_NOTICEABLE_NS: Final = 2_000_000
#: Minimum difference as a share of the shorter wait: the jitter of a path grows with its length.
_NOTICEABLE_SHARE: Final = 0.25
#: Maximum number of compared transactions: a difference between flows shows early, and each one costs two
#: passes.
_TRANSACTIONS_WALKED: Final = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class Divergence:
    """Divergence of two flows: one of :data:`KINDS`, described in a sentence, with the frames of both sides."""

    kind: str
    #: Transaction on the left flow, and on the right flow.
    left_transaction: int
    right_transaction: int
    #: Diverging frames; None for a side without one.
    left_frame: int | None
    right_frame: int | None
    #: Waits of both sides before the frames, in nanoseconds; None for a divergence without a time.
    left_wait_ns: int | None
    right_wait_ns: int | None
    #: Cause of the longer wait.
    cause: str | None
    words: str


@dataclass(frozen=True, slots=True)
class _Segment:
    frame: int
    time: int
    is_request: bool
    size: int
    #: Offset in the message.
    offset: int
    is_full: bool
    is_repeat: bool
    is_overtaken: bool
    #: Number in its message, from 1.
    number: int

    @property
    def name(self) -> str:
        return f"{'request' if self.is_request else 'response'} segment {self.number}"


@dataclass(frozen=True, slots=True)
class _Walk:
    """Data segments of a transaction, with its properties."""

    transaction: int
    start: int
    segments: Sequence[_Segment]
    #: (start, end, cause)
    waits: Sequence[tuple[int, int, str]]

    def message_bytes(self, *, is_request: bool) -> int:
        ends = (it.offset + it.size for it in self.segments if it.is_request == is_request)
        return max(ends, default=0)

    def wait_before(self, index: int) -> int:
        earlier = self.segments[index - 1].time if index else self.start
        return self.segments[index].time - earlier

    def covering(self, segment: _Segment) -> int | None:
        """Return the first segment of the same message that ends beyond the start of this one."""
        for index, it in enumerate(self.segments):
            if it.is_request == segment.is_request and it.offset <= segment.offset < it.offset + it.size:
                return index
        return None

    def cause_of_wait(self, index: int) -> str:
        """Return the cause of most of the time before a segment."""
        end = self.segments[index].time
        start = end - self.wait_before(index)
        spent: dict[str, int] = {}
        for begin, finish, cause in self.waits:
            spent[cause] = spent.get(cause, 0) + max(0, min(end, finish) - max(start, begin))
        return max(spent, key=lambda cause: spent[cause], default="unobserved")


def flows_to_compare(transactions: pl.DataFrame, left: int | None, right: int | None) -> tuple[int, int] | None:
    """Return the requested pair of flows, or the pair with aligned transactions that differs most."""
    aligned = transactions.drop_nulls(["left_flow", "right_flow"])
    if left is not None and right is not None:
        return left, right
    if left is not None:
        aligned = aligned.filter(pl.col("left_flow") == left)
    if aligned.is_empty():
        return None
    totals = aligned.group_by("left_flow", "right_flow", maintain_order=True).agg(
        pl.col("difference").sum().abs().alias("size")
    )
    first, second, _ = totals.sort("size", descending=True, maintain_order=True).row(0)
    return first, second


def first_divergences(
    left: Analysis, right: Analysis, transactions: pl.DataFrame, flows: tuple[int, int]
) -> tuple[Divergence, ...]:
    """Return the first divergence of each kind, in data and in times, in transaction order."""
    chosen = transactions.filter(pl.col("left_flow") == flows[0], pl.col("right_flow") == flows[1])
    pairs = chosen.sort("left_transaction").select("left_transaction", "right_transaction")
    ours, theirs = _Flow(left, flows[0]), _Flow(right, flows[1])
    if pairs.height and ours.has_streams != theirs.has_streams:
        return (_incomparable("version", ours, theirs, pairs.row(0)),)
    first: dict[tuple[str, bool], Divergence] = {}
    for one, other in pairs.head(_TRANSACTIONS_WALKED).rows():
        if ours.overlaps(one) or theirs.overlaps(other):
            first.setdefault(("streams", True), _incomparable("streams", ours, theirs, (one, other)))
            continue
        walks = ours.walk(one), theirs.walk(other)
        for found in (*_first_in_shape(*walks), *_in_time(*walks)):
            first.setdefault((found.kind, found.cause is None), found)
    return tuple(sorted(first.values(), key=lambda it: (it.left_transaction, it.left_frame or 0)))


class _Flow:
    """Rows of a flow for the comparison of its transactions."""

    def __init__(self, analysis: Analysis, flow: int) -> None:
        is_ours = pl.col("flow") == flow
        self._segments = analysis.segments.filter(is_ours, pl.col("payload_bytes") > 0)
        self._transactions = analysis.transactions.filter(is_ours).sort("index")
        self._waits = analysis.waits.filter(is_ours).with_columns(pl.col("cause").cast(pl.String))
        self._full = analysis.flows.filter(is_ours)["segment_bytes"].item() or 0
        overtaken = analysis.recoveries.filter(is_ours, pl.col("kind") == "reordering")
        self._overtaken = overtaken.select("direction", "first_frame", "last_frame").rows()
        #: True for HTTP/2.
        self.has_streams = bool((self._transactions["protocol"] == "h2").any())
        self._overlapping = set(self._find_overlapping()) if self.has_streams else set()

    def overlaps(self, transaction: int) -> bool:
        """Return whether frames of other streams lie among those of this one."""
        return transaction in self._overlapping

    def request_frame(self, transaction: int) -> int | None:
        frame: int | None = self._transactions.filter(pl.col("index") == transaction)["request_frame"].item()
        return frame

    def _find_overlapping(self) -> Iterator[int]:
        first = pl.min_horizontal("request_frame", "response_first_frame")
        last = pl.max_horizontal("request_last_frame", "response_last_frame")
        spans = self._transactions.select("index", first=first, last=last).drop_nulls().sort("first")
        # Earlier spans that reach into this one, and the next span.
        reaches = pl.col("last").cum_max().shift() >= pl.col("first")
        meets = pl.col("first").shift(-1) <= pl.col("last")
        yield from spans.filter(reaches.fill_null(value=False) | meets.fill_null(value=False))["index"]

    def walk(self, transaction: int) -> _Walk:
        row = self._transactions.filter(pl.col("index") == transaction).row(0, named=True)
        waits = self._waits.filter(pl.col("transaction") == transaction)
        found = [
            *self._message(row["request_frame"], row["request_last_frame"], is_request=True),
            *self._message(self._response_begins(row), row["response_last_frame"], is_request=False),
        ]
        start = self._transactions.filter(pl.col("index") == transaction)["start_time"].to_physical().item()
        return _Walk(
            transaction,
            start or (found[0].time if found else 0),
            sorted(found, key=lambda it: it.frame),
            waits.select(pl.col("start", "end").to_physical(), "cause").rows(),
        )

    def _response_begins(self, row: dict[str, Any]) -> int | None:
        """Return the first frame of the response, even if its first byte was lost or reordered."""
        first: int | None = row["response_first_frame"]
        if first is None:
            return None
        earlier = self._transactions.filter(pl.col("index") < row["index"])["response_last_frame"].max()
        # The capture may lack the request, or any earlier response.
        before = [it for it in (row["request_frame"], earlier) if isinstance(it, int)]
        return min(first, max(before) + 1) if before else first

    def _message(self, first: int | None, last: int | None, *, is_request: bool) -> Iterator[_Segment]:
        if first is None or last is None:
            return
        direction = "client_to_server" if is_request else "server_to_client"
        rows = self._segments.filter(pl.col("direction") == direction, pl.col("frame").is_between(first, last))
        origin = rows["seq"].min()
        for number, row in enumerate(rows.with_columns(pl.col("time").to_physical()).iter_rows(named=True), 1):
            goes_back = row["is_retransmission"] or row["is_out_of_order"]
            is_overtaken = goes_back and any(
                direction == whose and start <= row["frame"] <= end for whose, start, end in self._overtaken
            )
            yield _Segment(
                frame=row["frame"],
                time=row["time"],
                is_request=is_request,
                size=row["payload_bytes"],
                offset=row["seq"] - origin,
                is_full=row["payload_bytes"] >= self._full > 0,
                is_repeat=goes_back and not is_overtaken,
                is_overtaken=is_overtaken,
                number=number,
            )


def _incomparable(kind: str, ours: _Flow, theirs: _Flow, pair: tuple[int, int]) -> Divergence:
    """Return the point after which segments are not compared."""
    frames = ours.request_frame(pair[0]), theirs.request_frame(pair[1])
    told = f"left frame {frames[0]} against right frame {frames[1]}"
    return Divergence(
        kind=kind,
        left_transaction=pair[0],
        right_transaction=pair[1],
        left_frame=frames[0],
        right_frame=frames[1],
        left_wait_ns=None,
        right_wait_ns=None,
        cause=None,
        words=f"{told}: {KINDS[kind]}",
    )


def _first_in_shape(left: _Walk, right: _Walk) -> Iterator[Divergence]:
    """Yield the first divergence of the data, segment by segment."""
    is_same_length = {
        is_request: left.message_bytes(is_request=is_request) == right.message_bytes(is_request=is_request)
        for is_request in (True, False)
    }
    for one, other in zip(left.segments, right.segments, strict=False):
        kind = _kind_of_shape(one, other, is_same_length=is_same_length[one.is_request])
        if kind is not None:
            yield _shaped(kind, left, right, one, other)
            return
    one_more, other_more = left.segments[len(right.segments) :], right.segments[len(left.segments) :]
    longer = one_more or other_more
    if longer and is_same_length[longer[0].is_request]:
        yield _shaped("size", left, right, next(iter(one_more), None), next(iter(other_more), None))


def _kind_of_shape(one: _Segment, other: _Segment, *, is_same_length: bool) -> str | None:
    if one.is_repeat != other.is_repeat:
        return "loss"
    if one.is_request != other.is_request or one.is_overtaken != other.is_overtaken:
        return "order"
    if one.is_full != other.is_full or (is_same_length and one.size != other.size):
        return "size"
    return None


def _shaped(kind: str, left: _Walk, right: _Walk, one: _Segment | None, other: _Segment | None) -> Divergence:
    told = " against ".join(_told(side, it) for side, it in (("left", one), ("right", other)))
    return Divergence(
        kind=kind,
        left_transaction=left.transaction,
        right_transaction=right.transaction,
        left_frame=None if one is None else one.frame,
        right_frame=None if other is None else other.frame,
        left_wait_ns=None,
        right_wait_ns=None,
        cause=None,
        words=f"{told}: {KINDS[kind]}",
    )


def _told(side: str, segment: _Segment | None) -> str:
    if segment is None:
        return f"nothing more ({side})"
    adjectives = [
        word
        for word, applies in (
            ("sent again", segment.is_repeat),
            ("overtaken", segment.is_overtaken),
            ("full" if segment.is_full else "short", True),
        )
        if applies
    ]
    return f"{segment.name} of {segment.size} bytes ({', '.join(adjectives)}; {side} frame {segment.frame})"


def _in_time(left: _Walk, right: _Walk) -> list[Divergence]:
    """Return the bytes with a noticeably longer wait on one side, in order of the waits."""
    found = [*_waited_longer(left, right, is_left=True), *_waited_longer(right, left, is_left=False)]
    return [divergence for _, divergence in sorted(found, key=lambda it: it[0])]


def _waited_longer(walk: _Walk, against: _Walk, *, is_left: bool) -> Iterator[tuple[int, Divergence]]:
    """Yield the waits of ``walk`` without a counterpart, each with its start after the transaction's start."""
    for index, segment in enumerate(walk.segments):
        other = against.covering(segment)
        if other is None or segment.is_repeat:
            continue
        wait, shorter = walk.wait_before(index), against.wait_before(other)
        if wait - shorter > max(_NOTICEABLE_NS, _NOTICEABLE_SHARE * shorter):
            made = _timed(walk, index, against, other, is_left=is_left)
            yield segment.time - wait - walk.start, made


def _timed(walk: _Walk, index: int, against: _Walk, other: int, *, is_left: bool) -> Divergence:
    from tcptrace_http.quantity import duration

    segment, twin = walk.segments[index], against.segments[other]
    wait, shorter = walk.wait_before(index), against.wait_before(other)
    cause = walk.cause_of_wait(index)
    kind = next((kind for beginning, kind in _KIND_OF_CAUSE if cause.startswith(beginning)), "other")
    here, there = ("left", "right") if is_left else ("right", "left")
    words = (
        f"{segment.name} came after a wait of {duration(wait)} ({here} frame {segment.frame}) against "
        f"{duration(shorter)} ({there} frame {twin.frame}): {KINDS[kind]} ({cause})"
    )
    sides = ((walk, segment, wait), (against, twin, shorter))
    (ours, one, one_wait), (theirs, two, two_wait) = sides if is_left else sides[::-1]
    return Divergence(
        kind=kind,
        left_transaction=ours.transaction,
        right_transaction=theirs.transaction,
        left_frame=one.frame,
        right_frame=two.frame,
        left_wait_ns=one_wait,
        right_wait_ns=two_wait,
        cause=cause,
        words=words,
    )
