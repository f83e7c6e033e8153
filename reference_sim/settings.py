"""What a paper showed its strategies with: page, network, stacks, hosts and pauses.

A strategy has one of these, so that ``simulate --strategy NAME`` alone shows what its paper says.
Names are those of the tables of pages, networks and stacks; durations are integer nanoseconds.
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
    """What the paper's browser and server add to the network's time, and what they write."""

    product: str = "reference_sim"
    #: Heads of responses are padded to at least this many bytes.
    min_head_bytes: int = 0
    #: Requests are padded to at least this many bytes.
    min_request_bytes: int = 0
    #: Published sizes of objects include the heads of their responses.
    sizes_include_heads: bool = False
    #: The server's time for a response.
    processing: int = 0
    #: The same of the page's own objects beyond ``processing``, by their numbers.
    processing_more: tuple[int, ...] = ()
    #: The browser's time from a link to its request.
    parse: int = 0
    #: The hosts' time for a connection, spent before its SYN.
    connection_cost: int = 0
    #: A browser with one connection asks for an object once it has the one before.
    in_order: bool = False


_NO_COST: Final = Hosts()


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """A paper's choices; what a user names replaces them one by one."""

    #: Paper and section.
    source: str
    page: str
    network: str
    client_stack: str
    #: None: as the client's.
    server_stack: str | None = None
    #: The reader's pause between two visits.
    think: int = 0
    hosts: Hosts = _NO_COST


# Heidemann 1996, Figure 2: "client_think_time: 0.650ms", "server_think_time: 2.175ms", a head of 226 bytes.
_SERVER_THINK: Final = 2_175_000
#: Section 2.1, and what its figures print of the hosts.
#:
#: Figure 4: from the request for the second document to the first segment of its response 9.271 ms pass.
#: The network takes 1.5 ms of them (that segment's 1514 bytes, the request, and both ways), the server 7.8:
#: that much more than for the first document. The third one's time is not printed, and taken as the first's.
#:
#: What a connection costs both hosts (processes, sockets, the name looked up by Perl) beyond its handshake:
#: by Table 1 HTTP opens three for what takes P-HTTP with both fixes one, and takes 43 - 26 ms longer: 8.5 ms
#: each, of which the wire's share here is 0.3 ms. Figure 2 has no room for it behind the SYN, so it is before.
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
#: Section 2.4 has no experiment: the path of section 2.5, and a pause of more than a retransmission timeout.
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
#: Section 4; the page is that with a few large images.
KRUSE: Final = Setting(
    source="Kruse 2001, sections 4.1 and 4.2, the ACTS page",
    page="kruse-acts",
    network="satellite",
    client_stack="netbsd-1.2.1",
)
#: Section 4.3, a queue of 10 packets; the page with images only beside its HTML.
EGGERT: Final = Setting(
    source="Eggert 1999, sections 4 and 4.3, the graphics page",
    page="eggert-graphics",
    network="eggert-10",
    client_stack="reno-ns",
    think=5 * _S,
    hosts=Hosts(sizes_include_heads=True),
)
#: Sections 4.2 and 4.4; how long a reader looks at a page is ours.
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
