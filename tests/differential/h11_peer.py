"""Peer h11: every HTTP message against h11's reading of the flow's bytes.

``compare(path, name)`` is a peer of ``report.PEERS``. For every HTTP flow, it compares in order: start line,
version, framing, bytes of head, body and whole message, completeness, and the pairing of responses with
requests. The comparison ends at the first hole, and at the first message that h11 rejects.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import tcptrace_http
from tcptrace_http.schema import HTTP_VERSIONS

from . import h11_messages
from .comparison import Comparison, Tally
from .peers import Unreadable
from .streams import TABLES, Stream, streams

if TYPE_CHECKING:
    from pathlib import Path

    from .h11_messages import Message, Parsed

__all__ = ["PEER", "compare"]

PEER: Final = "h11"

_Row = dict[str, Any]


def compare(path: Path, name: str) -> Comparison:
    """Compare one capture; a file that either side cannot read is skipped."""
    tally = Tally(PEER, name)
    try:
        analysis = tcptrace_http.analyze(path, tables=TABLES)
        by_flow = streams(path, analysis)
    except (tcptrace_http.TcptraceError, Unreadable):
        return tally.finish()
    tally.compared["files"] += 1
    rows: dict[int, list[_Row]] = {}
    for row in analysis.transactions.sort("flow", "index").iter_rows(named=True):
        if row["stream"] is not None:
            continue
        rows.setdefault(row["flow"], []).append(row)
    for flow, transactions in rows.items():
        client, server = by_flow[flow]
        _Flow(tally, flow, transactions, client, server).compare()
    return tally.finish()


#: Message of h11's rejection, and our reason to read the message anyway, or not at all.
_REFUSALS: Final = {
    "Missing mandatory Host": "host-is-missing",
    "Found multiple Host": "host-is-missing",
    "Only Transfer-Encoding: chunked": "transfer-coding-that-h11-does-not-know",
    "multiple Transfer-Encodings": "transfer-coding-that-h11-does-not-know",
    "conflicting Content-Length": "length-that-is-none",
    "bad Content-Length": "length-that-is-none",
    "illegal": "syntax-that-h11-refuses",
    "continuation line": "syntax-that-h11-refuses",
    "Receive buffer too long": "syntax-that-h11-refuses",
}


class _Flow:
    """Comparison of one flow."""

    def __init__(self, tally: Tally, number: int, rows: list[_Row], client: Stream, server: Stream) -> None:
        self.tally, self.number, self.rows = tally, number, rows
        self.client, self.server = client, server

    def compare(self) -> None:
        requested = h11_messages.requests(self.client)
        if len(_of("request", self.rows)) <= len(requested.messages):
            # Both sides or neither must have the request: otherwise only one of them knows the method.
            requested.refused_method = ""
        answered = h11_messages.responses(self.server, requested)
        for number, message in enumerate(answered.messages):
            # h11 reads no messages inside the tunnel.
            answered.may_switch |= message.framing == "tunnel"
            if message.framing == "tunnel" and number < len(requested.messages):
                del requested.messages[number + 1 :]
                requested.may_switch = True
        self.tally.compared["flows"] += 1
        self._direction("request", requested, self.client)
        self._direction("response", answered, self.server)
        # In a flow joined late, the first response may answer an uncaptured request.
        has_start = self.client.has_syn and self.server.has_syn
        is_whole = not (self.client.has_hole or self.server.has_hole or requested.refused or answered.refused)
        has_all = len(_of("response", self.rows)) >= len(answered.messages)
        if has_start and is_whole and has_all:
            self._pairs(requested, answered)

    def _direction(self, half: str, parsed: Parsed, stream: Stream) -> None:
        rows = _of(half, self.rows)
        is_cut = stream.has_hole or bool(parsed.refused) or parsed.may_switch
        is_partial = bool(parsed.messages) and not parsed.messages[-1].is_complete
        messages = parsed.messages[:-1] if is_cut and is_partial else parsed.messages
        if parsed.refused:
            reason = next((why for text, why in _REFUSALS.items() if parsed.refused.startswith(text)), None)
            self._note(half, f"{half} {len(messages)}", len(rows), parsed.refused, reason)
        for number, (row, message) in enumerate(zip(rows, messages, strict=False)):
            self.tally.compared[f"{half}s"] += 1
            for column, (found, expected) in _cells(half, row, message).items():
                self.tally.compared["cells"] += 1
                if found != expected:
                    self._note(column, f"{half} {number}", found, expected)
        if len(rows) < len(messages) or (len(rows) > len(messages) and not is_cut):
            self._note(half, "number", len(rows), len(messages), _of_number(half, rows, messages))

    def _pairs(self, requested: Parsed, answered: Parsed) -> None:
        """Compare the pairing: the n-th response answers the n-th request."""
        ours = [
            (row["method"], row["target"], row["status"]) for row in self.rows if row["method"] and row["status"]
        ]
        theirs = [
            (*request.what, *response.what)
            for request, response in zip(requested.messages, answered.messages, strict=False)
        ]
        self.tally.compared["pairs"] += len(theirs)
        if ours[: len(theirs)] != theirs:
            self._note("pairs", "order", ours, theirs)

    def _note(self, column: str, where: str, ours: object, theirs: object, reason: str | None = None) -> None:
        """Report a difference with its reason; late data explains any difference."""
        if self.client.is_late or self.server.is_late:
            reason = "captured-after-its-ack"
        elif self.client.is_after_reset or self.server.is_after_reset:
            reason = "after-a-reset"
        self.tally.note(column, f"flow {self.number} {where}", ours, theirs, reason)


def _of(half: str, rows: list[_Row]) -> list[_Row]:
    """Return the rows that have this half, in stream order."""
    key = "method" if half == "request" else "status"
    return [row for row in rows if row[key] is not None]


def _of_number(half: str, rows: list[_Row], messages: list[Message]) -> str | None:
    if len(rows) == len(messages) + 1 and not rows[-1]["complete"]:
        return "head-that-breaks-off"
    if len(rows) < len(messages) and messages[len(rows)].version not in HTTP_VERSIONS:
        return "version-that-was-never-published"
    return None


def _cells(half: str, row: _Row, message: Message) -> dict[str, tuple[object, object]]:
    """Return our value and h11's, by column."""
    cells: dict[str, tuple[object, object]] = {
        f"{half}_header_bytes": (row[f"{half}_header_bytes"], message.header_bytes),
        f"{half}_body_bytes": (row[f"{half}_body_bytes"], message.body_bytes),
    }
    if half == "request":
        cells["start_line"] = (row["method"], row["target"]), message.what
        cells["version"] = row["version"], message.version
        return cells
    cells["status"] = (row["status"],), message.what
    cells["response_framing"] = row["response_framing"], message.framing
    if message.is_complete:
        cells["response_wire_bytes"] = row["response_wire_bytes"], message.wire_bytes
    return cells
