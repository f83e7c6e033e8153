"""Fields of every packet as read by dpkt and scapy.

The comparison covers only plain packets: one IP header with TCP, no tunnel, no fragment, both headers
captured completely. For these packets, the standards leave the libraries no choice.
"""

from __future__ import annotations

import logging
import warnings
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import dpkt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

# Scapy announces optional dependencies and unusual packets on import and use.
logging.getLogger("scapy").setLevel(logging.CRITICAL)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from scapy.config import conf
    from scapy.layers import inet, inet6
    from scapy.utils import RawPcapNgReader, RawPcapReader

__all__ = ["DISSECTORS", "Fields", "Record", "Unreadable", "records"]

Fields = dict[str, Any]

_NANOSECONDS: Final = 1_000_000_000
_FIRST_FRAGMENT_WHOLE: Final = 0  # no offset and no more fragments (RFC 791, section 3.1)
# draft-ietf-opsawg-pcap, section 4.
_LINK_TYPE_BITS: Final = 0xFFFF
_FRAGMENT_BITS: Final = 0x3FFF
_MINIMUM_HEADER: Final = 20
_KIND_AND_LENGTH: Final = 2

# TCP option kinds (RFC 9293, section 3.2; RFC 7323; RFC 2018).
_END_OF_OPTIONS, _NO_OPERATION = 0, 1
_MSS, _WINDOW_SCALE, _SACK_PERMITTED, _SACK, _TIMESTAMPS = 2, 3, 4, 5, 8


class Unreadable(Exception):
    """File or link type that the peer cannot read."""


@dataclass(frozen=True, slots=True)
class Record:
    """Record of the file as scapy's reader returns it."""

    time_ns: int
    wire_bytes: int
    link_type: int
    data: bytes


def records(path: Path) -> Iterator[Record]:
    """Yield the records of a pcap or pcapng file; end early if scapy can read no further."""
    try:
        reader = RawPcapReader(str(path))
    except Exception as error:
        raise Unreadable(str(error)) from error
    with reader:
        while True:
            try:
                data, about = reader._read_packet()
            except EOFError:
                return
            except Exception as error:
                raise Unreadable(str(error)) from error
            if isinstance(reader, RawPcapNgReader):
                ticks = (about.tshigh or 0) << 32 | (about.tslow or 0)
                time_ns = int(Fraction(ticks * _NANOSECONDS, int(about.tsresol)))
                yield Record(time_ns, about.wirelen, about.linktype, data)
            else:
                fraction = about.usec if reader.nano else about.usec * 1000
                # The bits above the link type hold the length of the frame check sequence, which scapy leaves
                # there.
                link_type = reader.linktype & _LINK_TYPE_BITS
                yield Record(about.sec * _NANOSECONDS + fraction, about.wirelen, link_type, data)


def by_dpkt(record: Record) -> Fields | None:
    """Return the fields of a plain TCP packet; None for any other."""
    try:
        ip = _DPKT_LINKS[record.link_type](record.data)
    except (dpkt.UnpackError, dpkt.NeedData, LookupError, ValueError):
        return None
    tcp = getattr(ip, "data", None)
    if not isinstance(tcp, dpkt.tcp.TCP):
        return None
    network = _dpkt_network(ip)
    if network is None or tcp.off * 4 < _MINIMUM_HEADER:
        return None
    payload_bytes = network.pop("declared_bytes") - tcp.off * 4
    if payload_bytes < 0 or len(tcp.opts) != tcp.off * 4 - _MINIMUM_HEADER:
        return None
    options = _parse_options(tcp.opts)
    if options is None:
        return None
    return {
        **network,
        "source_port": tcp.sport,
        "destination_port": tcp.dport,
        "seq_raw": tcp.seq,
        "ack_raw": tcp.ack,
        "flags": tcp.flags & 0x1FF,
        "window_raw": tcp.win,
        "checksum": tcp.sum,
        "urgent_pointer": tcp.urp,
        "header_bytes": tcp.off * 4,
        "payload_bytes": payload_bytes,
        **options,
    }


def _dpkt_ethernet(data: bytes) -> object:
    return dpkt.ethernet.Ethernet(data).data


_DPKT_LINKS: Final[dict[int, Callable[[bytes], object]]] = {
    0: lambda data: dpkt.loopback.Loopback(data).data,
    1: _dpkt_ethernet,
    12: dpkt.ip.IP,
    101: dpkt.ip.IP,
    113: lambda data: dpkt.sll.SLL(data).data,
    228: dpkt.ip.IP,
    229: dpkt.ip6.IP6,
    276: lambda data: dpkt.sll2.SLL2(data).data,
}


def _dpkt_network(ip: object) -> Fields | None:
    if isinstance(ip, dpkt.ip.IP) and ip.v == 4:
        fragment = (ip.rf << 15 | ip.df << 14 | ip.mf << 13 | ip.offset) & _FRAGMENT_BITS
        # A total length of 0 is left to the network card (TSO); its interpretation is our choice.
        if fragment != _FIRST_FRAGMENT_WHOLE or not ip.len:
            return None
        return {
            "source": dpkt.utils.inet_to_str(ip.src),
            "destination": dpkt.utils.inet_to_str(ip.dst),
            "ttl": ip.ttl,
            "identification": ip.id,
            "protocol": ip.p,
            "declared_bytes": ip.len - ip.hl * 4,
        }
    if isinstance(ip, dpkt.ip6.IP6) and ip.v == 6 and not ip.extension_hdrs and ip.plen:
        return {
            "source": dpkt.utils.inet_to_str(ip.src),
            "destination": dpkt.utils.inet_to_str(ip.dst),
            "ttl": ip.hlim,
            "protocol": ip.nxt,
            "declared_bytes": ip.plen,
        }
    return None


def _parse_options(raw: bytes) -> Fields | None:
    """Return the options by dpkt's parser; None if they are malformed."""
    end = _end_of_options(raw)
    if end is None:
        return None
    # dpkt would read past the end-of-options option.
    parsed = dpkt.tcp.parse_opts(raw[:end])
    kinds = [kind for kind, _ in parsed]
    if any(kinds.count(kind) > 1 for kind in (_MSS, _WINDOW_SCALE, _SACK, _TIMESTAMPS)):
        return None
    values = dict(parsed)
    numbers = {kind: int.from_bytes(value, "big") for kind, value in values.items()}
    sack, stamps = values.get(_SACK, b""), values.get(_TIMESTAMPS)
    wrong_length = (
        (_MSS in values and len(values[_MSS]) != 2)
        or (_WINDOW_SCALE in values and len(values[_WINDOW_SCALE]) != 1)
        or (stamps is not None and len(stamps) != 8)
        or len(sack) % 8
    )
    if wrong_length:
        return None
    return {
        "mss_option": numbers.get(_MSS),
        "window_scale_option": numbers.get(_WINDOW_SCALE),
        "sack_permitted": _SACK_PERMITTED in values,
        "sack_edges_raw": [int.from_bytes(sack[at : at + 4], "big") for at in range(0, len(sack), 4)],
        "timestamp_value": int.from_bytes(stamps[:4], "big") if stamps else None,
        "timestamp_echo": int.from_bytes(stamps[4:], "big") if stamps else None,
    }


def _end_of_options(options: bytes) -> int | None:
    """Return the end of the options; None for a wrong length, after which parsers diverge."""
    at = 0
    while at < len(options) and options[at] != _END_OF_OPTIONS:
        if options[at] == _NO_OPERATION:
            at += 1
            continue
        length = options[at + 1] if at + 1 < len(options) else 0
        if length < _KIND_AND_LENGTH or at + length > len(options):
            return None
        at += length
    return at


def by_scapy(record: Record) -> Fields | None:
    """Return the fields of a plain TCP packet; None for any other."""
    try:
        packet = conf.l2types.num2layer[record.link_type](record.data)
    except Exception:  # noqa: BLE001 -- scapy raises whatever its layers raise
        return None
    networks = [part for part in _layers(packet) if isinstance(part, inet.IP | inet6.IPv6)]
    tcp = packet.getlayer(inet.TCP)
    if len(networks) != 1 or tcp is None or networks[0].payload is not tcp:
        return None
    fields = _scapy_network(networks[0])
    if fields is None or (tcp.dataofs or 0) * 4 < _MINIMUM_HEADER:
        return None
    options = _scapy_options(tcp)
    payload_bytes = fields.pop("declared_bytes") - tcp.dataofs * 4
    if options is None or payload_bytes < 0:
        return None
    return {
        **fields,
        "source_port": tcp.sport,
        "destination_port": tcp.dport,
        "seq_raw": tcp.seq,
        "ack_raw": tcp.ack,
        "flags": int(tcp.flags),
        "window_raw": tcp.window,
        "checksum": tcp.chksum,
        "urgent_pointer": tcp.urgptr,
        "header_bytes": tcp.dataofs * 4,
        "payload_bytes": payload_bytes,
        **options,
    }


def _layers(packet: Any) -> Iterator[Any]:
    while packet:
        yield packet
        packet = packet.payload


def _scapy_network(network: Any) -> Fields | None:
    if isinstance(network, inet.IP):
        if network.version != 4 or not network.len or network.frag or "MF" in str(network.flags):
            return None
        return {
            "source": network.src,
            "destination": network.dst,
            "ttl": network.ttl,
            "identification": network.id,
            "protocol": network.proto,
            "declared_bytes": network.len - network.ihl * 4,
        }
    if network.version != 6 or not network.plen:
        return None
    return {
        "source": network.src,
        "destination": network.dst,
        "ttl": network.hlim,
        "protocol": network.nh,
        "declared_bytes": network.plen,
    }


def _scapy_options(tcp: Any) -> Fields | None:
    if _end_of_options(tcp.original[_MINIMUM_HEADER : tcp.dataofs * 4]) is None:
        return None
    names = [name for name, _ in tcp.options]
    known = ("MSS", "WScale", "SAck", "Timestamp")
    if any(names.count(name) > 1 for name in known) or any(isinstance(name, int) for name in names):
        return None
    values = dict(tcp.options)
    # Scapy leaves the bytes of an option with a wrong length as they are.
    if any(isinstance(values.get(name), bytes) for name in known):
        return None
    # Scapy represents a list of one edge as a number, an empty list as nothing.
    if not isinstance(values.get("SAck", ()), tuple) or len(values.get("SAck", ())) % 2:
        return None
    stamps = values.get("Timestamp")
    return {
        "mss_option": values.get("MSS"),
        "window_scale_option": values.get("WScale"),
        "sack_permitted": "SAckOK" in values,
        "sack_edges_raw": list(values.get("SAck") or ()),
        "timestamp_value": stamps[0] if stamps else None,
        "timestamp_echo": stamps[1] if stamps else None,
    }


DISSECTORS: Final[dict[str, Callable[[Record], Fields | None]]] = {"dpkt": by_dpkt, "scapy": by_scapy}
