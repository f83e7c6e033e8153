"""Kernel's view of its TCP sockets, polled through sock_diag(7): ``python sockets.py LOG``.

At SIGTERM, the program writes four values per socket. The first is the list of intervals in which Nagle's
algorithm (or a cork) held data. The second is the longest closed window with pending data. The third is the
time with a send buffer full of data in flight. The fourth is the kernel's own counter of time limited by the
peer's window (``tcpi_rwnd_limited``). The log also lists unusually long gaps between two polls: holds inside
these gaps are missing.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import socket
import struct
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_SOCK_DIAG_BY_FAMILY = 20
_NETLINK_SOCK_DIAG = 4
_REQUEST = 1
_ANY_COOKIE = b"\xff" * 8
_INFO, _MEMORY = 2, 7
# From INET_DIAG_SKMEMINFO: the send buffer's size and its queued bytes.
_MEMORY_BYTES = struct.Struct("=12xI4xI")
_PRIORITY = 10
#: ESTABLISHED, FIN_WAIT1, FIN_WAIT2, CLOSE_WAIT, LAST_ACK, CLOSING.
_STATES = frozenset({1, 4, 5, 8, 9, 11})
# SYN packets, as a classic BPF program (code, jt, jf, k) from the IP header on.
_HAS_SYN = (
    (0x30, 0, 0, 9),
    (0x15, 0, 4, 6),
    (0xB1, 0, 0, 0),
    (0x50, 0, 0, 13),
    (0x45, 0, 1, 2),
    (0x06, 0, 0, 0x40000),
    (0x06, 0, 0, 0),
)
_SO_ATTACH_FILTER = 26
_ETH_P_ALL = 3
_OUTGOING = 4

#: Address and port of the local end, then of the peer.
_Ends = tuple[bytes, bytes, bytes, bytes]
_POLL_SECONDS = 0.001
_GAP_NS = 2_500_000
# struct tcp_info of include/uapi/linux/tcp.h: offsets of the 32-bit and 64-bit fields in use.
_FIELDS = {"snd_mss": 16, "unacked": 24, "lost": 32, "retrans": 36, "snd_cwnd": 80, "total_retrans": 100}
_FIELDS |= {"notsent": 144, "snd_wnd": 228}
_LONG_FIELDS = {
    "bytes_acked": 120,
    "busy_us": 168,
    "rwnd_limited_us": 176,
    "bytes_sent": 200,
    "bytes_retrans": 208,
}


class Watch:
    """One socket across polls."""

    def __init__(self, local: int, remote: int) -> None:
        self.local, self.remote = local, remote
        self.last: dict[str, int] = {}
        self.holds: list[dict[str, int]] = []
        self.hold_start: int | None = None
        self.zero_start: int | None = None
        self.zero_window_ms = 0.0
        self.full_since: int | None = None
        self.send_buffer_full_ns = 0

    def note(self, info: dict[str, int], now: int) -> None:
        if _is_held(info):
            # The hold began after the previous poll.
            self.hold_start = self.hold_start or now
        elif self.hold_start is not None:
            self.holds.append({"start_ns": self.hold_start, "end_ns": now, "bytes": self.last["notsent"]})
            self.hold_start = None
        if info["snd_wnd"] == 0 and info["notsent"] > 0:
            self.zero_start = self.zero_start or now
            self.zero_window_ms = max(self.zero_window_ms, (now - self.zero_start) / 1e6)
        else:
            self.zero_start = None
        if self.full_since is not None:
            self.send_buffer_full_ns += now - self.full_since
        self.full_since = now if _is_full(info) else None
        self.last = info

    def told(self) -> dict[str, Any]:
        names = ("snd_mss", "total_retrans", "busy_us", "rwnd_limited_us", "bytes_sent")
        counters = {name: self.last[name] for name in names}
        ports = {"local_port": self.local, "remote_port": self.remote}
        spans = {"zero_window_ms": self.zero_window_ms, "send_buffer_full_us": self.send_buffer_full_ns // 1000}
        return {**ports, **counters, **spans, "holds": self.holds}


def _is_held(info: dict[str, int]) -> bool:
    """Return whether less than a segment is unsent, without a limit by window or loss recovery."""
    in_flight = info["bytes_sent"] - info["bytes_retrans"] - info["bytes_acked"]
    return (
        0 < info["notsent"] < info["snd_mss"]
        and 0 < info["unacked"] < info["snd_cwnd"]
        and info["lost"] == info["retrans"] == 0
        and info["snd_wnd"] - in_flight >= info["notsent"]
    )


def _is_full(info: dict[str, int]) -> bool:
    """Return whether all data is sent, but the writer sleeps for lack of free space (sk_stream_write_space)."""
    is_sent = info["notsent"] == 0 and 0 < info["unacked"] < info["snd_cwnd"]
    return is_sent and info["queued"] * 3 > info["send_buffer"] * 2


def _sniffer() -> socket.socket:
    """Watcher of this namespace's SYNs, which identify sockets: listing all sockets takes milliseconds."""
    program = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in _HAS_SYN))
    sniffer = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(_ETH_P_ALL))
    sniffer.setsockopt(
        socket.SOL_SOCKET, _SO_ATTACH_FILTER, struct.pack("@HP", len(_HAS_SYN), ctypes.addressof(program))
    )
    sniffer.setblocking(False)
    return sniffer


def _new_sockets(sniffer: socket.socket) -> Iterator[_Ends]:
    with contextlib.suppress(BlockingIOError):
        while True:
            packet, address = sniffer.recvfrom(1 << 16)
            at = (packet[0] & 15) * 4
            source = (packet[12:16], packet[at : at + 2])
            destination = (packet[16:20], packet[at + 2 : at + 4])
            yield source + destination if address[2] == _OUTGOING else destination + source


def _poll(netlink: socket.socket, ends: _Ends, watch: Watch) -> bool:
    """Note the state of a socket; return False if the socket is gone."""
    near, near_port, far, far_port = ends
    header = struct.pack("=IHHII", 72, _SOCK_DIAG_BY_FAMILY, _REQUEST, 0, 0)
    wanted = 1 << _INFO - 1 | 1 << _MEMORY - 1
    what = struct.pack("=BBBBI", socket.AF_INET, socket.IPPROTO_TCP, wanted, 0, 0)
    identity = near_port + far_port + near.ljust(16, b"\0") + far.ljust(16, b"\0") + bytes(4) + _ANY_COOKIE
    netlink.send(header + what + identity)
    answer, now = netlink.recv(1 << 16), time.time_ns()
    kind, state = struct.unpack_from("=4xH11xB", answer)
    # For an absent socket, the kernel returns an error or the listening socket of its port.
    is_open = kind == _SOCK_DIAG_BY_FAMILY and state in _STATES
    if is_open:
        watch.note(_read(answer), now)
    return is_open or not watch.last


def _read(message: bytes) -> dict[str, int]:
    info: dict[str, int] = {}
    at = 16 + 72
    while at < len(message):
        length, kind = struct.unpack_from("=HH", message, at)
        body = message[at + 4 : at + length]
        if kind == _INFO:
            info |= {name: struct.unpack_from("=I", body, offset)[0] for name, offset in _FIELDS.items()}
            info |= {name: struct.unpack_from("=Q", body, offset)[0] for name, offset in _LONG_FIELDS.items()}
        elif kind == _MEMORY:
            info["send_buffer"], info["queued"] = _MEMORY_BYTES.unpack_from(body)
        at += length + 3 & ~3
    return info


def _hurry() -> None:
    """Raise the scheduling priority of this process, if permitted."""
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(_PRIORITY))


def main() -> None:
    watches: list[Watch] = []
    open_now: dict[_Ends, Watch] = {}
    gaps: list[tuple[int, int]] = []
    last = time.time_ns()
    _hurry()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG)
    sniffer = _sniffer()
    print("ready", flush=True)
    try:
        while True:
            for ends in _new_sockets(sniffer):
                if ends not in open_now:
                    open_now[ends] = Watch(*(int.from_bytes(port, "big") for port in (ends[1], ends[3])))
                    watches.append(open_now[ends])
            open_now = {ends: watch for ends, watch in open_now.items() if _poll(netlink, ends, watch)}
            now = time.time_ns()
            gaps += [(last, now)] if now - last > _GAP_NS else []
            last = now
            time.sleep(_POLL_SECONDS)
    finally:
        told = {"gaps": gaps, "sockets": [watch.told() for watch in watches if watch.last]}
        Path(sys.argv[1]).write_text(json.dumps(told))


if __name__ == "__main__":
    main()
