"""Frame of a capture with its bytes, also as a packet of scapy or dpkt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tcptrace_http.capture_stream import CaptureStream
from tcptrace_http.errors import CaptureError, MissingExtra, UnknownName
from tcptrace_http.trace import native

if TYPE_CHECKING:
    from tcptrace_http.capture_stream import Source

__all__ = ["CapturedFrame", "captured_frame"]

#: Module and class of dpkt for each link type (LINKTYPE_ numbers, tcpdump.org/linktypes.html).
_DPKT: Final = {
    0: ("loopback", "Loopback"),
    1: ("ethernet", "Ethernet"),
    101: ("ip", "IP"),
    108: ("loopback", "Loopback"),
    113: ("sll", "SLL"),
    228: ("ip", "IP"),
    229: ("ip6", "IP6"),
    276: ("sll2", "SLL2"),
}
_RAW_IP: Final = 101
_IPV6: Final = 6


@dataclass(frozen=True, slots=True)
class CapturedFrame:
    """Record of a capture."""

    #: Frame number as in Wireshark, from 1.
    frame: int
    #: Capture time in nanoseconds since the epoch.
    time_ns: int
    #: LINKTYPE_ number of the interface.
    link_type: int
    #: Length on the wire; ``data`` may be shorter.
    wire_bytes: int
    #: Captured bytes.
    data: bytes

    def __bytes__(self) -> bytes:
        return self.data

    def scapy(self) -> Any:
        """Return the frame as a packet of scapy, with its time and its wire length.

        :raises MissingExtra: scapy is not installed.
        """
        try:
            import scapy.layers.all  # noqa: F401 -- the layers register themselves
            from scapy.config import conf
            from scapy.packet import Raw
            from scapy.utils import EDecimal
        except ModuleNotFoundError:
            raise MissingExtra("packets of scapy need scapy", "scapy") from None
        packet = conf.l2types.num2layer.get(self.link_type, Raw)(self.data)
        packet.time = EDecimal(self.time_ns) / 1_000_000_000
        packet.wirelen = self.wire_bytes
        return packet

    def dpkt(self) -> Any:
        """Return the frame as a packet of dpkt, without a time.

        :raises MissingExtra: dpkt is not installed.
        :raises UnknownName: dpkt has no reader for the link type.
        """
        from importlib import import_module

        module, name = self._dpkt_reader()
        try:
            reader = import_module(f"dpkt.{module}")
        except ModuleNotFoundError:
            raise MissingExtra("packets of dpkt need dpkt", "dpkt") from None
        return getattr(reader, name)(self.data)

    def _dpkt_reader(self) -> tuple[str, str]:
        if self.link_type not in _DPKT:
            raise UnknownName(
                f"frame {self.frame}: dpkt has no reader for link type {self.link_type}; use .data or .scapy()"
            )
        is_ipv6 = self.link_type == _RAW_IP and self.data[:1] and self.data[0] >> 4 == _IPV6
        return ("ip6", "IP6") if is_ipv6 else _DPKT[self.link_type]


def captured_frame(source: Source, frame: int) -> CapturedFrame:
    """Read a capture up to a frame.

    :raises CaptureError: the capture cannot be read.
    :raises UnknownName: there is no such frame.
    """
    reader = native.FrameReader(frame)
    with CaptureStream(source) as stream:
        try:
            for chunk in stream.chunks():
                reader.feed(bytes(chunk))
                if (found := reader.frame()) is not None:
                    return CapturedFrame(frame, *found)
        except native.CaptureFault as fault:
            raise CaptureError(stream.path, fault.args[1]) from None
    raise UnknownName(f"there is no frame {frame}; frames are numbered from 1, as in Wireshark")
