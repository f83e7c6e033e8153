"""Packets captured more than once: with and without VLAN tag, at two interfaces, behind a router."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from .script import Captured, Case, Row, Talk, case, get, response

if TYPE_CHECKING:
    from collections.abc import Callable

#: IEEE 802.1Q: VLAN 7.
TAG = b"\x81\x00\x00\x07"
#: A host captures a packet again when it passes from one interface to the next.
LATER_NS = 20_000
#: Offset of the TTL: an Ethernet header and 8 bytes of the IPv4 header precede it.
TTL_AT = 22

ROWS = [Row("GET /a", 200, (7, 9, 9), 2, "content_length")]
#: Packet counts include the copies.
FACTS: dict[str, object] = {
    "packets": 12,
    "client_bytes": len(get("/a")),
    "server_bytes": len(response("ok")),
    "server_retransmissions": 0,
    "client_retransmissions": 0,
    "client_duplicate_acks": 0,
}
COPY = "tshark takes a copy for a packet that was sent again"


def twice(talk: Talk, copy: Callable[[Captured], Captured], *, later_ns: int = LATER_NS) -> Case:
    """Return every packet followed by its copy: the first sighting counts."""
    records = [
        each for record in talk.records for each in (record, replace(copy(record), time=record.time + later_ns))
    ]
    return Case(
        records,
        rows=ROWS,
        flows=[FACTS],
        anomalies=[("duplicate_packets", 2)],
        tshark_differs=dict.fromkeys(("streams", "is_retransmission", "duplicate_ack_count"), COPY),
    )


def exchange() -> Talk:
    talk = Talk()
    talk.open()
    talk.C(get("/a"), "P.")
    talk.S(response("ok"), "P.")
    talk.C()
    return talk


def tagged(record: Captured) -> Captured:
    return replace(record, data=record.data[:12] + TAG + record.data[12:])


def routed(record: Captured) -> Captured:
    data = bytearray(record.data)
    data[TTL_AT] -= 1
    return replace(record, data=bytes(data))


@case("IEEE 802.1Q, section 9: a tag changes nothing in the packet")
def with_and_without_a_vlan_tag() -> Case:
    return twice(exchange(), tagged)


@case("draft-ietf-opsawg-pcapng, section 4.3: a packet block names the interface that saw the packet")
def at_two_interfaces() -> Case:
    return twice(exchange(), lambda record: replace(record, interface=1))


@case("RFC 791, section 3.2: a router takes one from the time to live")
def before_and_behind_a_router() -> Case:
    return twice(exchange(), routed, later_ns=300_000)
