"""Settings of HTTP/2 on a server's connections: the clients' windows, and the server's write order.

The engine writes real frames (RFC 9113) and real header blocks (RFC 7541, without Huffman coding).

>>> from reference_sim.http2 import Http2, WriteOrder
>>> narrow = Http2(stream_window=65_535, order=WriteOrder.SEQUENTIAL)
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from reference_sim.document import Size
from reference_sim.quantities import bytes_of
from tcptrace_http.errors import ScenarioError

__all__ = ["FIRST_WINDOW", "WINDOW_MAX", "Http2", "WriteOrder"]

#: Initial window of streams and connections (RFC 9113, section 6.9.2).
FIRST_WINDOW: Final = 65_535
#: Largest flow-control window (RFC 9113, section 6.9.1).
WINDOW_MAX: Final = (1 << 31) - 1
#: Default SETTINGS_MAX_FRAME_SIZE (RFC 9113, section 6.5.2).
_FRAME_MAX: Final = 1 << 14


class WriteOrder(StrEnum):
    """Order in which the server picks the stream of its next frame."""

    #: The whole response that was ready first.
    SEQUENTIAL = "sequential"
    #: Round robin: one frame per stream.
    ROUND_ROBIN = "round-robin"
    #: The most urgent stream, by the ``priority`` field of its request (RFC 9218, section 4.1).
    PRIORITY = "priority"


@dataclass(frozen=True, kw_only=True, slots=True)
class Http2:
    """HTTP/2 choices of a server and its clients.

    :raises ScenarioError: a window or frame size is outside the range of RFC 9113.
    """

    #: SETTINGS_INITIAL_WINDOW_SIZE of the client.
    stream_window: Size = FIRST_WINDOW
    #: The client raises the connection window to this size in its preface.
    connection_window: Size = FIRST_WINDOW
    #: Largest payload of a DATA frame.
    frame_bytes: Size = 8192
    order: WriteOrder = WriteOrder.SEQUENTIAL
    #: The client's requests wait for the server's SETTINGS; otherwise they follow the preface at once.
    waits_for_settings: bool = False
    #: The client sends WINDOW_UPDATE after this many bytes; None: after half the window.
    update_bytes: Size | None = None

    def __post_init__(self) -> None:
        bounds = {
            "stream_window": (1, WINDOW_MAX),
            "connection_window": (FIRST_WINDOW, WINDOW_MAX),
            "frame_bytes": (1, _FRAME_MAX),
        }
        for name, (least, most) in bounds.items():
            if not least <= bytes_of(getattr(self, name)) <= most:
                raise ScenarioError(f"has at least {least:,} and at most {most:,} bytes", field=name)
        if self.update_bytes is not None and bytes_of(self.update_bytes) < 1:
            raise ScenarioError("has at least 1 byte", field="update_bytes")
