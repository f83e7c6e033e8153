"""Tags of switches and carriers between the Ethernet header and IP, in both directions."""

import struct
from dataclasses import replace

from .script import Captured, Case, Row, Talk, case, get, response

ADDRESSES = 12


def tagged(ether_type: int, tag: bytes, *, whole_frame: bool = False) -> Case:
    """Return an exchange with a tag in every frame: before IP's EtherType, or before another Ethernet header."""
    talk = Talk()
    talk.open()
    talk.C(get("/a"), "P.")  # 4
    talk.S(response("hello"), "P.")  # 5

    def wrap(record: Captured) -> Captured:
        start = record.data[:ADDRESSES] + struct.pack(">H", ether_type) + tag
        return replace(record, data=start + record.data[0 if whole_frame else ADDRESSES :])

    records = [wrap(record) for record in talk.records]
    return Case(records, rows=[Row("GET /a", 200, (4, 5, 5), 5, "content_length")])


@case("IEEE 802.1BR, section 8.4: a VN-Tag is four bytes behind its type")
def vn_tag() -> Case:
    return tagged(0x8926, bytes([0x80, 1, 0, 2]))


@case("IEEE 802.1BR, section 8.4: a VLAN tag may follow")
def vn_tag_and_vlan() -> Case:
    return tagged(0x8926, bytes([0, 1, 0, 2, 0x81, 0, 0, 5]))


@case("draft-smith-kandula-sxp: Cisco metadata is six bytes behind its type")
def cisco_metadata() -> Case:
    return tagged(0x8909, bytes([1, 1, 0, 1, 0, 7]))


@case("RFC 8300, section 2: the header has its length in words, and what follows")
def network_service_header() -> Case:
    return tagged(0x894F, bytes([0, 3, 2, 3, 0, 0, 1, 255, 1, 2, 3, 4]), whole_frame=True)


@case("RFC 6325, section 3.1: a frame of a host behind nicknames of bridges")
def trill() -> Case:
    return tagged(0x22F3, bytes([0, 63, 0, 1, 0, 2]), whole_frame=True)
