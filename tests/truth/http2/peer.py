"""HTTP/2 client or server with scripted behaviour: ``python peer.py JSON``.

A server prints ``ready`` when it listens. A client runs its rounds of requests one after the other, and
prints their total duration in nanoseconds. A request's duration ends with its response. It begins with the
request, or with the connection if the request waited for one.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import sys
import time
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import h2.config
import h2.connection
import h2.events
import h2.settings

WIDE = 1 << 24
_FIRST_WINDOW = 65_535
_CHUNK = 16_384
_READ_BYTES = 1 << 18
#: Below the priority of the link.
_PRIORITY = 10

DEFAULTS: dict[str, Any] = {
    "stream_window": WIDE,
    "connection_window": WIDE,
    # Delay of WINDOW_UPDATE after a window is exhausted; None: WINDOW_UPDATE at half the window.
    "update_ms": None,
    "nodelay": True,
    # HEADERS in a separate write().
    "is_head_alone": False,
    "send_buffer": 0,
    "notsent_lowat": 0,
    "think_ms": 0,
    # Server pacing: milliseconds per segment.
    "pace_ms": 0,
    # Message in trailers, as in gRPC.
    "has_trailers": False,
    # Client only: see ``client``.
    "rounds": (),
    "pause_ms": 0,
    "waits_for_settings": False,
    "reconnects": False,
}


@dataclass
class Sending:
    """Unsent rest of a message."""

    left: int
    urgency: int = 3
    turn: int = 0
    not_before: float = 0.0


class Peer:
    """One end of one connection."""

    def __init__(self, sock: socket.socket, settings: dict[str, Any], *, is_client: bool) -> None:
        self.socket, self.settings, self.is_client = sock, settings, is_client
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, settings["nodelay"])
        sock.setblocking(False)
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(client_side=is_client))
        first = {h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: settings["stream_window"]}
        self.h2.local_settings = h2.settings.Settings(client=is_client, initial_values=first)
        self.h2.initiate_connection()
        if settings["connection_window"] > _FIRST_WINDOW:
            self.h2.increment_flow_control_window(settings["connection_window"] - _FIRST_WINDOW)
        self.sending: dict[int, Sending] = {}
        self.turns = 0
        #: By stream (0: the connection): received bytes since the last WINDOW_UPDATE.
        self.used: dict[int, int] = defaultdict(int)
        #: Times of the next actions: a WINDOW_UPDATE, a reply, a request.
        self.later: list[tuple[float, Any]] = []
        self.unread: dict[int, float] = {}
        self.requested: dict[int, dict[str, str]] = {}
        self.has_settings = self.is_over = False
        self.ended: set[int] = set()
        self.waiting = self.h2.data_to_send()

    def wants_write(self) -> bool:
        return bool(self.waiting) or self._next() is not None

    def on_readable(self) -> None:
        try:
            data = self.socket.recv(_READ_BYTES)
        except ConnectionError:
            data = b""
        if not data:
            self.is_over = True
            return
        for event in self.h2.receive_data(data):
            self._on(event)
        self.waiting += self.h2.data_to_send()

    def on_time(self, now: float) -> None:
        due = [do for at, do in self.later if at <= now]
        self.later = [(at, do) for at, do in self.later if at > now]
        for do in due:
            do()
        self.waiting += self.h2.data_to_send()

    def on_writable(self) -> None:
        """Write at most one frame, to choose the order of streams as late as the kernel permits."""
        if not self.waiting and (stream := self._next()) is not None:
            self._send_chunk(stream)
        if self.waiting:
            sent = self.socket.send(self.waiting)
            self.waiting = self.waiting[sent:]

    def _next(self) -> int | None:
        now = time.monotonic()
        able = [
            (each.urgency, each.turn, stream)
            for stream, each in self.sending.items()
            if each.not_before <= now and self.h2.local_flow_control_window(stream) > 0
        ]
        return min(able)[2] if able else None

    def _send_chunk(self, stream: int) -> None:
        message = self.sending[stream]
        pace = self.settings["pace_ms"]
        window = self.h2.local_flow_control_window(stream)
        size = min(message.left, window, 1400 if pace else _CHUNK)
        message.left -= size
        is_last = not message.left
        self.h2.send_data(stream, b"x" * size, end_stream=is_last and not self.settings["has_trailers"])
        if is_last:
            if self.settings["has_trailers"]:
                self.h2.send_headers(stream, [("grpc-status", "0")], end_stream=True)
            del self.sending[stream]
        self.turns += 1
        message.turn = self.turns
        message.not_before = time.monotonic() + pace / 1000
        if pace:
            self.later.append((message.not_before, lambda: None))
        self.waiting += self.h2.data_to_send()

    def _on(self, event: h2.events.Event) -> None:
        match event:
            case h2.events.RemoteSettingsChanged():
                self.has_settings = True
            case h2.events.RequestReceived(stream_id=stream, headers=fields):
                self.requested[stream] = {name.decode(): value.decode() for name, value in fields}
            case h2.events.DataReceived(stream_id=stream, flow_controlled_length=size):
                self._take(stream, size)
            case h2.events.StreamEnded(stream_id=stream):
                self.ended.add(stream)
                if not self.is_client:
                    think = self.settings["think_ms"] / 1000
                    self.later.append((time.monotonic() + think, lambda: self._reply(stream)))

    def _take(self, stream: int, size: int) -> None:
        """Restore the window that DATA used."""
        until = self.unread.get(stream, 0.0)
        if until > time.monotonic():
            self.later.append((until, lambda: self._take(stream, size)))
            return
        late = self.settings["update_ms"]
        for each, window in ((stream, self.settings["stream_window"]), (0, self.settings["connection_window"])):
            self.used[each] += size
            if self.used[each] < (window if late is not None else window // 2):
                continue
            used = self.used.pop(each)
            self.later.append((time.monotonic() + (late or 0) / 1000, lambda s=each, n=used: self._give(s, n)))

    def _give(self, stream: int, size: int) -> None:
        if not stream:
            self.h2.increment_flow_control_window(size)
        elif stream not in self.ended:
            self.h2.increment_flow_control_window(size, stream)

    def _reply(self, stream: int) -> None:
        requested = self.requested[stream]
        self.h2.send_headers(stream, [(":status", "200"), ("content-type", "application/grpc")])
        urgency = int(requested.get("priority", "u=3").removeprefix("u="))
        not_before = 0.0
        if self.settings["is_head_alone"]:
            self.waiting += self.h2.data_to_send()
            self.socket.send(self.waiting)
            self.waiting = b""
        self.turns += 1
        self.sending[stream] = Sending(int(requested[":path"].rpartition("/")[2]), urgency, self.turns, not_before)

    def ask(self, request: dict[str, Any]) -> int:
        """Send a request; return its stream."""
        stream = self.h2.get_next_available_stream_id()
        body = request.get("body", 0)
        fields = [(":method", "POST" if body else "GET"), (":scheme", "http"), (":authority", "a.example")]
        fields += [(":path", f"/{request.get('bytes', 300)}")]
        if "urgency" in request:
            fields.append(("priority", f"u={request['urgency']}"))
        self.h2.send_headers(stream, fields, end_stream=not body)
        if body:
            self.sending[stream] = Sending(body)
        if "unread_ms" in request:
            self.unread[stream] = time.monotonic() + request["unread_ms"] / 1000
        return stream


def turn(peers: list[Peer], listener: socket.socket | None = None) -> socket.socket | None:
    """Wait for the next event and handle it; return a new connection, if any."""
    now = time.monotonic()
    due = [at for peer in peers for at, _ in peer.later]
    by_socket = {peer.socket: peer for peer in peers}
    readable, writable, _ = select.select(
        [*by_socket, *([listener] if listener else [])],
        [each for each, peer in by_socket.items() if peer.wants_write()],
        [],
        max(0.0, min(due) - now) if due else None,
    )
    for each, peer in by_socket.items():
        if each in readable:
            peer.on_readable()
        peer.on_time(time.monotonic())
        if each in writable and peer.wants_write():
            peer.on_writable()
    return listener.accept()[0] if listener and listener in readable else None


def server(settings: dict[str, Any]) -> None:
    with socket.create_server(("", settings["port"])) as listener:
        if settings["send_buffer"]:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, settings["send_buffer"])
        if settings["notsent_lowat"]:
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, settings["notsent_lowat"])
        print("ready", flush=True)
        peers: list[Peer] = []
        while True:
            accepted = turn(peers, listener)
            for peer in (each for each in peers if each.is_over):
                peer.socket.close()
            peers = [each for each in peers if not each.is_over]
            if accepted:
                peers.append(Peer(accepted, settings, is_client=False))


def client(settings: dict[str, Any]) -> int:
    """Run the rounds of a client; a round is a list of requests.

    A request has ``bytes`` to receive and to send (``body``), ``urgency``, its start, and its read time.
    """
    total = 0.0
    peer = None
    for rnd in settings["rounds"]:
        begun = time.monotonic()
        if peer is None or settings["reconnects"]:
            peer = Peer(socket.create_connection((settings["host"], settings["port"])), settings, is_client=True)
            while settings["waits_for_settings"] and not peer.has_settings:
                turn([peer])
        else:
            peer.later.append((begun + settings["pause_ms"] / 1000, lambda: None))
            while time.monotonic() < begun + settings["pause_ms"] / 1000:
                turn([peer])
            begun = time.monotonic()
        total += asked_at_once(peer, rnd, begun)
        if settings["reconnects"]:
            peer.socket.close()
    return round(total * 1e9)


def asked_at_once(peer: Peer, requests: list[dict[str, Any]], begun: float) -> float:
    """Send the requests and receive their responses; return their total duration."""
    starts: dict[int, float] = {}
    ends: dict[int, float] = {}

    def ask(request: dict[str, Any]) -> None:
        starts[peer.ask(request)] = begun if not request.get("after_ms") else time.monotonic()

    first = time.monotonic()
    for request in requests:
        peer.later.append((first + request.get("after_ms", 0) / 1000, lambda each=request: ask(each)))
    peer.on_time(time.monotonic())
    while len(ends) < len(requests):
        turn([peer])
        for stream in starts.keys() & peer.ended - ends.keys():
            ends[stream] = time.monotonic()
    return sum(ends[stream] - start for stream, start in starts.items())


def main() -> None:
    settings = DEFAULTS | json.loads(sys.argv[1])
    with contextlib.suppress(PermissionError):
        # The peer must answer at once even on a busy machine.
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(_PRIORITY))
    if "host" in settings:
        print(json.dumps(client(settings)), flush=True)
        # Stay open until the capture has its last packets.
        sys.stdin.read()
    else:
        server(settings)


if __name__ == "__main__":
    main()
