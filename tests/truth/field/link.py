"""Link between two TAP devices: delay, rate, a drop-tail queue, and drops by rule.

``python link.py JSON`` with ``up`` and ``down`` (names of new devices), ``delay_us``, ``rate_mbit``,
``queue_packets``, ``drops`` and ``log``. The link prints ``ready`` when the devices exist; they may then move
to network namespaces. At SIGTERM, it writes every drop to the log.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import signal
import struct
import sys
import time
from collections import Counter, deque
from pathlib import Path
from typing import Any

_TUNSETIFF = 0x400454CA
_TAP_WITHOUT_HEADER = 0x0002 | 0x1000
_IPV4 = b"\x08\x00"
_TCP = 6
_SYN = 2
_BATCH = 64
_PRIORITY = 20


class Direction:
    """One direction of the link."""

    def __init__(self, name: str, settings: dict[str, Any]) -> None:
        self.name = name
        self.delay_ns = int(settings["delay_us"] * 1000)
        rate = settings["rate_mbit"]
        self.ns_per_byte = 8000 / rate if rate else 0.0
        self.queue_packets = settings["queue_packets"]
        self.rules = [rule for rule in settings["drops"] if rule["direction"] == name]
        self.seen: Counter[tuple[int, Any]] = Counter()
        self.busy_until = 0
        self.departures: deque[int] = deque()
        self.waiting: deque[tuple[int, bytes]] = deque()
        self.drops: list[dict[str, Any]] = []

    def take(self, frame: bytes, now: int) -> None:
        """Queue a frame, or drop it."""
        while self.departures and self.departures[0] <= now:
            self.departures.popleft()
        why = self._dropped_by(frame)
        if why is None and len(self.departures) >= self.queue_packets:
            why = "queue"
        if why is not None:
            self._log(frame, why)
            return
        self.busy_until = max(now, self.busy_until) + int(len(frame) * self.ns_per_byte)
        if self.ns_per_byte:
            self.departures.append(self.busy_until)
        self.waiting.append((self.busy_until + self.delay_ns, frame))

    def _dropped_by(self, frame: bytes) -> str | None:
        packet = _tcp_of(frame)
        if packet is None:
            return None
        for number, rule in enumerate(self.rules):
            if packet["ip_bytes"] < rule["min_ip_bytes"] or packet["payload"] < rule["min_payload"]:
                continue
            if rule["syn_only"] and not packet["flags"] & _SYN:
                continue
            key = (number, frozenset((packet["sport"], packet["dport"])))
            self.seen[key] += 1
            beyond = self.seen[key] - rule["passes_first"]
            if beyond > 0 and (rule["count"] is None or beyond <= rule["count"]):
                return "rule"
        return None

    def _log(self, frame: bytes, why: str) -> None:
        self.drops.append({"at_ns": time.time_ns(), "direction": self.name, "why": why, **(_tcp_of(frame) or {})})


def _tcp_of(frame: bytes) -> dict[str, int] | None:
    if frame[12:14] != _IPV4 or frame[23] != _TCP:
        return None
    ip_bytes = struct.unpack_from(">H", frame, 16)[0]
    at = 14 + (frame[14] & 15) * 4
    sport, dport, seq = struct.unpack_from(">HHI", frame, at)
    payload = ip_bytes - (at - 14) - (frame[at + 12] >> 4) * 4
    flags = frame[at + 13]
    return {"ip_bytes": ip_bytes, "sport": sport, "dport": dport, "seq": seq, "payload": payload, "flags": flags}


def _open_tap(name: str) -> int:
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, _TUNSETIFF, struct.pack("16sH22x", name.encode(), _TAP_WITHOUT_HEADER))
    return device


def _read(device: int, direction: Direction) -> None:
    for _ in range(_BATCH):
        try:
            frame = os.read(device, 1 << 16)
        except BlockingIOError:
            return
        direction.take(frame, time.monotonic_ns())


def _write_due(device: int, direction: Direction, now: int) -> None:
    while direction.waiting and direction.waiting[0][0] <= now:
        try:
            os.write(device, direction.waiting.popleft()[1])
        except OSError:
            # The device's namespace is being removed.
            return


def _forward(near: int, far: int, up: Direction, down: Direction) -> None:
    while True:
        due = min((d.waiting[0][0] for d in (up, down) if d.waiting), default=None)
        wait = 0.5 if due is None else max(0.0, (due - time.monotonic_ns()) / 1e9)
        readable, _, _ = select.select([near, far], [], [], wait)
        if near in readable:
            _read(near, up)
        if far in readable:
            _read(far, down)
        now = time.monotonic_ns()
        _write_due(far, up, now)
        _write_due(near, down, now)


def main() -> None:
    settings = json.loads(sys.argv[1])
    near, far = _open_tap(settings["near"]), _open_tap(settings["far"])
    up, down = Direction("up", settings), Direction("down", settings)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with contextlib.suppress(PermissionError):
        # The delay must be exact even on a busy machine.
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(_PRIORITY))
    print("ready", flush=True)
    try:
        _forward(near, far, up, down)
    finally:
        Path(settings["log"]).write_text(json.dumps(up.drops + down.drops))


if __name__ == "__main__":
    main()
