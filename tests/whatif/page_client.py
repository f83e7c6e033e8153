"""Command that fetches a page: its document, then all of its images, by HTTP/1.1 or HTTP/2.

``python page_client.py h1|pipelined|h2 ADDRESS PORT`` requests ``/``, then each ``src="..."`` of the document.
"""

from __future__ import annotations

import re
import socket
import sys

import h2.connection
import h2.events
import h2.settings

HOST = "www.example.com"
LINK = re.compile(rb'src="([^"]+)"')


def by_http1(connection, *, pipelined=False):
    """Fetch over one connection: one outstanding request, or all image requests in one write."""
    answers = connection.makefile("rb")

    def ask(*targets):
        requests = (b"GET %s HTTP/1.1\r\nHost: %s\r\n\r\n" % (target, HOST.encode()) for target in targets)
        connection.sendall(b"".join(requests))

    def response():
        length = 0
        while line := answers.readline().strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        return answers.read(length)

    ask(b"/")
    images = LINK.findall(response())
    for batch in [images] if pipelined else [[image] for image in images]:
        ask(*batch)
        for _ in batch:
            response()


def by_streams(connection):
    """Send the requests of all images in one write, with windows that never limit."""
    client = h2.connection.H2Connection()
    client.initiate_connection()
    client.update_settings({h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: 1 << 20})
    client.increment_flow_control_window(1 << 24)

    def ask(target):
        fields = [(":method", "GET"), (":scheme", "http"), (":authority", HOST), (":path", target)]
        client.send_headers(client.get_next_available_stream_id(), fields, end_stream=True)

    document, images, ended = b"", None, 0
    ask("/")
    while images is None or ended <= len(images):
        connection.sendall(client.data_to_send())
        received = connection.recv(1 << 18)
        assert received, "the server closed the connection"
        for event in client.receive_data(received):
            if isinstance(event, h2.events.DataReceived) and event.stream_id == 1:
                document += event.data
            if isinstance(event, h2.events.StreamEnded):
                ended += 1
                if event.stream_id == 1:
                    images = LINK.findall(document)
                    for image in images:
                        ask(image.decode())


if __name__ == "__main__":
    how, address, port = sys.argv[1:]
    with socket.create_connection((address, int(port))) as opened:
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if how == "h2":
            by_streams(opened)
        else:
            by_http1(opened, pipelined=how == "pipelined")
