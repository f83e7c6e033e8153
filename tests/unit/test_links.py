"""Table of links: the packet that completes each link, in any encoding of the document."""

from __future__ import annotations

import zlib
from itertools import pairwise
from typing import TYPE_CHECKING

from captures import ACK, MILLISECOND, PSH, REQUEST, Connection, pcap
from hypothesis import given
from hypothesis import strategies as st

import tcptrace_http

if TYPE_CHECKING:
    from tcptrace_http.analysis import Analysis

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
#: The ``wbits`` of zlib, by content coding.
CODINGS = {"identity": None, "gzip": 31, "deflate": 15}


def images(seed: int, count: int) -> list[bytes]:
    """Return tags, each with other attributes before its link."""
    return [b"<p id=%d>&amp;</p><img alt='a > %d' src=/%d/%d.png>" % (n * 7919, n, seed, n) for n in range(count)]


def packed(text: bytes, coding: str) -> bytes:
    wbits = CODINGS[coding]
    return text if wbits is None else zlib.compress(text, wbits=wbits)


def fetch(connection: Connection, body: bytes, coding: str, cuts: list[int]) -> list[int]:
    """Fetch a page whose body arrives in pieces; return the frame of each piece."""
    head = HEAD + b"Content-Encoding: %s\r\nContent-Length: %d\r\n\r\n" % (coding.encode(), len(body))
    connection.from_client(REQUEST, PSH | ACK, after=MILLISECOND)
    connection.from_server(head, after=MILLISECOND)
    frames = []
    for start, end in pairwise([0, *cuts, len(body)]):
        connection.from_server(body[start:end], after=12_000)
        frames.append(len(connection.records))
    connection.from_client(after=20_000)
    return frames


def expected(
    tags: list[bytes], body: bytes, coding: str, cuts: list[int], frames: list[int]
) -> list[tuple[str, int]]:
    """Return the links, each with the frame that completed its text."""
    wbits = CODINGS[coding]
    unpack = (lambda piece: piece) if wbits is None else zlib.decompressobj(wbits).decompress
    lengths, length = [], 0
    for start, end in pairwise([0, *cuts, len(body)]):
        length += len(unpack(body[start:end]))
        lengths.append(length)
    links, end = [], 0
    for tag in tags:
        end += len(tag)
        frame = next(frame for frame, length in zip(frames, lengths, strict=True) if length >= end)
        links.append((tag.rpartition(b"src=")[2].decode().rstrip(">"), frame))
    return links


@st.composite
def fetches(draw: st.DrawFn) -> list[tuple[list[bytes], str, bytes, list[int]]]:
    """Return pages with possible repetitions: tags, coding, body and split points."""
    pages = draw(st.lists(st.tuples(st.integers(1, 30), st.sampled_from(sorted(CODINGS))), min_size=1, max_size=3))
    made = []
    for number in draw(st.lists(st.integers(0, len(pages) - 1), min_size=1, max_size=6)):
        count, coding = pages[number]
        tags = images(number, count)
        body = packed(b"".join(tags), coding)
        cuts = sorted(draw(st.sets(st.integers(1, len(body) - 1), max_size=5)))
        made.append((tags, coding, body, cuts))
    return made


def links_of(analysis: Analysis) -> list[tuple[str, int]]:
    return analysis.links.select("url", "frame").rows()


@given(fetches())
def test_a_link_is_known_with_the_packet_that_brought_the_end_of_its_tag(made):
    connection = Connection()
    connection.open()
    links = []
    for tags, coding, body, cuts in made:
        frames = fetch(connection, body, coding, cuts)
        links += expected(tags, body, coding, cuts, frames)
    assert links_of(tcptrace_http.analyze(pcap(connection.records))) == links


def test_data_after_missing_bytes_has_no_links():
    tags = images(0, 9)
    connection = Connection()
    connection.open()
    fetch(connection, b"".join(tags), "identity", [sum(map(len, tags[:5])), sum(map(len, tags[:6]))])
    connection.close()
    del connection.records[6]
    links = links_of(tcptrace_http.analyze(pcap(connection.records)))
    assert [url for url, _ in links] == [f"/0/{number}.png" for number in range(5)]
