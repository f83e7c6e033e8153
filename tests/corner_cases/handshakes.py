"""Beginnings of connections, captured or not."""

from .script import Case, Row, Talk, case, get, response

SCALE = b"\x02\x04\x05\xb4\x01\x03\x03\x07"


@case("RFC 9293, section 3.5, figure 7: both ends send a SYN; the first one seen is the client's")
def simultaneous_open() -> Case:
    talk = Talk()
    talk.C(flags="S")  # 1
    talk.S(flags="S")  # 2
    talk.C(flags="S.", seq=0, ack=1)  # 3
    talk.S(flags="S.", seq=0, ack=1)  # 4
    talk.C(get("/a"), "P.")  # 5
    talk.S(response("ok"), "P.")  # 6
    return Case(
        talk.records,
        rows=[Row("GET /a", 200, (5, 6, 6), 2, "content_length")],
        flows=[{"has_syn": True, "has_syn_ack": True}],
    )


@case("RFC 9293, section 3.8.1: a SYN is sent again until it is answered")
def syn_sent_again() -> Case:
    talk = Talk()
    talk.C(flags="S")  # 1
    talk.C(flags="S", seq=0, after=1_000_000_000)  # 2
    talk.S(flags="S.")  # 3
    talk.C()  # 4
    talk.C(get("/a"), "P.")  # 5
    talk.S(response("ok"), "P.")  # 6
    return Case(
        talk.records,
        rows=[Row("GET /a", 200, (5, 6, 6), 2, "content_length")],
        flows=[{"client_retransmissions": 1}],
        segments={"is_retransmission": [2]},
    )


@case("RFC 7323, section 2.2: the scale is in the SYN; without it windows stay as they were sent")
def window_scale_without_the_syn() -> Case:
    talk = Talk()
    talk.C(flags="S", options=SCALE, lost=True)
    talk.S(flags="S.", options=SCALE)  # 1
    talk.C(window=500)  # 2
    talk.C(get("/a"), "P.", window=500)  # 3
    talk.S(response("ok"), "P.", window=501)  # 4
    return Case(
        talk.records,
        rows=[Row("GET /a", 200, (3, 4, 4), 2, "content_length")],
        flows=[{"has_syn": False, "has_syn_ack": True, "client_window_scale": None, "server_window_scale": 7}],
    )


@case("RFC 9293, section 3.5: the SYN-ACK alone tells who the client is")
def syn_not_captured() -> Case:
    talk = Talk(client=("10.0.0.9", 80), server=("10.0.0.2", 7999))
    talk.C(flags="S", lost=True)
    talk.S(flags="S.")  # 1
    talk.C()  # 2
    talk.C(get("/a"), "P.")  # 3
    talk.S(response("ok"), "P.")  # 4
    return Case(
        talk.records,
        rows=[Row("GET /a", 200, (3, 4, 4), 2, "content_length")],
        flows=[{"client": "10.0.0.9", "has_syn": False, "has_syn_ack": True, "initial_rtt": None}],
    )


@case("RFC 9293, section 3.5: the SYN alone tells who the client is")
def syn_ack_not_captured() -> Case:
    talk = Talk()
    talk.C(flags="S")  # 1
    talk.S(flags="S.", lost=True)
    talk.C()  # 2
    talk.C(get("/a"), "P.")  # 3
    talk.S(response("ok"), "P.")  # 4
    return Case(
        talk.records,
        rows=[Row("GET /a", 200, (3, 4, 4), 2, "content_length")],
        flows=[{"has_syn": True, "has_syn_ack": False, "initial_rtt": None, "server_gap_bytes": 0}],
    )


@case("RFC 9112, section 3: the first request tells who the client is where no SYN was captured")
def handshake_not_captured() -> Case:
    talk = Talk(client=("10.0.0.8", 80), server=("10.0.0.2", 7998))
    for sender in (talk.C, talk.S):
        sender(flags="S", lost=True)
    talk.C(get("/a"), "P.")  # 1
    talk.S(response("ok"), "P.")  # 2
    return Case(
        talk.records,
        rows=[Row("GET /a", 200, (1, 2, 2), 2, "content_length")],
        flows=[{"client": "10.0.0.8", "has_syn": False, "has_syn_ack": False}],
        anomalies=[("mid_stream_start", None)],
    )


@case("RFC 9112, section 4: a response whose request was not captured")
def response_without_its_request() -> Case:
    talk = Talk()
    for sender in (talk.C, talk.S):
        sender(flags="S", lost=True)
    talk.C(get("/a"), "P.", lost=True)
    talk.S(response("one"), "P.")  # 1
    talk.C(get("/b"), "P.")  # 2
    talk.S(response("two!"), "P.")  # 3
    return Case(
        talk.records,
        rows=[
            Row(None, 200, (None, 1, 1), 3, "content_length", complete=False, request_body=None, host=None),
            Row("GET /b", 200, (2, 3, 3), 4, "content_length"),
        ],
        anomalies=[("mid_stream_start", None)],
    )


def probed(byte: bytes, *, client_bytes: int, gap_bytes: int, anomalies: list[tuple[str, int | None]]) -> Case:
    """Return a connection that was idle when the capture began; its first packet is a probe.

    The first observed number is taken as the first byte's number, as in tshark: nothing distinguishes a probe
    from data here. The pairing of later messages is not affected.
    """
    talk = Talk()
    for sender in (talk.C, talk.S):
        sender(flags="S", lost=True)
    talk.C(get("/0"), "P.", lost=True)
    talk.S(response("zero"), "P.", lost=True)
    talk.C(byte, seq=talk.sent["C"] - 1)  # 1
    talk.S()  # 2
    talk.C(get("/a"), "P.")  # 3
    talk.S(response("ok"), "P.")  # 4
    return Case(
        talk.records,
        rows=[Row("GET /a", 200, (3, 4, 4), 2, "content_length")],
        flows=[{"client_bytes": client_bytes, "client_gap_bytes": gap_bytes}],
        anomalies=[*anomalies, ("mid_stream_start", None)],
    )


@case("RFC 9293, section 3.8.4: the garbage byte of a probe is none of the stream")
def keep_alive_of_a_byte_before_all_that_was_captured() -> Case:
    return probed(b"\0", client_bytes=1 + len(get("/a")), gap_bytes=0, anomalies=[])


@case("RFC 9293, section 3.8.4: a probe without a byte has the number before the next")
def keep_alive_without_a_byte_before_all_that_was_captured() -> Case:
    return probed(b"", client_bytes=len(get("/a")), gap_bytes=1, anomalies=[("capture_gap", 4)])
