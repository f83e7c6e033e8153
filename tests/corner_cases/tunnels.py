"""Connections that leave HTTP/1.x, or never use it."""

from .script import Case, Row, Talk, case, get, response


@case("RFC 9110, section 15.2.2, and RFC 6455, section 4.2.2: after 101 the frames are WebSocket's")
def websocket() -> Case:
    talk = Talk()
    talk.open()
    talk.C(get("/chat", "GET", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: eA=="), "P.")  # 4
    talk.S("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", "P.")  # 5
    talk.C(b"\x81\x85abcd\x09\x07\x0f\x08\x0e", "P.")  # 6
    talk.S(b"\x81\x12GET / HTTP/1.1\r\n\r\n", "P.")  # 7
    return Case(talk.records, rows=[Row("GET /chat", 101, (4, 5, 5), 0, "tunnel")])


@case("RFC 7540, section 3.2: the response to the request that upgraded is HTTP/2's")
def h2c_upgrade() -> Case:
    talk = Talk()
    talk.open()
    talk.C(get("/", "GET", "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: "), "P.")  # 4
    talk.S("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n", "P.")  # 5
    talk.S(bytes([0, 0, 0, 4, 0, 0, 0, 0, 0]), "P.")  # 6: SETTINGS
    talk.C(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0]), "P.")  # 7
    return Case(talk.records, rows=[Row("GET /", 101, (4, 5, 5), 0, "tunnel")])


@case("RFC 9110, section 7.8: a server may ignore Upgrade")
def upgrade_ignored() -> Case:
    talk = Talk()
    talk.open()
    talk.C(get("/", "GET", "Connection: Upgrade", "Upgrade: h2c"), "P.")  # 4
    talk.S(response("ok"), "P.")  # 5
    talk.C(get("/b"), "P.")  # 6
    talk.S(response("ok"), "P.")  # 7
    return Case(
        talk.records,
        rows=[
            Row("GET /", 200, (4, 5, 5), 2, "content_length"),
            Row("GET /b", 200, (6, 7, 7), 2, "content_length"),
        ],
    )


@case("RFC 9113, section 3.4: the preface of HTTP/2 is no request, and what is no frame behind it is said")
def http_2_with_prior_knowledge() -> Case:
    talk = Talk()
    talk.open()
    talk.C(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0]), "P.")
    talk.S(bytes([0, 0, 0, 4, 0, 0, 0, 0, 0]), "P.")
    talk.C(b"HTTP/1.1 200 OK\r\n\r\n", "P.")
    return Case(talk.records, flows=[{"is_http": True}], anomalies=[("malformed_http2", 6)])


def tunnel() -> Talk:
    talk = Talk()
    talk.open()
    talk.C("CONNECT h:443 HTTP/1.1\r\nHost: h\r\n\r\n", "P.")  # 4
    talk.S("HTTP/1.1 200 Connection established\r\nContent-Length: 9\r\n\r\n", "P.")  # 5
    return talk


TUNNEL = Row("CONNECT h:443", 200, (4, 5, 5), 0, "tunnel")


@case("RFC 9110, section 9.3.6: after 2xx to CONNECT all bytes belong to the tunnel; HTTP in it is read")
def connect() -> Case:
    talk = tunnel()
    for name in "ab":
        talk.C(get(f"/{name}"), "P.")  # 6, 8
        talk.S(response("inside"), "P.")  # 7, 9
    return Case(
        talk.records,
        rows=[
            TUNNEL,
            Row("GET /a", 200, (6, 7, 7), 6, "content_length"),
            Row("GET /b", 200, (8, 9, 9), 6, "content_length"),
        ],
        tshark_differs=dict.fromkeys(("requests", "responses"), "tshark shows one request of the tunnel"),
    )


@case("RFC 9110, section 9.3.6: what is not HTTP in the tunnel is not read, and what follows it neither")
def connect_to_another_protocol() -> Case:
    talk = tunnel()
    talk.C(b"\x16\x03\x01\x00\x05hello", "P.")  # 6
    talk.S(b"\x16\x03\x03\x00\x05hello", "P.")  # 7
    talk.C(get("/inside"), "P.")  # 8
    talk.S(response("inside"), "P.")  # 9
    return Case(
        talk.records,
        rows=[TUNNEL],
        tshark_differs={"requests": "tshark looks for requests in every segment of the tunnel"},
    )


@case("RFC 5321, section 3.1: a server that speaks first in the tunnel speaks no HTTP")
def connect_to_a_server_that_speaks_first() -> Case:
    talk = tunnel()
    talk.S("220 h ESMTP\r\n", "P.")  # 6
    talk.C("EHLO h\r\n", "P.")  # 7
    return Case(talk.records, rows=[TUNNEL])


@case("RFC 9110, section 9.3.6: a response to CONNECT other than 2xx opens no tunnel")
def connect_refused() -> Case:
    talk = Talk()
    talk.open()
    talk.C("CONNECT h:443 HTTP/1.1\r\nHost: h\r\n\r\n", "P.")  # 4
    talk.S(response("no", "HTTP/1.1 407 Proxy Authentication Required"), "P.")  # 5
    talk.C("CONNECT h:443 HTTP/1.1\r\nHost: h\r\nProxy-Authorization: x\r\n\r\n", "P.")  # 6
    talk.S("HTTP/1.1 200 OK\r\n\r\n", "P.")  # 7
    return Case(
        talk.records,
        rows=[
            Row("CONNECT h:443", 407, (4, 5, 5), 2, "content_length"),
            Row("CONNECT h:443", 200, (6, 7, 7), 0, "tunnel"),
        ],
    )
