"""Experimental settings of the papers: page, network, stacks, hosts and pauses.

Each strategy has one setting. ``simulate --strategy NAME`` alone therefore shows the effect that its paper
describes. Names refer to the tables of pages, networks and stacks. Durations are integer nanoseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = [
    "BHALEKAR",
    "EGGERT",
    "HEIDEMANN",
    "HEIDEMANN_RESTART",
    "KRUSE",
    "THESIS",
    "TODAY",
    "Hosts",
    "Setting",
]

_S: Final = 10**9


@dataclass(frozen=True, kw_only=True, slots=True)
class Hosts:
    """Processing times of the paper's browser and server, and their message sizes."""

    product: str = "reference_sim"
    #: Heads of responses are padded to at least this many bytes.
    min_head_bytes: int = 0
    #: Requests are padded to at least this many bytes.
    min_request_bytes: int = 0
    #: Published object sizes include the response heads.
    sizes_include_heads: bool = False
    #: Server processing time per response.
    processing: int = 0
    #: Extra processing time of single objects of the page, by number.
    processing_more: tuple[int, ...] = ()
    #: Browser time from a link to its request.
    parse: int = 0
    #: Host time per connection, spent before its SYN.
    connection_cost: int = 0
    #: A browser with one connection requests an object after it has the previous one.
    in_order: bool = False


_NO_COST: Final = Hosts()


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """A paper's setting. User arguments replace its fields one by one."""

    #: Paper and section.
    source: str
    page: str
    network: str
    client_stack: str
    #: None: equal to the client's.
    server_stack: str | None = None
    #: Reader's pause between two visits.
    think: int = 0
    hosts: Hosts = _NO_COST


# Heidemann 1996, Figure 2: "client_think_time: 0.650ms", "server_think_time: 2.175ms", a head of 226 bytes.
_SERVER_THINK: Final = 2_175_000
#: Section 2.1, and host times derived from its figures.
#:
#: Figure 4: 9.271 ms pass from the request for the second document to the first segment of its response. The
#: network accounts for 1.5 ms (the segment's 1514 bytes, the request, both directions), the server for 7.8
#: ms. The second document thus takes longer than the first by that much. The time of the third document is
#: not printed; the first document's time is assumed. The host cost of a connection (processes, sockets,
#: Perl's name lookup) exceeds its handshake. In Table 1, HTTP opens three connections, P-HTTP with both fixes
#: one; the difference is 43 - 26 ms, or 8.5 ms per connection. The wire's share is 0.3 ms. Figure 2 has no
#: room for this cost after the SYN, so it is spent before the SYN.
HEIDEMANN: Final = Setting(
    source="Heidemann 1996, sections 2.1 to 2.3, Table 1",
    page="heidemann",
    network="lan",
    client_stack="sunos-4.1.3",
    hosts=Hosts(
        product="Apache/1.1b4",
        min_head_bytes=226,
        processing=_SERVER_THINK,
        processing_more=(0, 7_800_000 - _SERVER_THINK, 0),
        parse=650_000,
        connection_cost=8_200_000,
        in_order=True,
    ),
)
#: Section 2.4 has no experiment: the path of section 2.5, and a pause longer than an RTO.
HEIDEMANN_RESTART: Final = Setting(
    source="Heidemann 1996, section 2.4 on the path of section 2.5; page and pause are ours",
    page="one-large",
    network="wan",
    client_stack="reno",
    think=3 * _S,
)
#: Section 4.1, one client.
THESIS: Final = Setting(
    source="Gürkan 1998, sections 3.1 and 4.1, one client",
    page="thesis",
    network="thesis",
    client_stack="tahoe-ns",
    hosts=Hosts(min_request_bytes=210, sizes_include_heads=True),
)
#: Section 4; the page has a few large images.
KRUSE: Final = Setting(
    source="Kruse 2001, sections 4.1 and 4.2, the ACTS page",
    page="kruse-acts",
    network="satellite",
    client_stack="netbsd-1.2.1",
)
#: Section 4.3, a queue of 10 packets; the page has only images besides its HTML.
EGGERT: Final = Setting(
    source="Eggert 1999, sections 4 and 4.3, the graphics page",
    page="eggert-graphics",
    network="eggert-10",
    client_stack="reno-ns",
    think=5 * _S,
    hosts=Hosts(sizes_include_heads=True),
)
#: Sections 4.2 and 4.4; the reader's think time is our choice.
BHALEKAR: Final = Setting(
    source="Bhalekar 2003, sections 4.2.1 and 4.4, the ESPN page; the reader's pause is ours",
    page="espn",
    network="satellite-hub",
    client_stack="reno",
    think=30 * _S,
)
#: No paper: a page of several objects over a path of 90 ms.
TODAY: Final = Setting(
    source="no paper: a page of several objects, chosen",
    page="eggert-graphics",
    network="wan",
    client_stack="linux-6",
)
