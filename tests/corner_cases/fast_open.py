"""Data in SYN segments (RFC 7413) and in SYN-ACKs (RFC 9293, section 3.10.7.3)."""

from .script import Case, Row, Talk, case, get, response

COOKIE = b"\x22\x0acookie00\x01\x01"


@case("RFC 7413, section 4.2: the cookie is good, the SYN-ACK acknowledges the data")
def cookie_accepted() -> Case:
    talk = Talk()
    talk.C(get("/a"), "S", options=COOKIE)  # 1
    talk.S(flags="S.")  # 2
    talk.C()  # 3
    talk.S(response("ok"), "P.")  # 4
    return Case(
        talk.records,
        rows=[Row("GET /a", 200, (1, 4, 4), 2, "content_length")],
        flows=[{"client_bytes": len(get("/a")), "client_retransmissions": 0}],
    )


@case("RFC 7413, section 4.2: the cookie is not good, only the SYN is acknowledged, the data is sent again")
def cookie_refused() -> Case:
    talk = Talk()
    talk.C(get("/a"), "S", options=COOKIE)  # 1
    talk.S(flags="S.", ack=1)  # 2
    talk.C(get("/a"), "P.", seq=1)  # 3
    talk.S(response("ok"), "P.")  # 4
    return Case(
        talk.records,
        rows=[Row("GET /a", 200, (1, 4, 4), 2, "content_length")],
        flows=[{"client_bytes": len(get("/a")), "client_retransmissions": 1}],
    )


@case("RFC 7413, section 4.2: the server may answer in the SYN-ACK or right after it")
def response_before_the_handshake_ends() -> Case:
    talk = Talk()
    talk.C(get("/a"), "S", options=COOKIE)  # 1
    talk.S(flags="S.")  # 2
    talk.S(response("ok"), "P.")  # 3
    talk.C()  # 4
    return Case(talk.records, rows=[Row("GET /a", 200, (1, 3, 3), 2, "content_length")])


@case("RFC 9293, section 3.10.7.3: a SYN-ACK may carry data, which the client delivers")
def data_in_the_syn_ack() -> Case:
    talk = Talk()
    talk.C(get("/a"), "S", options=COOKIE)  # 1
    talk.S(response("ok"), "S.")  # 2
    talk.C()  # 3
    return Case(
        talk.records,
        rows=[Row("GET /a", 200, (1, 2, 2), 2, "content_length")],
        flows=[{"server_bytes": len(response("ok"))}],
    )


@case("RFC 9293, section 3.10.7.3: before the SYN-ACK a client drops data, which comes again behind it")
def data_before_the_repeated_syn_ack() -> Case:
    talk = Talk()
    talk.C(get("/a"), "SP", options=COOKIE)  # 1
    body = response("okay")
    talk.S(body[:20], "S.", lost=True)
    talk.S(body[20:], "P.")  # 2
    talk.C(get("/a"), "SP", seq=0, options=COOKIE, after=1_000_000_000)  # 3
    talk.S(body[:20], "S.", seq=0)  # 4
    talk.C(ack=21)  # 5
    talk.S(body[20:], "P.", seq=21)  # 6
    talk.C()  # 7
    return Case(
        talk.records,
        rows=[Row("GET /a", 200, (1, 4, 6), 4, "content_length")],
        flows=[{"has_syn_ack": True, "server_bytes": len(body), "server_gap_bytes": 0}],
        tshark_differs={"responses": "tshark puts nothing together that came before its SYN-ACK"},
    )


@case("RFC 9293, section 3.10.7.3: what was acknowledged and did not come again had come behind the SYN-ACK")
def data_captured_before_its_syn_ack() -> Case:
    talk = Talk()
    talk.C(get("/a"), "SP", options=COOKIE)  # 1
    body = response("okay")
    talk.S(body[20:], "P.", seq=21)  # 2
    talk.S(body[:20], "S.", seq=0)  # 3
    talk.C(ack=len(body) + 1)  # 4
    return Case(
        talk.records,
        rows=[Row("GET /a", 200, (1, 3, 3), 4, "content_length")],
        flows=[{"has_syn_ack": True, "server_bytes": len(body), "server_gap_bytes": 0}],
        tshark_differs={"responses": "tshark puts nothing together that came before its SYN-ACK"},
    )


@case("RFC 7413, section 4.2: an answer whose SYN-ACK was not captured begins where the client acknowledges it")
def answered_syn_ack_not_captured() -> Case:
    talk = Talk()
    talk.C(get("/a"), "SP", options=COOKIE)  # 1
    talk.S(flags="S.", lost=True)
    talk.S(response("ok"), "P.")  # 2
    talk.C()  # 3
    return Case(
        talk.records,
        rows=[Row("GET /a", 200, (1, 2, 2), 2, "content_length")],
        flows=[{"has_syn_ack": False, "server_gap_bytes": 0}],
    )
