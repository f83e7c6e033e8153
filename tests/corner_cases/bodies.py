"""End of a body: the rules of RFC 9112, section 6.3, in order."""

from .script import Case, Row, Talk, case, get, response

UNTIL_CLOSE = "tshark shows a body that lasts until the close at the FIN, we at its last byte"


def answered(answer: bytes | str, *rows: Row, request: bytes = get("/a"), **more: object) -> Case:
    """Return a request in frame 4 and a response in frame 5; both ends close."""
    talk = Talk()
    talk.open()
    talk.C(request, "P.")
    talk.S(answer, "P.")
    talk.C(flags="F.")
    talk.S(flags="F.")
    if rows[0].framing == "until_close":
        more.setdefault("tshark_differs", {"responses": UNTIL_CLOSE})
    return Case(talk.records, rows=list(rows), **more)  # type: ignore[arg-type]


@case("RFC 9110, section 15.3.7: the length of a part is that of the part")
def partial_content() -> Case:
    answer = response("0123", "HTTP/1.1 206 Partial Content", "Content-Range: bytes 0-3/1000")
    return answered(
        answer,
        Row("GET /a", 206, (4, 5, 5), 4, "content_length"),
        request=get("/a", "GET", "Range: bytes=0-3"),
    )


@case("RFC 9110, section 14.6: a multipart body is framed by the message, not by its boundaries")
def multipart_byteranges() -> Case:
    part = "--B\r\nContent-Range: bytes {}-{}/9\r\nContent-Length: 99\r\n\r\n{}\r\n"
    body = part.format(0, 1, "ab") + part.format(4, 5, "ef") + "--B--\r\n"
    kind = "Content-Type: multipart/byteranges; boundary=B"
    return answered(
        response(body, "HTTP/1.1 206 Partial Content", kind),
        Row("GET /a", 206, (4, 5, 5), len(body), "content_length"),
        request=get("/a", "GET", "Range: bytes=0-1,4-5"),
    )


@case("RFC 9110, section 14.6: a start line inside a body is none")
def body_that_looks_like_messages() -> Case:
    body = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcGET / HTTP/1.1\r\n\r\n"
    return answered(response(body), Row("GET /a", 200, (4, 5, 5), len(body), "content_length"))


@case("RFC 9112, section 6.3, item 1: a response to HEAD has no body, whatever its fields say")
def head_with_a_length() -> Case:
    talk = Talk()
    talk.open()
    talk.C(get("/a", "HEAD"), "P.")  # 4
    talk.S("HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n", "P.")  # 5
    talk.C(get("/b"), "P.")  # 6
    talk.S(response("ok"), "P.")  # 7
    return Case(
        talk.records,
        rows=[
            Row("HEAD /a", 200, (4, 5, 5), 0, "none"),
            Row("GET /b", 200, (6, 7, 7), 2, "content_length"),
        ],
    )


@case("RFC 9112, section 6.3, item 1: 204 and 304 have no body, whatever their fields say")
def no_content_and_not_modified_with_a_length() -> Case:
    talk = Talk()
    talk.open()
    talk.C(get("/a"), "P.")  # 4
    talk.S("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", "P.")  # 5
    talk.C(get("/b"), "P.")  # 6
    talk.S("HTTP/1.1 304 Not Modified\r\nContent-Length: 4000\r\nETag: x\r\n\r\n", "P.")  # 7
    talk.C(get("/c"), "P.")  # 8
    talk.S(response("ok"), "P.")  # 9
    return Case(
        talk.records,
        rows=[
            Row("GET /a", 204, (4, 5, 5), 0, "none"),
            Row("GET /b", 304, (6, 7, 7), 0, "none"),
            Row("GET /c", 200, (8, 9, 9), 2, "content_length"),
        ],
    )


@case("RFC 9112, section 7.1.1: extensions belong to the framing; 7.1.2: so do trailers")
def chunk_extensions_and_trailers() -> Case:
    answer = (
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: Digest\r\n\r\n"
        '5;name=value;q="a;b"\r\nhello\r\n0006 ; x\r\n world\r\n0;last\r\nDigest: 1\r\nX: y\r\n\r\n'
    )
    return answered(answer, Row("GET /a", 200, (4, 5, 5), 11, "chunked"))


@case("RFC 9112, section 7.1: recipients must anticipate large numbers and prevent overflow")
def chunk_size_over_64_bits() -> Case:
    head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    return answered(
        head + "5\r\nhello\r\n10000000000000005\r\nhello\r\n0\r\n\r\n",
        Row("GET /a", 200, (4, 5, 5), 5, "chunked", complete=False),
        anomalies=[("malformed_http", 5)],
    )


@case("RFC 9112, section 7.1: a chunk as long as 64 bits allow, of which the connection sends little")
def chunk_size_of_64_bits() -> Case:
    head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    return answered(
        head + "FFFFFFFFFFFFFFFF\r\nhello",
        Row("GET /a", 200, (4, 5, 5), 5, "chunked", complete=False),
    )


@case("RFC 9112, section 7.1: 1*HEXDIG, so a sign is no size")
def chunk_size_negative() -> Case:
    head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    return answered(
        head + "-5\r\nhello\r\n0\r\n\r\n",
        Row("GET /a", 200, (4, 5, 5), 0, "chunked", complete=False),
        anomalies=[("malformed_http", 5)],
    )


@case("RFC 9112, section 6.3, item 3: Transfer-Encoding overrides Content-Length")
def both_lengths() -> Case:
    return answered(
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        Row("GET /a", 200, (4, 5, 5), 5, "chunked"),
        anomalies=[("ambiguous_framing", 5)],
    )


@case("RFC 9112, section 6.3, item 4: chunked that is not last is a body until the close")
def chunked_is_not_last() -> Case:
    body = "5\r\nhello\r\n0\r\n\r\n"
    return answered(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, gzip\r\n\r\n" + body,
        Row("GET /a", 200, (4, 5, 5), len(body), "until_close"),
        tshark_differs={},
    )


@case("RFC 9112, section 6.3, item 4: a request whose last coding is not chunked has no known end")
def chunked_is_not_last_in_a_request() -> Case:
    talk = Talk()
    talk.open()
    talk.C("POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip\r\n\r\nhello", "P.")  # 4
    talk.S(response("", "HTTP/1.1 400 Bad Request", "Connection: close"), "P.")  # 5
    talk.S(flags="F.")
    talk.C(flags="F.")
    return Case(
        talk.records,
        rows=[Row("POST /a", 400, (4, 5, 5), 0, "none", complete=False)],
        anomalies=[("ambiguous_framing", 4)],
    )


@case("RFC 9112, section 6.3, item 8: a response with neither field lasts until the close")
def until_close() -> Case:
    return answered("HTTP/1.0 200 OK\r\n\r\nhello", Row("GET /a", 200, (4, 5, 5), 5, "until_close"))


@case("RFC 9112, section 8: a body until the close is incomplete if a reset ended it")
def until_reset() -> Case:
    talk = Talk()
    talk.open()
    talk.C(get("/a"), "P.")  # 4
    talk.S("HTTP/1.0 200 OK\r\n\r\nhello", "P.")  # 5
    talk.S(flags="R.")
    return Case(
        talk.records,
        rows=[Row("GET /a", 200, (4, 5, 5), 5, "until_close", complete=False)],
        flows=[{"closed_by": "server_reset"}],
        tshark_differs={"responses": "tshark shows no response whose body a reset ended"},
    )


@case("RFC 9112, section 8: a body shorter than its Content-Length is incomplete")
def shorter_than_its_length() -> Case:
    return answered(
        "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello",
        Row("GET /a", 200, (4, 5, 5), 5, "content_length", complete=False),
        tshark_differs={"responses": "tshark shows a response that is too short at the FIN"},
    )
