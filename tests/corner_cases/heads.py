"""Start lines and header fields, in every form that RFC 9112 allows, and several that it forbids."""

from .bodies import answered
from .script import Case, Row, Talk, case, get, response

FOLDED = {"responses": "tshark does not unfold, and shows a response whose length it missed at the FIN"}


@case("RFC 9112, section 5.2: a fold in a response is replaced by spaces")
def folded_field_in_a_response() -> Case:
    return answered(
        "HTTP/1.1 200 OK\r\nX: one\r\n\ttwo\r\nContent-Length:\r\n 5\r\n\r\nhello",
        Row("GET /a", 200, (4, 5, 5), 5, "content_length"),
        tshark_differs=FOLDED,
    )


@case("RFC 9112, section 5.2: so is one in Transfer-Encoding")
def folded_transfer_encoding_in_a_response() -> Case:
    return answered(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip,\r\n chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        Row("GET /a", 200, (4, 5, 5), 5, "chunked"),
        tshark_differs=FOLDED,
    )


@case("RFC 9112, section 5.2: a server that does not reject a fold replaces it by spaces")
def folded_transfer_encoding_in_a_request() -> Case:
    talk = Talk()
    talk.open()
    head = "POST /a HTTP/1.1\r\nHost:\r\n h\r\nTransfer-Encoding: gzip,\r\n\tchunked\r\n\r\n"
    talk.C(head + "5\r\nhello\r\n0\r\n\r\n", "P.")  # 4
    talk.S(response("ok"), "P.")  # 5
    return Case(
        talk.records,
        rows=[Row("POST /a", 200, (4, 5, 5), 2, "content_length", request_body=5)],
        anomalies=[("malformed_http", 4)],
    )


@case("RFC 9112, section 2.2: lines that begin with white space after the start line are passed over")
def folded_start_line() -> Case:
    talk = Talk()
    talk.open()
    talk.C("GET /a HTTP/1.1\r\n Content-Length: 9\r\nHost: h\r\n\r\n", "P.")  # 4
    talk.S(response("ok"), "P.")  # 5
    return Case(
        talk.records,
        rows=[Row("GET /a", 200, (4, 5, 5), 2, "content_length")],
        anomalies=[("malformed_http", 4)],
    )


@case("RFC 9112, section 2.2: a recipient may recognise a bare line feed as a line end")
def bare_line_feeds() -> Case:
    talk = Talk()
    talk.open()
    talk.C("GET /a HTTP/1.1\nHost: h\n\n", "P.")  # 4
    talk.S("HTTP/1.1 200 OK\nContent-Length: 5\n\nhello", "P.")  # 5
    return Case(talk.records, rows=[Row("GET /a", 200, (4, 5, 5), 5, "content_length")])


@case("RFC 9112, section 2.2: at least one empty line before a request line is ignored")
def empty_lines_before_a_request() -> Case:
    talk = Talk()
    talk.open()
    talk.C(b"\r\n\r\n" + get("/a"), "P.")  # 4
    talk.S(response("ok"), "P.")  # 5
    talk.C(b"\r\n", "P.")  # 6
    talk.C(get("/b"), "P.")  # 7
    talk.S(response("ok"), "P.")  # 8
    return Case(
        talk.records,
        rows=[
            Row("GET /a", 200, (4, 5, 5), 2, "content_length"),
            Row("GET /b", 200, (7, 8, 8), 2, "content_length"),
        ],
        tshark_differs={"requests": "tshark shows no request that begins with an empty line"},
    )


@case("RFC 9112, section 4: the reason phrase may be empty")
def empty_reason_phrase() -> Case:
    return answered(response("hello", "HTTP/1.1 200 "), Row("GET /a", 200, (4, 5, 5), 5, "content_length"))


@case("RFC 9112, section 4: the space before a missing reason phrase is missing in practice")
def missing_reason_phrase() -> Case:
    return answered(response("hello", "HTTP/1.1 200"), Row("GET /a", 200, (4, 5, 5), 5, "content_length"))


def odd_and_plain(line: str, shown: str) -> Case:
    """Return a request with this line in frame 4, and a plain request in frame 6."""
    talk = Talk()
    talk.open()
    talk.C(f"{line}\r\nHost: h\r\n\r\n", "P.")  # 4
    talk.S(response("ok"), "P.")  # 5
    talk.C(get("/b"), "P.")  # 6
    talk.S(response("ok"), "P.")  # 7
    return Case(
        talk.records,
        rows=[
            Row(shown, 200, (4, 5, 5), 2, "content_length"),
            Row("GET /b", 200, (6, 7, 7), 2, "content_length"),
        ],
        anomalies=[("malformed_http", 4)],
        tshark_differs={"requests": "tshark shows no such request, or another target"},
    )


@case("RFC 9112, section 3.2: no white space is allowed in a target; servers read such a line all the same")
def space_in_the_target() -> Case:
    return odd_and_plain("GET /hello world HTTP/1.0", "GET /hello world")


@case("RFC 9112, section 3: lenient parsing takes any white space between the words")
def white_space_around_the_target() -> Case:
    return odd_and_plain("GET \t/a  HTTP/1.1", "GET /a")


@case("RFC 9112, section 3: a request line without a target")
def no_target() -> Case:
    return odd_and_plain("GET HTTP/1.1", "GET ")


@case("RFC 9110, section 9.1: methods are case-sensitive, and the registered ones are in upper case")
def method_in_lower_case() -> Case:
    return odd_and_plain("get /a HTTP/1.1", "get /a")


@case("RFC 9112, section 3: a target of 64 KiB; its first 8 KiB are kept")
def very_long_target() -> Case:
    target = "/" + "a" * (64 * 1024 - 1)
    talk = Talk()
    talk.open()
    requested = get(target)
    for start in range(0, len(requested), 1460):
        talk.C(requested[start : start + 1460])  # 4 to 48
    last = 3 + -(-len(requested) // 1460)
    talk.S(response("ok"), "P.")
    talk.C(get("/b"), "P.")
    talk.S(response("ok"), "P.")
    return Case(
        talk.records,
        rows=[
            Row(f"GET {target[: 8 * 1024]}", 200, (4, last + 1, last + 1), 2, "content_length"),
            Row("GET /b", 200, (last + 2, last + 3, last + 3), 2, "content_length"),
        ],
        anomalies=[("limit_reached", last)],
        tshark_differs={"requests": "tshark cuts no target"},
    )


@case("RFC 2812, section 3.3.1, and RFC 5321, section 4.1.1.4: no text that ends in a version is a request")
def lines_of_other_protocols() -> Case:
    talk = Talk()
    talk.open()
    talk.C("PRIVMSG #web :GET / HTTP/1.1\r\n", "P.")
    talk.C("I saw GET / HTTP/1.1\r\n", "P.")
    talk.C("get one two three\r\n", "P.")
    talk.C("OPTIONS  sip:a b SIP/2.0\r\n\r\n", "P.")
    return Case(talk.records, flows=[{"is_http": False}])


@case("RFC 1945, section 4.1: a simple request has no version; this is no HTTP/1.x")
def http_0_9() -> Case:
    talk = Talk()
    talk.open()
    talk.C("GET /a\r\n", "P.")  # 4
    talk.S("<p>hello</p>", "P.")  # 5
    talk.S(flags="F.")
    talk.C(flags="F.")
    return Case(
        talk.records,
        flows=[{"is_http": False, "closed_by": "server"}],
    )


@case("RFC 9112, section 3.2.2: the authority of an absolute target replaces Host")
def absolute_target() -> Case:
    talk = Talk()
    talk.open()
    talk.C(get("http://user@other:81/a?b"), "P.")  # 4
    talk.S(response("ok"), "P.")  # 5
    return Case(
        talk.records,
        rows=[Row("GET http://user@other:81/a?b", 200, (4, 5, 5), 2, "content_length", host="other:81")],
    )


@case("RFC 9112, section 3.2.4: the asterisk form asks about the server as a whole")
def asterisk_target() -> Case:
    talk = Talk()
    talk.open()
    talk.C(get("*", "OPTIONS"), "P.")  # 4
    talk.S(response("", "HTTP/1.1 200 OK", "Allow: GET"), "P.")  # 5
    return Case(talk.records, rows=[Row("OPTIONS *", 200, (4, 5, 5), 0, "none")])


@case("RFC 9112, section 2.1: nothing limits a head; 100 kB come in 69 segments")
def very_long_head() -> Case:
    talk = Talk()
    talk.open()
    talk.C(get("/a"), "P.")  # 4
    answer = response("hello", "HTTP/1.1 200 OK", *[f"Set-Cookie: {at}={'c' * 980}" for at in range(100)])
    for start in range(0, len(answer), 1460):
        talk.S(answer[start : start + 1460])
    last = 4 + -(-len(answer) // 1460)
    return Case(talk.records, rows=[Row("GET /a", 200, (4, 5, last), 5, "content_length")])


@case("RFC 9112, section 2.2: what follows a request and is none is malformed")
def request_and_then_cruft() -> Case:
    talk = Talk()
    talk.open()
    talk.C(get("/a"), "P.")  # 4
    talk.S(response("ok"), "P.")  # 5
    talk.C(b"\x00\x01\x02 cruft", "P.")  # 6
    talk.C(flags="F.")
    talk.S(flags="F.")
    return Case(
        talk.records,
        rows=[Row("GET /a", 200, (4, 5, 5), 2, "content_length")],
        anomalies=[("malformed_http", 6)],
    )


@case("RFC 9112, section 9.3: a head need not end where a segment ends")
def two_requests_glued() -> Case:
    talk = Talk()
    talk.open()
    both = get("/a") + get("/b")
    talk.C(both[:40], "P.")  # 4: the first and the beginning of the second
    talk.C(both[40:], "P.")  # 5
    both = response("one") + response("two")
    talk.S(both[:45], "P.")  # 6: the first and the beginning of the second
    talk.S(both[45:], "P.")  # 7
    return Case(
        talk.records,
        rows=[
            Row("GET /a", 200, (4, 6, 6), 3, "content_length"),
            Row("GET /b", 200, (4, 6, 7), 3, "content_length", pipelined=True),
        ],
    )
