"""FIN: half close, retransmitted FIN, premature FIN (RFC 9293, section 3.6)."""

from .script import Case, Row, Talk, case, get, response

UNTIL_CLOSE = "HTTP/1.1 200 OK\r\n\r\n"


@case("RFC 9293, section 3.6: who has closed still receives")
def half_close_of_the_client() -> Case:
    talk = Talk()
    talk.open()
    talk.C(get("/a"), "FP.")  # 4
    talk.S()  # 5
    talk.S(UNTIL_CLOSE + "hello", "P.", after=50_000_000)  # 6
    talk.C()  # 7
    talk.S(" world", "FP.", after=50_000_000)  # 8
    talk.C()  # 9
    return Case(
        talk.records,
        rows=[Row("GET /a", 200, (4, 6, 8), 11, "until_close")],
        flows=[{"closed_by": "client"}],
    )


@case("RFC 9293, section 3.8.1: a FIN is sent again like any segment")
def fin_sent_again() -> Case:
    talk = Talk()
    talk.open()
    talk.C(get("/a"), "P.")  # 4
    talk.S(UNTIL_CLOSE + "hello", "P.")  # 5
    talk.S(flags="F.")  # 6
    talk.S(flags="F.", seq=talk.sent["S"] - 1, after=300_000_000)  # 7
    talk.C(flags="F.")  # 8
    talk.S()  # 9
    return Case(
        talk.records,
        rows=[Row("GET /a", 200, (4, 5, 5), 5, "until_close")],
        flows=[{"closed_by": "server", "server_retransmissions": 1}],
        segments={"is_retransmission": [7]},
        tshark_differs={"responses": "tshark shows a body that lasts until the close at the FIN"},
    )


@case("RFC 9293, section 3.10.7.4: a FIN counts when all before it has come")
def fin_with_data_before_the_data_before_it() -> Case:
    talk = Talk()
    talk.open()
    talk.C(get("/a"), "P.")  # 4
    head = talk.sent["S"]
    talk.S(UNTIL_CLOSE, "P.")  # 5
    hello = talk.sent["S"]
    talk.S(" world", "FP.", seq=hello + 5)  # 6
    talk.S("hello", "P.", seq=hello, after=1000)  # 7: reordered on the way
    talk.C(flags="F.")  # 8
    assert hello == head + len(UNTIL_CLOSE)
    return Case(
        talk.records,
        rows=[Row("GET /a", 200, (4, 5, 7), 11, "until_close")],
        flows=[{"closed_by": "server", "server_bytes": len(UNTIL_CLOSE) + 11, "server_out_of_order": 1}],
        segments={"is_out_of_order": [7]},
        tshark_differs={"responses": "tshark shows no body until the close whose FIN comes before its data"},
    )


@case("RFC 9293, section 3.6: both ends close at once")
def simultaneous_close() -> Case:
    talk = Talk()
    talk.open()
    talk.C(get("/a"), "P.")  # 4
    talk.S(response("ok"), "P.")  # 5
    talk.C(flags="F.")  # 6
    talk.S(flags="F.", ack=talk.sent["C"] - 1)  # 7
    talk.C()
    talk.S()
    return Case(
        talk.records,
        rows=[Row("GET /a", 200, (4, 5, 5), 2, "content_length")],
        flows=[{"closed_by": "client", "client_retransmissions": 0, "server_retransmissions": 0}],
    )
