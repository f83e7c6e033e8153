"""Columns of the report's transactions for HTTP/2 streams only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tcptrace_http.http2_names import error_name, grpc_call, grpc_status_name
from tcptrace_http.report.grid import Heading

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["NOTHING", "OF_STREAMS", "status_of", "target_of"]

#: Placeholder for a missing value.
NOTHING: Final = "-"


@dataclass(frozen=True, slots=True)
class Column:
    """Column of the transactions' table, shown if any row has a value."""

    heading: Heading
    text: Callable[[dict[str, Any]], str]


def target_of(row: dict[str, Any]) -> str:
    """Return the target; for a gRPC call without its package; ``(TLS)`` if TLS hides it."""
    call = None if row["grpc_request_messages"] is None else grpc_call(row["target"])
    if call is not None:
        return f"{call[0].rpartition('.')[2]}/{call[1]}"
    return row["target"] or ("(TLS)" if row["protocol"] == "tls" else NOTHING)


def status_of(row: dict[str, Any]) -> str:
    """Return the HTTP status, or the name of a gRPC call's status."""
    return str(row["status"] or NOTHING) if row["grpc_status"] is None else grpc_status_name(row["grpc_status"])


def _stream(row: dict[str, Any]) -> str:
    return NOTHING if row["stream"] is None else str(row["stream"])


def _messages(row: dict[str, Any]) -> str:
    """Return the message counts of a gRPC call: the client's and the server's."""
    if row["grpc_request_messages"] is None:
        return NOTHING
    return f"{row['grpc_request_messages']}→{row['grpc_response_messages'] or 0}"


def _reset(row: dict[str, Any]) -> str:
    """Return the side that reset the stream, and its error code."""
    if row["reset_by"] is None:
        return NOTHING
    side = "client" if row["reset_by"] == "client_to_server" else "server"
    return f"{side} {error_name(row['reset_code'] or 0)}"


#: Stream columns in display order.
OF_STREAMS: Final = (
    Column(Heading("stream", is_number=True), _stream),
    Column(Heading("messages", is_number=True, is_optional=True), _messages),
    Column(Heading("reset by", is_optional=True), _reset),
)
