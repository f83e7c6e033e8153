"""In-memory HTTP/2 exchanges: frames by the library h2, packets by ``captures``."""

from __future__ import annotations

from collections.abc import Sequence

import h2.config
import h2.connection
from captures import ACK, MILLISECOND, MSS, PSH, Connection, Record

Fields = Sequence[tuple[str, str]]
AUTHORITY = "a.example"


class Http2:
    """HTTP/2 client and server with prior knowledge, and the packets between them."""

    def __init__(self) -> None:
        self.packets = Connection()
        self.client, self.server = (
            h2.connection.H2Connection(h2.config.H2Configuration(client_side=side)) for side in (True, False)
        )
        self.packets.open()
        self.client.initiate_connection()
        self.server.initiate_connection()

    def request(self, target: str, fields: Fields = (), *, method: str = "GET", body: bytes = b"") -> int:
        """Queue a request on a new stream; ``client_sends`` sends the packets."""
        stream = self.client.get_next_available_stream_id()
        head = [(":method", method), (":path", target), (":scheme", "http"), (":authority", AUTHORITY), *fields]
        self.client.send_headers(stream, head, end_stream=not body)
        if body:
            self.client.send_data(stream, body, end_stream=True)
        return stream

    def respond(
        self,
        stream: int,
        body: bytes,
        fields: Fields = (),
        trailers: Fields = (),
    ) -> None:
        """Queue a response."""
        self.server.send_headers(stream, [(":status", "200"), *fields])
        self.server.send_data(stream, body, end_stream=not trailers)
        if trailers:
            self.server.send_headers(stream, list(trailers), end_stream=True)

    def client_sends(self, after: int = MILLISECOND) -> None:
        data = self.client.data_to_send()
        self.server.receive_data(data)
        self.packets.from_client(data, PSH | ACK, after=after)

    def server_sends(self, after: int = MILLISECOND) -> None:
        """Send all queued data in full segments, each acknowledged at once."""
        data = self.server.data_to_send()
        self.client.receive_data(data)
        for start in range(0, len(data), MSS):
            self.packets.from_server(data[start : start + MSS], after=12_000 if start else after)
            self.packets.from_client(after=20_000)


def page(targets: Sequence[str], body_bytes: int = 4000) -> list[Record]:
    """Return a document, followed at once by the other objects."""
    made = Http2()
    document = [("content-type", "text/html")]
    referer: Fields = []
    for together in (targets[:1], targets[1:]):
        streams = [made.request(target, referer) for target in together]
        made.client_sends()
        for stream in streams:
            made.respond(stream, b"x" * body_bytes, document)
        made.server_sends(after=5 * MILLISECOND)
        referer = [("referer", f"http://{AUTHORITY}{targets[0]}")]
    return made.packets.records


def grpc_calls() -> list[Record]:
    """Return gRPC calls: one succeeds, one has an unknown method, one is cancelled by the client."""
    made = Http2()
    fields = [("content-type", "application/grpc"), ("te", "trailers")]
    names = ("Echo", "Nothing", "Slow")
    message = b"\0\0\0\0\3abc"
    streams = [made.request(f"/shop.v1.Cart/{name}", fields, method="POST", body=message) for name in names]
    made.client_sends()
    answer = [("content-type", "application/grpc")]
    made.respond(streams[0], 2 * message, answer, [("grpc-status", "0")])
    made.respond(streams[1], message, answer, [("grpc-status", "12")])
    made.server_sends(after=5 * MILLISECOND)
    made.client.reset_stream(streams[2], error_code=8)
    made.client_sends(after=5 * MILLISECOND)
    return made.packets.records
