"""HTTP messages and transactions of a capture against tshark's, with frames, pairs and times."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from .tshark import http_times
from .tshark_segments import flow_numbers

if TYPE_CHECKING:
    from pathlib import Path

    import tcptrace_http

    from .comparison import Tally
    from .tshark import Message, Reading

__all__ = ["compare_transactions"]

#: tshark's flags of loss or reordering: its reassembly of such segments depends on options.
_LOSSES: Final = (
    "is_retransmission",
    "is_out_of_order",
    "is_lost_segment",
    "is_ack_of_lost_segment",
)
#: tshark completes a response that ends with the connection at the FIN or RST.
_UNTIL_CLOSE: Final = "until_close"


@dataclass(frozen=True, slots=True)
class _Ours:
    """One message of a transaction."""

    row: dict[str, Any]
    is_request: bool

    @property
    def key(self) -> tuple[Any, ...]:
        row = self.row
        if self.is_request:
            what: tuple[Any, ...] = (row["method"], row["target"])
            return (row["flow"], row["request_last_frame"], row["request_frame"], *what)
        return (row["flow"], row["response_last_frame"], row["response_first_frame"], row["status"])


def compare_transactions(path: Path, analysis: tcptrace_http.Analysis, reading: Reading, tally: Tally) -> None:
    """Compare messages by flow, frames and start line; then the pairs and times of equal messages."""
    import polars as pl

    # test_http2.py compares the streams of HTTP/2.
    transactions = analysis.transactions.filter(pl.col("stream").is_null())
    rows = list(transactions.with_columns(pl.col(pl.Datetime).to_physical()).iter_rows(named=True))
    if not rows and not reading.messages:
        return
    tally.compared["transactions"] += len(rows)
    ours = [_Ours(row, is_request=True) for row in rows if row["method"] is not None]
    ours += [_Ours(row, is_request=False) for row in rows if row["status"] is not None]
    numbers = flow_numbers(analysis, reading)
    losses = _losses(reading, numbers)
    theirs: defaultdict[tuple[Any, ...], list[Message]] = defaultdict(list)
    for message in reading.messages:
        theirs[_key(message, numbers)].append(message)
    alone: list[_Ours] = []
    for message in ours:
        # Flow, both frames and start line.
        tally.compared["cells"] += len(message.key)
        flow, frame, _, *what = message.key
        same = theirs.get(message.key) or theirs.get((flow, frame, None, *what))
        if same:
            _compare_pair(message, same.pop(0), reading, losses, tally)
        else:
            alone.append(message)
    left = [message for messages in theirs.values() for message in messages]
    _explain_left(alone, left, numbers, losses, tally)
    _compare_loose_pairs(rows, reading, tally)
    _compare_first_byte_times(path, rows, losses, tally)


def _key(message: Message, numbers: dict[int, int]) -> tuple[Any, ...]:
    what = message.request or (message.status,)
    return (numbers.get(message.flow), message.frame, message.first_frame, *what)


def _losses(reading: Reading, numbers: dict[int, int]) -> dict[int, int]:
    """Return the first frame with loss or reordering, by flow."""
    first: dict[int, int] = {}
    for frame, row in reading.segments.items():
        flow = numbers.get(int(row["flow"] or 0))
        if flow is not None and any(row[flag] for flag in _LOSSES):
            first.setdefault(flow, frame)
    return first


def _compare_pair(message: _Ours, theirs: Message, reading: Reading, losses: dict[int, int], tally: Tally) -> None:
    """Compare a response's request, and the time from the request's end to the response's end."""
    row = message.row
    if message.is_request or (row["request_last_frame"] is None and theirs.request_in is None):
        return
    tally.compared["cells"] += 2
    if row["request_last_frame"] != theirs.request_in:
        rules = {
            "not-every-response-is-paired": theirs.request_in is None,
            "message-beside-a-loss": _is_beside(row["flow"], theirs.frame, losses),
            "answer-before-its-request": row["method"] is None and _precedes_request(theirs, reading),
        }
        reason = next((reason for reason, holds in rules.items() if holds), None)
        tally.note("request_in", _where(row), row["request_last_frame"], theirs.request_in, reason)
    elif _elapsed(row) != theirs.time:
        tally.note("http_time", _where(row), _elapsed(row), theirs.time)


def _precedes_request(response: Message, reading: Reading) -> bool:
    """Return whether the response's first segment does not acknowledge the end of the request."""
    if response.first_frame is None or response.request_in is None:
        return False
    request = reading.segments[response.request_in]
    end = int(request["seq"] or 0) + int(request["payload_bytes"] or 0)
    return int(reading.segments[response.first_frame]["ack"] or 0) < end


def _elapsed(row: dict[str, Any]) -> int:
    """Return nanoseconds from the end of the request to the end of the response."""
    elapsed: int = row["response_last_time"] - row["request_last_time"]
    return elapsed


def _compare_loose_pairs(rows: list[dict[str, Any]], reading: Reading, tally: Tally) -> None:
    """Match tshark's pairs of a frame, whose responses are unknown, with our responses."""
    ours: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for row in rows:
        if row["status"] is not None and row["request_last_frame"] is not None:
            ours[row["response_last_frame"]].append((row["request_last_frame"], _elapsed(row)))
    pipelined = {row["response_last_frame"] for row in rows if row["pipelined"]}
    for frame, pairs in reading.loose_pairs.items():
        for pair in pairs:
            tally.compared["cells"] += len(pair)
            if pair not in ours[frame]:
                # Our responses follow the order of the requests (RFC 9112, section 9.3).
                reason = "pair-of-a-pipelined-response" if frame in pipelined else None
                tally.note("request_in", f"frame {frame}", ours[frame], pair, reason)


def _is_beside(flow: int, frame: int, losses: dict[int, int]) -> bool:
    """Return whether the flow had a loss by that frame."""
    return losses.get(flow, frame + 1) <= frame


def _where(row: dict[str, Any]) -> str:
    return f"transaction {row['flow']}.{row['index']}"


def _explain_left(
    alone: list[_Ours],
    left: list[Message],
    numbers: dict[int, int],
    losses: dict[int, int],
    tally: Tally,
) -> None:
    """Report messages on one side only, or with other frames."""
    for message in alone:
        row = message.row
        reason = None
        other = _same_start(message, left, numbers)
        if not message.is_request and other is not None and _lasts_to_the_end(row, other):
            left.remove(other)
            reason = "ends-with-the-connection"
        elif row["missing_bytes"] or _is_beside(row["flow"], message.key[1], losses):
            reason = "message-beside-a-loss"
        elif not row["complete"]:
            reason = "never-complete"
        column = "request" if message.is_request else "response"
        tally.note(column, _where(row), message.key[1:], None, reason)
    for theirs in left:
        flow = numbers.get(theirs.flow, -1)
        column = "request" if theirs.request else "response"
        what = (theirs.frame, theirs.first_frame, theirs.request or theirs.status)
        reason = "message-beside-a-loss" if _is_beside(flow, theirs.frame, losses) else None
        tally.note(column, f"stream {theirs.flow}", None, what, reason)


def _lasts_to_the_end(row: dict[str, Any], theirs: Message) -> bool:
    """Return whether the response ended only with the connection, where tshark shows it."""
    is_open = row["response_framing"] == _UNTIL_CLOSE or not row["complete"]
    return is_open and theirs.frame > int(row["response_last_frame"])


def _same_start(message: _Ours, left: list[Message], numbers: dict[int, int]) -> Message | None:
    """Return tshark's message with the same begin as ours."""
    flow, _, first, *what = message.key
    for theirs in left:
        start = (numbers.get(theirs.flow), theirs.first_frame, list(theirs.request or (theirs.status,)))
        if start == (flow, first, what):
            return theirs
    return None


def _compare_first_byte_times(
    path: Path, rows: list[dict[str, Any]], losses: dict[int, int], tally: Tally
) -> None:
    """Compare http.time without reassembly: from request to the response's first byte."""
    times = http_times(path)
    alone = Counter(row["response_first_frame"] for row in rows)
    for row in rows:
        frame = row["response_first_frame"]
        if row["status"] is None or row["method"] is None or alone[frame] > 1 or len(times.get(frame, ())) != 1:
            continue
        tally.compared["cells"] += 1
        elapsed = row["response_first_time"] - row["request_time"]
        if elapsed != times[frame][0]:
            reason = "message-beside-a-loss" if _is_beside(row["flow"], frame, losses) else None
            tally.note("http_time_first", _where(row), elapsed, times[frame][0], reason)
