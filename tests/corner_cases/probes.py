"""Keep-alive and window probes; and urgent data."""

from .script import Case, Row, Talk, case, get, response

TAKES_WHAT_WAS_REFUSED = "tshark takes a segment that its receiver refused for one that arrived"
MINUTE = 60_000_000_000


@case("RFC 9293, section 3.8.4: a keep-alive repeats the number before the next, with no byte or one")
def keep_alives() -> Case:
    talk = Talk()
    talk.open()
    talk.C(get("/a"), "P.")  # 4
    talk.S(response("ok"), "P.")  # 5
    talk.C()  # 6
    talk.C(seq=talk.sent["C"] - 1, after=MINUTE)  # 7
    talk.S()  # 8
    talk.C(b"\0", seq=talk.sent["C"] - 1, after=MINUTE)  # 9
    talk.S()  # 10
    talk.S(seq=talk.sent["S"] - 1, after=MINUTE)  # 11
    talk.C()  # 12
    talk.C(get("/b"), "P.")  # 13
    talk.S(response("ok"), "P.")  # 14
    return Case(
        talk.records,
        rows=[
            Row("GET /a", 200, (4, 5, 5), 2, "content_length"),
            Row("GET /b", 200, (13, 14, 14), 2, "content_length"),
        ],
        flows=[{"client_retransmissions": 0, "client_duplicate_acks": 0, "server_duplicate_acks": 0}],
        segments={"is_keep_alive": [7, 9, 11], "is_retransmission": [], "duplicate_ack_count": []},
    )


@case("RFC 9293, section 3.8.6.1: a sender probes a zero window with the next byte")
def zero_window_probes() -> Case:
    talk = Talk()
    talk.open()
    talk.C(get("/a"), "P.")  # 4
    answer = response("0123456789")
    talk.S(answer[:-10], "P.")  # 5
    talk.C(window=0)  # 6
    body = talk.sent["S"]
    talk.S(b"0", after=200_000_000)  # 7: refused
    talk.C(window=0, ack=body)  # 8
    talk.S(b"0", seq=body, after=400_000_000)  # 9: refused again
    talk.C(window=0, ack=body)  # 10
    talk.C(window=65535, ack=body, after=100_000_000)  # 11
    talk.S(b"0123456789", "P.", seq=body)  # 12
    talk.C()  # 13
    return Case(
        talk.records,
        rows=[Row("GET /a", 200, (4, 5, 12), 10, "content_length")],
        flows=[{"client_zero_windows": 3, "server_bytes": len(answer)}],
        segments={"is_zero_window": [6, 8, 10]},
    )


def into_a_closed_window() -> tuple[Talk, bytes, int]:
    """Return a zero window: the client reads the head (frame 5), closes its window (6), and gets the body (7)."""
    talk = Talk()
    talk.open()
    talk.C(get("/a"), "P.")
    answer = response("0123456789")
    talk.S(answer[:-10], "P.")
    talk.C(window=0)
    body = talk.sent["S"]
    talk.S(answer[-10:], "P.", after=200_000_000)
    return talk, answer, body


@case("RFC 9293, section 3.10.7.4: a segment in a closed window that is not acknowledged did not arrive")
def refused_segment() -> Case:
    talk, answer, body = into_a_closed_window()
    talk.C(window=0, ack=body)  # 8: refused
    talk.S(answer[-10:], "P.", seq=body, after=400_000_000)  # 9
    talk.C(window=0, ack=body)  # 10: refused again
    talk.C(window=65535, ack=body, after=100_000_000)  # 11
    talk.S(answer[-10:], "P.", seq=body, after=300_000_000)  # 12
    talk.C()  # 13
    return Case(
        talk.records,
        rows=[Row("GET /a", 200, (4, 5, 12), 10, "content_length")],
        flows=[{"server_retransmissions": 2, "server_bytes": len(answer)}],
        segments={"is_zero_window": [6, 8, 10], "is_retransmission": [9, 12]},
        tshark_differs={"responses": TAKES_WHAT_WAS_REFUSED},
    )


@case("RFC 9293, section 3.8.6: what comes into a closed window and is acknowledged has arrived when it came")
def segment_taken_in_a_closed_window() -> Case:
    talk, answer, _ = into_a_closed_window()
    talk.C(window=65535, after=100_000_000)  # 8
    talk.S(flags="F.")  # 9
    return Case(
        talk.records,
        rows=[Row("GET /a", 200, (4, 5, 7), 10, "content_length")],
        flows=[{"server_retransmissions": 0, "server_bytes": len(answer)}],
    )


@case("RFC 9293, section 3.8.6: an ACK that was on its way says nothing of a segment that is acknowledged later")
def segment_taken_behind_an_older_ack() -> Case:
    talk, _, body = into_a_closed_window()
    talk.C(window=65535, ack=body)  # 8: the client had made room before the segment came
    talk.C(window=65535)  # 9
    return Case(talk.records, rows=[Row("GET /a", 200, (4, 5, 7), 10, "content_length")])


@case("RFC 9293, section 3.10.7.4: data behind a refused segment waits for its copy")
def data_behind_a_refused_segment() -> Case:
    talk = Talk()
    talk.open()
    talk.C(get("/a"), "P.")  # 4
    answer = response("0123456789")
    talk.S(answer[:-10], "P.")  # 5
    talk.C(window=0)  # 6
    body = talk.sent["S"]
    talk.S(answer[-10:-5], after=200_000_000)  # 7
    talk.C(window=0, ack=body)  # 8: refused
    talk.C(window=65535, ack=body, after=100_000_000)  # 9
    talk.S(answer[-5:], "P.")  # 10
    talk.C(ack=body)  # 11
    talk.S(answer[-10:-5], seq=body, after=200_000_000)  # 12
    talk.C()  # 13
    return Case(
        talk.records,
        rows=[Row("GET /a", 200, (4, 5, 12), 10, "content_length")],
        tshark_differs={"responses": TAKES_WHAT_WAS_REFUSED},
    )


@case(
    "RFC 9293, section 3.8.6: data behind a segment in a closed window that nobody refused shows that it arrived"
)
def data_behind_a_segment_in_a_closed_window() -> Case:
    talk = Talk()
    talk.open()
    talk.C(get("/a"), "P.")  # 4
    answer = response("0123456789")
    talk.S(answer[:-10], "P.")  # 5
    talk.C(window=0)  # 6
    talk.S(answer[-10:-5], after=200_000_000)  # 7
    talk.S(answer[-5:], "P.", after=100_000_000)  # 8
    return Case(talk.records, rows=[Row("GET /a", 200, (4, 5, 8), 10, "content_length")])


@case("RFC 9293, section 3.8.6: a segment in a closed window with which the capture ends is what there is")
def segment_in_a_closed_window_at_the_end() -> Case:
    talk, _, _ = into_a_closed_window()
    return Case(talk.records, rows=[Row("GET /a", 200, (4, 5, 7), 10, "content_length")])


@case("RFC 6093, section 3: urgent data stays where it is in the stream")
def urgent_data() -> Case:
    talk = Talk()
    talk.open()
    talk.C(get("/a"), "P.")  # 4
    answer = response("0123456789")
    talk.S(answer[:-5], "PU.", urgent=3)  # 5
    talk.S(answer[-5:], "P.")  # 6
    return Case(talk.records, rows=[Row("GET /a", 200, (4, 5, 6), 10, "content_length")])


@case("RFC 9293, section 3.10.7.4: a checksum that an offload left unset says nothing about the packet")
def bad_checksum() -> Case:
    talk = Talk()
    talk.open()
    talk.C(get("/a"), "P.")  # 4
    talk.S(response("ok"), "P.")  # 5
    for at, record in enumerate(talk.records):
        data = bytearray(record.data)
        data[14 + 20 + 16 : 14 + 20 + 18] = (0xBAD0 + at).to_bytes(2, "big")
        data[14 + 10 : 14 + 12] = b"\xba\xd1"
        talk.records[at] = type(record)(record.time, bytes(data))
    return Case(talk.records, rows=[Row("GET /a", 200, (4, 5, 5), 2, "content_length")])
