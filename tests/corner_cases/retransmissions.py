"""Retransmitted data: the same, with other bytes, in other segments (RFC 9293, section 3.10.7.4)."""

from .script import Case, Row, Talk, case, get

HEAD = "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n"
LATE = 400_000_000


def requested() -> tuple[Talk, int]:
    """Return a request in frame 4, its response head in frame 5, and the body's offset."""
    talk = Talk()
    talk.open()
    talk.C(get("/a"), "P.")
    talk.S(HEAD, "P.")
    return talk, talk.sent["S"]


def answered(last: int, **more: object) -> dict[str, object]:
    return {"rows": [Row("GET /a", 200, (4, 5, last), 20, "content_length")], **more}


@case("RFC 9293, section 3.8.1: a segment is sent again, and counts once")
def sent_again() -> Case:
    talk, body = requested()
    talk.S("0123456789")  # 6
    talk.S("0123456789", seq=body, after=LATE)  # 7
    talk.S("abcdefghij")  # 8
    talk.C()
    return Case(
        talk.records,
        flows=[{"server_bytes": len(HEAD) + 20, "server_retransmissions": 1}],
        segments={"is_retransmission": [7]},
        **answered(8),  # type: ignore[arg-type]
    )


@case("RFC 9293, section 3.8.1: parts are sent again in other pieces, with new data behind them")
def sent_again_in_other_pieces() -> Case:
    talk, body = requested()
    talk.S("01234")  # 6
    talk.S("56789")  # 7
    talk.S("3456789abc", seq=body + 3, after=LATE)  # 8
    talk.S("defghij")  # 9
    talk.C()
    return Case(
        talk.records,
        flows=[{"server_bytes": len(HEAD) + 20, "server_retransmissions": 1}],
        **answered(9),  # type: ignore[arg-type]
    )


@case("RFC 9293, section 3.10.7.4: what was received is not received again, whatever it says")
def sent_again_with_other_bytes() -> Case:
    """Return an unnoticed difference: the first copy was delivered and is not kept."""
    talk, body = requested()
    talk.S("0123456789")  # 6
    talk.S("XXXXXXXXXX", seq=body, after=LATE)  # 7
    talk.S("abcdefghij")  # 8
    talk.C()
    return Case(
        talk.records,
        flows=[{"server_bytes": len(HEAD) + 20, "server_retransmissions": 1}],
        **answered(8),  # type: ignore[arg-type]
    )


@case("RFC 9293, section 3.10.7.4: of what waits for the data before it the first copy is kept")
def waiting_data_sent_again_with_other_bytes() -> Case:
    talk, body = requested()
    talk.S("abcdefghij", seq=body + 10)  # 6
    talk.S("XXcdefghij", seq=body + 10, after=LATE)  # 7
    talk.S("0123456789", seq=body, after=LATE)  # 8
    talk.C()
    return Case(
        talk.records,
        anomalies=[("overlapping_data_differs", 7)],
        flows=[{"server_bytes": len(HEAD) + 20, "server_gap_bytes": 0}],
        **answered(8),  # type: ignore[arg-type]
    )


@case("RFC 9293, section 3.8.4: the segment of a zero-window probe is sent again as part of a longer one")
def one_byte_and_then_the_rest() -> Case:
    talk, body = requested()
    talk.S("0")  # 6
    talk.S("0123456789abcdefghij", seq=body, after=LATE)  # 7
    talk.C()
    return Case(talk.records, flows=[{"server_bytes": len(HEAD) + 20}], **answered(7))  # type: ignore[arg-type]


@case("RFC 9293, section 3.4: comparisons of sequence numbers wrap, here inside a body of four segments")
def wrap_around_inside_a_response() -> Case:
    talk = Talk()
    head = "HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n"
    talk.initial["S"] = 2**32 - len(head) - 2500
    talk.open()
    talk.C(get("/a"), "P.")  # 4
    talk.S(head, "P.")  # 5
    for _ in range(4):
        talk.S(b"x" * 1250)  # 6 to 9
    talk.C()
    talk.C(get("/b"), "P.")  # 11
    talk.S("HTTP/1.1 204 No Content\r\n\r\n", "P.")  # 12
    return Case(
        talk.records,
        rows=[
            Row("GET /a", 200, (4, 5, 9), 5000, "content_length"),
            Row("GET /b", 204, (11, 12, 12), 0, "none"),
        ],
        flows=[{"server_retransmissions": 0, "server_gap_bytes": 0}],
    )
