"""Names of HTTP/2 error codes (RFC 9113, section 7) and of gRPC calls and statuses, as in reports."""

from __future__ import annotations

from typing import Final

__all__ = ["error_name", "grpc_call", "grpc_status_name"]

_ERRORS: Final = (
    *("NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED"),
    *("FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM"),
    *("INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED"),
)
_GRPC_STATUSES: Final = (
    *("OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS"),
    *("PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE"),
    *("UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED"),
)


def error_name(code: int) -> str:
    """Return the name of an error code, or its number if it has no name.

    >>> error_name(8), error_name(4711)
    ('CANCEL', '4711')
    """
    return _ERRORS[code] if 0 <= code < len(_ERRORS) else str(code)


def grpc_status_name(status: int) -> str:
    """Return the name of a gRPC status, or its number if it has no name.

    >>> grpc_status_name(12), grpc_status_name(99)
    ('UNIMPLEMENTED', '99')
    """
    return _GRPC_STATUSES[status] if 0 <= status < len(_GRPC_STATUSES) else str(status)


def grpc_call(target: str | None) -> tuple[str, str] | None:
    """Return the service (with its package) and the method of a gRPC request; None for another target.

    >>> grpc_call("/grpc.testing.TestService/UnaryCall")
    ('grpc.testing.TestService', 'UnaryCall')
    """
    service, slash, method = (target or "").removeprefix("/").rpartition("/")
    return (service, method) if slash and service and method else None
