"""Request and response as seen by a connection of the probe."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["TLS_BEGINNINGS", "Came", "Exchange", "Kernel", "Piece"]

#: First bytes of a TLS server: an alert or a handshake message, version 3.x (RFC 8446, section 5.1).
TLS_BEGINNINGS: Final = (b"\x15\x03", b"\x16\x03")


@dataclass(frozen=True, slots=True)
class Came:
    """Data of one socket read."""

    #: Bytes on the wire; 0 for bytes outside a response (session tickets).
    size: int
    data: bytes
    has_ended: bool = False


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes of one read."""

    #: Time of the monotonic clock.
    time: int
    size: int


@dataclass(frozen=True, slots=True)
class Kernel:
    """Kernel counters of a connection."""

    rtt_ns: int
    #: Maximum segment that the peer sent, or its estimate.
    segment_bytes: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Exchange:
    """Request with its response."""

    step: str
    method: str
    path: str
    #: Local port, connection number, and request number on the connection.
    port: int
    index: int
    #: Time of the request's last byte.
    requested: int
    pieces: Sequence[Piece]
    #: Bytes of the head, bytes of the framed body, and values of the status and the fields.
    status: int | None = None
    head_bytes: int = 0
    body_bytes: int = 0
    fields: tuple[tuple[str, str], ...] = ()
    is_complete: bool = False
    #: True if the response exceeds the read limit.
    is_cut: bool = False
    #: True if the server closed, or announced the close.
    closes: bool = False
    #: Short description of the failure.
    fault: str = ""
    kernel: Kernel | None = None
    #: True if the kernel was about to delay ACKs at the write of the request.
    delays_acks: bool = False
    #: Time that the request body waited in vain for 100 (Continue).
    held: int = 0

    def field(self, name: str) -> str | None:
        """Return the value of a response field."""
        return next((value for key, value in self.fields if key == name), None)
