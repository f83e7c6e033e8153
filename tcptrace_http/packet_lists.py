"""Packets in memory as a capture: scapy's packets, dpkt's readers, and pairs of (time, bytes).

Neither library is imported here: a caller with scapy packets has already imported scapy.
"""

from __future__ import annotations

import io
import os
import sys
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeGuard

from tcptrace_http.errors import CaptureError
from tcptrace_http.trace import LINKTYPE_ETHERNET, write_pcap

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tcptrace_http.capture_stream import Source
    from tcptrace_http.trace import Record

    #: A path, ``-``, the bytes of a capture, or packets: scapy's, or (time, bytes) pairs as from dpkt's
    #: readers.
    Packets: TypeAlias = Source | Iterable[Any]

__all__ = ["as_source"]

#: Path name of the packets in messages.
_NAME: Final = "<packets>"
_NANOSECONDS: Final = 1_000_000_000
#: Rounding of times: a float resolves today's seconds to a quarter of a microsecond, dpkt's readers to
#: microseconds.
_MICROSECONDS: Final = 1_000_000
#: LINKTYPE_RAW, and the link types of a single IP version, which a list may mix (tcpdump.org/linktypes.html).
_RAW_IP: Final = 101
_RAW_IP_OF_A_VERSION: Final = (228, 229)
#: Length of a (time, bytes) pair.
_PAIR: Final = 2


def as_source(packets: Packets) -> Source:
    """Return a path or capture bytes unchanged, and packets as the bytes of a pcap file.

    :raises CaptureError: an item is not a packet, lacks a time, or has another link type than the first.
    """
    if isinstance(packets, (str, bytes, os.PathLike)):
        return packets
    try:
        items = iter(packets)
    except TypeError:
        raise CaptureError(
            _NAME, f"{type(packets).__name__} is no capture; give a path, bytes, or packets of scapy or dpkt"
        ) from None
    file = io.BytesIO()
    first = next(items, None)
    if _is_scapy(first):
        write_pcap(file, _of_scapy(first, items), link_type=_link_type(first))
    else:
        # Readers of dpkt know their link type.
        datalink = getattr(packets, "datalink", None)
        link_type = LINKTYPE_ETHERNET if datalink is None else datalink()
        write_pcap(file, _of_pairs(first, items), link_type=link_type)
    return file.getvalue()


def _is_scapy(item: object) -> TypeGuard[Any]:
    module = sys.modules.get("scapy.packet")
    return module is not None and isinstance(item, module.Packet)


def _of_scapy(first: Any, items: Iterator[Any]) -> Iterator[Record]:
    link_type = _link_type(first)
    for number, packet in enumerate(_chained(first, items), 1):
        if not _is_scapy(packet):
            raise CaptureError(_NAME, f"item {number} is {type(packet).__name__}, and no packet of scapy")
        if _link_type(packet) != link_type:
            raise CaptureError(
                _NAME,
                f"item {number} has link type {_link_type(packet)}, the first one {link_type}: analyze them apart",
            )
        frame = bytes(packet)
        # The captured part may be shorter than the packet.
        yield _time_ns(packet.time, number), frame, max(packet.wirelen or 0, len(frame))


def _link_type(packet: Any) -> int:
    """Return the link type number whose frames scapy reads as packets of this class."""
    from scapy.config import conf

    known = conf.l2types.layer2num.get(type(packet))
    if known is None:
        raise CaptureError(
            _NAME, f"scapy has no link type for {type(packet).__name__}: begin packets with Ether()"
        )
    return _RAW_IP if known in _RAW_IP_OF_A_VERSION else int(known)


def _of_pairs(first: Any, items: Iterator[Any]) -> Iterator[Record]:
    for number, pair in enumerate(_chained(first, items), 1):
        if (
            not isinstance(pair, (tuple, list))
            or len(pair) != _PAIR
            or not isinstance(pair[1], (bytes, bytearray))
        ):
            raise CaptureError(
                _NAME, f"item {number} is no (time, bytes) and no packet of scapy, but {type(pair).__name__}"
            )
        frame = bytes(pair[1])
        yield _time_ns(pair[0], number), frame, len(frame)


def _chained(first: Any, items: Iterator[Any]) -> Iterator[Any]:
    if first is not None:
        yield first
        yield from items


def _time_ns(time: object, number: int) -> int:
    """Return nanoseconds since the epoch. Integers are nanoseconds; fractions, as from libraries, are seconds."""
    if isinstance(time, int) and not isinstance(time, bool):
        return time
    if isinstance(time, Decimal):
        return round(time * _NANOSECONDS)
    if isinstance(time, float):
        return round(time * _MICROSECONDS) * (_NANOSECONDS // _MICROSECONDS)
    raise CaptureError(
        _NAME, f"item {number} has the time {time!r}: give nanoseconds (int) or seconds (float or Decimal)"
    )
