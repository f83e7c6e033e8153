"""PROXY protocol header (HAProxy's proxy-protocol.txt) before the first request."""

from .script import Case, Row, Talk, case, get, response

LINE = b"PROXY TCP4 192.0.2.1 10.0.0.2 40000 80\r\n"
BINARY = b"\r\n\r\n\0\r\nQUIT\n" + b"\x21\x11\0\x0c" + bytes([192, 0, 2, 1, 10, 0, 0, 2, 156, 64, 0, 80])


def behind(header: bytes) -> Case:
    """Return a header and a request in frame 4, another request in frame 6."""
    talk = Talk()
    talk.open()
    talk.C(header + get("/a"), "P.")  # 4
    talk.S(response("ok"), "P.")  # 5
    talk.C(get("/b"), "P.")  # 6
    talk.S(response("ok"), "P.")  # 7
    return Case(
        talk.records,
        rows=[
            Row("GET /a", 200, (4, 5, 5), 2, "content_length"),
            Row("GET /b", 200, (6, 7, 7), 2, "content_length"),
        ],
        tshark_differs={"requests": "tshark shows no request behind the header in the same segment"},
    )


@case("proxy-protocol.txt, section 2.1: a line of text")
def version_1() -> Case:
    return behind(LINE)


@case("proxy-protocol.txt, section 2.2: a signature, a length and addresses")
def version_2() -> Case:
    return behind(BINARY)


@case("proxy-protocol.txt, section 2: a header in a segment of its own")
def header_alone() -> Case:
    talk = Talk()
    talk.open()
    talk.C(BINARY, "P.")  # 4
    talk.C(get("/a"), "P.")  # 5
    talk.S(response("ok"), "P.")  # 6
    return Case(talk.records, rows=[Row("GET /a", 200, (5, 6, 6), 2, "content_length")])


@case("proxy-protocol.txt, section 2: any protocol may follow")
def header_before_another_protocol() -> Case:
    talk = Talk()
    talk.open()
    talk.C(LINE, "P.")
    talk.S("220 h ESMTP\r\n", "P.")
    talk.C("EHLO h\r\n", "P.")
    return Case(talk.records, flows=[{"is_http": False}])
