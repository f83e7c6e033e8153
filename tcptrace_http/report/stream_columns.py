"""Columns of the report's transactions that only streams of HTTP/2 have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tcptrace_http.http2_names import error_name, grpc_status_name
from tcptrace_http.report.grid import Heading

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["NOTHING", "OF_STREAMS"]

#: In place of a value that is not there.
NOTHING: Final = "-"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the transactions' table that is shown if any row has something in it."""

    heading: Heading
    text: Callable[[dict[str, Any]], str]


def _stream(row: dict[str, Any]) -> str:
    return NOTHING if row["stream"] is None else str(row["stream"])


def _grpc(row: dict[str, Any]) -> str:
    """The status of a gRPC call, and the messages of the client and of the server."""
    if row["grpc_request_messages"] is None:
        return NOTHING
    status = "no status" if row["grpc_status"] is None else grpc_status_name(row["grpc_status"])
    return f"{status} {row['grpc_request_messages']}→{row['grpc_response_messages'] or 0}"


def _reset(row: dict[str, Any]) -> str:
    """The side that gave the stream up, and its error code."""
    if row["reset_by"] is None:
        return NOTHING
    side = "client" if row["reset_by"] == "client_to_server" else "server"
    return f"{side} {error_name(row['reset_code'] or 0)}"


#: In the order in which they are shown.
OF_STREAMS: Final = (
    Column(Heading("stream", is_number=True), _stream),
    Column(Heading("gRPC", is_optional=True), _grpc),
    Column(Heading("reset by", is_optional=True), _reset),
)
