"""HTTP/2 on a server's connections: the windows of its clients, and the order in which the server writes.

Frames are those of RFC 9113 and header blocks those of RFC 7541 without Huffman's code: true bytes.

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

#: Of streams and connections before anything is said (RFC 9113, section 6.9.2).
FIRST_WINDOW: Final = 65_535
#: RFC 9113, section 6.9.1.
WINDOW_MAX: Final = (1 << 31) - 1
#: SETTINGS_MAX_FRAME_SIZE of an end that does not say (RFC 9113, section 6.5.2).
_FRAME_MAX: Final = 1 << 14


class WriteOrder(StrEnum):
    """Which stream's frame the server writes next."""

    #: All of the response that was ready first.
    SEQUENTIAL = "sequential"
    #: A frame of each in turn.
    ROUND_ROBIN = "round-robin"
    #: The most urgent one's, as its request's ``priority`` field says (RFC 9218, section 4.1).
    PRIORITY = "priority"


@dataclass(frozen=True, kw_only=True, slots=True)
class Http2:
    """The choices of a server and its clients.

    :raises ScenarioError: a window or a frame that RFC 9113 does not have.
    """

    #: SETTINGS_INITIAL_WINDOW_SIZE of the client.
    stream_window: Size = FIRST_WINDOW
    #: The client raises the connection's window to this with its preface.
    connection_window: Size = FIRST_WINDOW
    #: The most payload of a DATA frame.
    frame_bytes: Size = 8192
    order: WriteOrder = WriteOrder.SEQUENTIAL
    #: The client's requests wait for the server's SETTINGS; otherwise they go out with the preface.
    waits_for_settings: bool = False
    #: The client gives more of a window when so much of it is used; None: half of it.
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
