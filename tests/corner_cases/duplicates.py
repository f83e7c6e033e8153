"""The same packet captured more than once: with and without its VLAN tag, at several interfaces."""

from dataclasses import replace

from .script import Captured, Case, Row, Talk, case, get, response

#: IEEE 802.1Q: VLAN 7.
TAG = b"\x81\x00\x00\x07"
#: A host shows a packet again when it passes from one of its interfaces to the next.
LATER_NS = 20_000


def twice(talk: Talk, *, tagged: bool, interface: int = 0) -> list[Captured]:
    copies = []
    for record in talk.records:
        data = record.data[:12] + TAG + record.data[12:] if tagged else record.data
        copies += [record, replace(record, time=record.time + LATER_NS, data=data, interface=interface)]
    return copies


def exchange() -> Talk:
    talk = Talk()
    talk.open()
    talk.C(get("/a"), "P.")
    talk.S(response("ok"), "P.")
    talk.C()
    return talk


ROWS = [Row("GET /a", 200, (7, 9, 9), 2, "content_length")]
FACTS = {"packets": 12, "client_bytes": len(get("/a")), "server_bytes": len(response("ok"))}


@case("IEEE 802.1Q, section 9: a tag changes nothing in the packet")
def with_and_without_a_vlan_tag() -> Case:
    return Case(twice(exchange(), tagged=True), rows=ROWS, flows=[FACTS])


@case("draft-ietf-opsawg-pcapng, section 4.3: a packet block names the interface that saw the packet")
def at_two_interfaces() -> Case:
    return Case(twice(exchange(), tagged=False, interface=1), rows=ROWS, flows=[FACTS])
