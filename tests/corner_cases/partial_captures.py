"""Data that was sent but not captured: a direction, the end of packets, the correct time."""

from .script import Case, Row, Talk, case, get, response

ETHERNET_TO_TCP = 14 + 20 + 20
#: Truncated packets have one row for the first packet, and one row for their count.
COUNT = ("truncated_packet", None)
HEAD = "HTTP/1.1 200 OK\r\nContent-Length: 3000\r\n\r\n"


def two_exchanges(*, client_seen: bool, server_seen: bool) -> Talk:
    talk = Talk()
    client, server = {"lost": not client_seen}, {"lost": not server_seen}
    talk.C(flags="S", **client)
    talk.S(flags="S.", **server)
    talk.C(**client)
    for name in "ab":
        talk.C(get(f"/{name}"), "P.", **client)
        talk.S(response("ok"), "P.", **server)
        talk.C(**client)
    talk.C(flags="F.", **client)
    talk.S(flags="F.", **server)
    talk.C(**client)
    return talk


@case("RFC 9112, section 9.3: the requests alone")
def client_side_only() -> Case:
    talk = two_exchanges(client_seen=True, server_seen=False)
    rows = [Row(f"GET /{name}", None, (at, None, None), complete=False) for name, at in (("a", 3), ("b", 5))]
    facts = {"client_bytes": 2 * len(get("/a")), "server_bytes": 0, "has_syn_ack": False, "initial_rtt": None}
    return Case(talk.records, rows=rows, flows=[facts])


@case("RFC 9112, section 9.3: the responses alone")
def server_side_only() -> Case:
    talk = two_exchanges(client_seen=False, server_seen=True)
    rows = [
        Row(None, 200, (None, at, at), 2, "content_length", complete=False, request_body=None, host=None)
        for at in (2, 3)
    ]
    facts = {"client_bytes": 0, "server_bytes": 2 * len(response("ok")), "has_syn": False, "initial_rtt": None}
    return Case(talk.records, rows=rows, flows=[facts])


@case("draft-ietf-opsawg-pcap, section 5: a snap length cuts bodies; the headers tell how long they were")
def bodies_cut_by_a_snap_length() -> Case:
    talk = Talk()
    talk.open()
    talk.C(get("/a"), "P.")  # 4
    talk.S(HEAD, "P.")  # 5
    talk.S(b"x" * 1460, snap=96)  # 6
    talk.S(b"x" * 1460, snap=96)  # 7
    talk.S(b"x" * 80, "P.", snap=96)  # 8
    talk.C(get("/b"), "P.")  # 9
    talk.S(response("ok"), "P.")  # 10
    kept = 96 - ETHERNET_TO_TCP
    return Case(
        talk.records,
        rows=[
            Row("GET /a", 200, (4, 5, 8), 3000, "content_length", missing=3000 - 3 * kept),
            Row("GET /b", 200, (9, 10, 10), 2, "content_length"),
        ],
        anomalies=[("missing_data", 8), ("truncated_packet", 6), COUNT],
        flows=[{"server_bytes": len(HEAD) + 3000 + len(response("ok")), "server_gap_bytes": 0}],
        tshark_differs={
            "responses": "tshark reassembles no body of which the snap length left only parts",
        },
    )


@case("draft-ietf-opsawg-pcap, section 5: a snap length cuts heads; the start lines remain")
def heads_cut_by_a_snap_length() -> Case:
    talk = Talk()
    talk.open()
    talk.C(get("/a", "GET", "Cookie: " + "c" * 200), "P.", snap=ETHERNET_TO_TCP + 60)  # 4
    talk.S(response("ok", "HTTP/1.1 200 OK", "Set-Cookie: " + "c" * 200), "P.", snap=ETHERNET_TO_TCP + 60)  # 5
    requested, answered = len(get("/a", "GET", "Cookie: " + "c" * 200)), len(response("ok")) + 214
    return Case(
        talk.records,
        rows=[
            Row(
                "GET /a",
                200,
                (4, 5, 5),
                0,
                "unknown",
                complete=False,
                missing=requested + answered - 2 * 60,
            )
        ],
        anomalies=[("missing_data", 4), ("missing_data", 5), ("truncated_packet", 4), COUNT],
        flows=[{"client_bytes": requested, "server_bytes": answered}],
    )


@case("draft-ietf-opsawg-pcap, section 5: a snap length cuts request lines; the target is known as far as it goes")
def request_line_cut_by_a_snap_length() -> Case:
    talk = Talk()
    talk.open()
    requested, answer, kept = get("/a/long/target"), response("ok"), 12
    talk.C(requested, "P.", snap=ETHERNET_TO_TCP + kept)  # 4
    talk.S(answer, "P.")  # 5
    missing = len(requested) - kept
    return Case(
        talk.records,
        rows=[Row("GET /a/long/", 200, (4, 5, 5), 2, "content_length", False, missing=missing, host=None)],
        anomalies=[("missing_data", 4), ("truncated_packet", 4)],
        flows=[{"is_http": True, "client_bytes": len(requested)}],
    )


@case("RFC 959, section 4.1: the cut line of another protocol is no request")
def other_lines_cut_by_a_snap_length() -> Case:
    talk = Talk()
    talk.open()
    for line in ("RETR /a/long/name\r\n", "OPTIONS rtsp://h/long RTSP/1.0\r\nCSeq: 1\r\n\r\n"):
        talk.C(line, "P.", snap=ETHERNET_TO_TCP + 12)  # 4, 6
        talk.S("150 here it comes\r\n", "P.")  # 5, 7
    return Case(
        talk.records,
        anomalies=[("truncated_packet", 4), COUNT],
        flows=[{"is_http": False}],
        tshark_differs={"requests": "tshark takes a cut line of RTSP for a request"},
    )


@case("draft-ietf-opsawg-pcap, section 5: records stand in the order of the capture, whatever the clock said")
def clock_steps_backwards() -> Case:
    talk = Talk()
    talk.open()
    talk.C(get("/a"), "P.")  # 4
    talk.S(response("ok"), "P.", after=-5_000_000_000)  # 5
    talk.C()
    talk.C(get("/b"), "P.")  # 7
    talk.S(response("ok"), "P.")  # 8
    return Case(
        talk.records,
        rows=[
            Row("GET /a", 200, (4, 5, 5), 2, "content_length"),
            Row("GET /b", 200, (7, 8, 8), 2, "content_length"),
        ],
        anomalies=[("time_backwards", 5)],
    )
