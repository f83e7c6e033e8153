"""IP fragments of a segment: out of order, overlapping, missing (RFC 791, section 3.2)."""

import itertools
from dataclasses import replace

from captures import ethernet, ipv4

from .script import Captured, Case, Row, Talk, case, get, response

MORE = 0x2000
HEADER = 14 + 20
BODY = "0123456789" * 4
_identifications = itertools.count(1000)


def cut(record: Captured, *pieces: tuple[int, int | None]) -> list[Captured]:
    """Return the fragments of a packet with these payload bytes; each begins at a multiple of 8."""
    content = record.data[HEADER:]
    number = next(_identifications)
    made = []
    for start, end in pieces:
        has_more = end is not None and end < len(content)
        field = start // 8 | (MORE if has_more else 0)
        piece = ipv4("10.0.0.2", "10.0.0.1", content[start:end], identification=number, fragment_field=field)
        made.append(replace(record, data=ethernet(piece)))
    return made


def fragmented(*pieces: tuple[int, int | None], **expected: object) -> Case:
    """Return a request in frame 4, and the fragments of its response from frame 5 on."""
    talk = Talk()
    talk.open()
    talk.C(get("/a"), "P.")
    talk.S(response(BODY), "P.")
    talk.records[-1:] = cut(talk.records[-1], *pieces)
    return Case(talk.records, **expected)  # type: ignore[arg-type]


def whole(last: int) -> list[Row]:
    """Return a datagram in fragments: it counts when complete, at its last fragment."""
    return [Row("GET /a", 200, (4, last, last), len(BODY), "content_length")]


@case("RFC 791, section 3.2: fragments are put together by their offsets")
def in_order() -> Case:
    return fragmented((0, 40), (40, 64), (64, None), rows=whole(7))


@case("RFC 791, section 3.2: in whatever order they come")
def out_of_order() -> Case:
    return fragmented((64, None), (0, 40), (40, 64), rows=whole(7))


@case("RFC 791, section 3.2: two fragments may hold the same data")
def overlapping() -> Case:
    return fragmented((0, 48), (40, 72), (64, None), rows=whole(7))


@case("RFC 791, section 3.2: a fragment that comes twice")
def repeated() -> Case:
    return fragmented((0, 40), (0, 40), (40, None), rows=whole(7))


@case("RFC 791, section 3.2: without one of its fragments a datagram is none")
def missing() -> Case:
    return fragmented(
        (0, 40),
        (64, None),
        rows=[Row("GET /a", None, (4, None, None), complete=False)],
        # Counted at the end of the capture.
        anomalies=[("incomplete_fragments", None)],
    )
