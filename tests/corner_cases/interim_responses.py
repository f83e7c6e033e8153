"""1xx responses before the final response, or instead of it."""

from .script import Case, Row, Talk, case, get, response

COUNTED = "we count interim responses in the row of their final one (RFC 9110, section 15.2)"
POST = "POST /up HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n"
CONTINUE = "HTTP/1.1 100 Continue\r\n\r\n"
HINTS = "HTTP/1.1 103 Early Hints\r\nLink: </s.css>; rel=preload\r\n\r\n"


@case("RFC 9110, sections 10.1.1 and 15.2.1: the body follows the 100, the final response the body")
def continue_before_the_body() -> Case:
    talk = Talk()
    talk.open()
    talk.C(POST, "P.")  # 4
    talk.S(CONTINUE, "P.")  # 5
    talk.C("hello", "P.")  # 6
    talk.S(response("ok"), "P.")  # 7
    return Case(
        talk.records,
        rows=[Row("POST /up", 200, (4, 7, 7), 2, "content_length", request_body=5, interim=1)],
        tshark_differs={"responses": COUNTED},
    )


@case("RFC 9110, section 10.1.1: a client that has waited long enough sends the body without a 100")
def final_response_without_a_continue() -> Case:
    talk = Talk()
    talk.open()
    talk.C(POST, "P.")  # 4
    talk.C("hello", "P.")  # 5
    talk.S(response("ok"), "P.")  # 6
    return Case(talk.records, rows=[Row("POST /up", 200, (4, 6, 6), 2, "content_length", request_body=5)])


@case("RFC 9110, section 15.5.18: 417 instead of 100, and a body that is never sent")
def expectation_failed_without_the_body() -> Case:
    talk = Talk()
    talk.open()
    talk.C(POST, "P.")  # 4
    talk.S(response("", "HTTP/1.1 417 Expectation Failed"), "P.")  # 5
    talk.C(flags="F.")
    talk.S(flags="F.")
    return Case(
        talk.records,
        rows=[Row("POST /up", 417, (4, 5, 5), 0, "none", complete=False)],
        tshark_differs={"requests": "tshark shows a request whose body never came at the frame of the FIN"},
    )


@case("RFC 8297, section 2, and RFC 9110, section 15.2: any number of interim responses, of any kind")
def several_interim_responses() -> Case:
    talk = Talk()
    talk.open()
    talk.C(get("/"), "P.")  # 4
    talk.S(HINTS, "P.")  # 5
    talk.S("HTTP/1.1 102 Processing\r\n\r\n" + HINTS, "P.")  # 6
    talk.S(HINTS + response("ok").decode(), "P.")  # 7
    return Case(
        talk.records,
        rows=[Row("GET /", 200, (4, 7, 7), 2, "content_length", interim=4)],
        tshark_differs={"responses": COUNTED},
    )


@case("RFC 9110, section 15.2: an interim response has no body, whatever its fields say")
def interim_response_with_a_length() -> Case:
    talk = Talk()
    talk.open()
    talk.C(get("/"), "P.")  # 4
    talk.S("HTTP/1.1 103 Early Hints\r\nContent-Length: 4\r\n\r\n", "P.")  # 5
    talk.S(response("ok"), "P.")  # 6
    return Case(
        talk.records,
        rows=[Row("GET /", 200, (4, 6, 6), 2, "content_length", interim=1)],
        tshark_differs={"responses": COUNTED},
    )


@case("RFC 9110, section 15.2: the connection ends between the interim and the final response")
def interim_response_and_no_final_one() -> Case:
    talk = Talk()
    talk.open()
    talk.C(get("/"), "P.")  # 4
    talk.S(HINTS, "P.")  # 5
    talk.S(flags="F.")
    talk.C(flags="F.")
    return Case(
        talk.records,
        rows=[Row("GET /", None, (4, None, None), complete=False, interim=1)],
        flows=[{"closed_by": "server"}],
        tshark_differs={"responses": COUNTED},
    )
