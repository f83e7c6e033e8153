"""RST, its payload, and the packets after it."""

from .script import Case, Row, Talk, case, get, response

UNFINISHED = "tshark shows no response that a reset cut short"
HALF = "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n0123456789"


@case("RFC 9293, section 3.10.7.4: the receiver of the reset is done; what is on its way is discarded")
def data_on_its_way_when_the_client_resets() -> Case:
    talk = Talk()
    talk.open()
    talk.C(get("/a"), "P.")  # 4
    talk.S(HALF, "P.")  # 5
    talk.C(flags="R.")  # 6
    talk.S("0123456789", "P.", after=1000)  # 7: sent before the reset arrived
    return Case(
        talk.records,
        rows=[Row("GET /a", 200, (4, 5, 5), 10, "content_length", complete=False)],
        flows=[{"closed_by": "client_reset", "server_bytes": len(HALF) + 10}],
        tshark_differs={"responses": "tshark completes the response with what came after the reset"},
    )


@case("RFC 9293, section 3.10.7.4: a reset outside the window is no reset: its seeming sender goes on")
def data_of_the_server_after_a_forged_reset() -> Case:
    talk = Talk()
    talk.open()
    talk.S(flags="R", seq=2_000_000_000)  # 4: forged, far outside the window
    talk.sent["S"] = 1
    talk.C(get("/a"), "P.")  # 5
    talk.S(response("ok"), "P.")  # 6
    return Case(
        talk.records,
        rows=[Row("GET /a", 200, (5, 6, 6), 2, "content_length")],
        flows=[{"closed_by": "open"}],
    )


@case("RFC 1122, section 4.2.2.12: a reset may carry text that explains it, which is no data")
def reset_with_data() -> Case:
    talk = Talk()
    talk.open()
    talk.C(get("/a"), "P.")  # 4
    talk.S(HALF, "P.")  # 5
    talk.S("connection refused by policy", "R.")  # 6
    return Case(
        talk.records,
        rows=[Row("GET /a", 200, (4, 5, 5), 10, "content_length", complete=False)],
        flows=[{"closed_by": "server_reset", "server_bytes": len(HALF)}],
        tshark_differs={"responses": UNFINISHED},
    )


@case("RFC 9293, section 3.10.7.4: a reset that follows a whole response takes nothing from it")
def reset_after_the_response() -> Case:
    talk = Talk()
    talk.open()
    talk.C(get("/a"), "P.")  # 4
    talk.S(response("ok"), "P.")  # 5
    talk.C(flags="R.")  # 6
    return Case(
        talk.records,
        rows=[Row("GET /a", 200, (4, 5, 5), 2, "content_length")],
        flows=[{"closed_by": "client_reset"}],
    )


@case("RFC 9293, section 3.5.2: a reset answers a SYN to a closed port")
def connection_refused() -> Case:
    talk = Talk()
    talk.C(flags="S")
    talk.S(flags="R.")
    return Case(talk.records, flows=[{"closed_by": "server_reset", "has_syn_ack": False}])
