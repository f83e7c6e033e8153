"""A request and what came back, as a connection of the probe saw it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["TLS_BEGINNINGS", "Came", "Exchange", "Kernel", "Piece"]

#: First bytes of a server that speaks TLS: an alert or a handshake message, version 3.x (RFC 8446, section 5.1).
TLS_BEGINNINGS: Final = (b"\x15\x03", b"\x16\x03")


@dataclass(frozen=True, slots=True)
class Came:
    """Data of one read of a socket."""

    #: Bytes on the wire; none where they hold nothing of a response (session tickets).
    size: int
    data: bytes
    has_ended: bool = False


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes that one read gave."""

    #: When, by the monotonic clock.
    time: int
    size: int


@dataclass(frozen=True, slots=True)
class Kernel:
    """What the kernel knows of a connection."""

    rtt_ns: int
    #: Largest segment that the peer sent, or is taken to send.
    segment_bytes: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Exchange:
    """A request and what came back."""

    step: str
    method: str
    path: str
    #: Own port, number of the connection, and of the request on it.
    port: int
    index: int
    #: When the last byte of the request was written.
    asked: int
    pieces: Sequence[Piece]
    #: Bytes of the head, and of the body as its framing has it; what the status and the fields say.
    status: int | None = None
    head_bytes: int = 0
    body_bytes: int = 0
    fields: tuple[tuple[str, str], ...] = ()
    is_complete: bool = False
    #: The response is longer than the probe reads.
    is_cut: bool = False
    #: The server closed, or said that it will.
    closes: bool = False
    #: What went wrong, in a few words.
    fault: str = ""
    kernel: Kernel | None = None
    #: Whether the kernel was about to delay ACKs when the request was written.
    delays_acks: bool = False
    #: How long the body of the request waited for a 100 (Continue) in vain.
    held: int = 0

    def field(self, name: str) -> str | None:
        """The value of a response's field."""
        return next((value for key, value in self.fields if key == name), None)
