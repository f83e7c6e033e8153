"""Two network namespaces joined by a delay link: TUN devices and this process, without netem.

The link needs root and iproute2, as captures do.
"""

from __future__ import annotations

import fcntl
import heapq
import itertools
import os
import random
import select
import struct
import subprocess
import threading
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# linux/if_tun.h
_TUNSETIFF = 0x400454CA
_IFF_TUN, _IFF_NO_PI = 0x0001, 0x1000
_PACKET_MAX = 65_536
_CLIENT, _SERVER = "10.99.0.1", "10.99.0.2"


@dataclass(frozen=True)
class Link:
    #: Namespaces of the two ends.
    client: str
    server: str
    #: Client's device.
    device: str
    #: Server's address.
    address: str


@contextmanager
def delayed_link(
    *, round_trip_seconds: float, loss: float = 0.0, seed: int = 0, congestion: str = ""
) -> Iterator[Link]:
    """Join two namespaces by a path; their names contain this process's number.

    A killed process leaves its namespaces behind. The path drops each packet from the server with the
    probability ``loss``. ``congestion`` names the congestion control of both ends in place of the kernel's
    default.
    """
    name = f"tt{os.getpid()}"
    ends = ((f"{name}-c", _CLIENT), (f"{name}-s", _SERVER))
    with ExitStack() as stack:
        devices = []
        for number, (namespace, address) in enumerate(ends):
            _ip("netns", "add", namespace)
            stack.callback(_ip, "netns", "del", namespace)
            device = f"{name}{number}"
            descriptor = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
            stack.callback(os.close, descriptor)
            fcntl.ioctl(descriptor, _TUNSETIFF, struct.pack("16sH22x", device.encode(), _IFF_TUN | _IFF_NO_PI))
            devices.append(descriptor)
            _ip("link", "set", device, "netns", namespace)
            _ip("-n", namespace, "addr", "add", f"{address}/24", "dev", device)
            _ip("-n", namespace, "link", "set", device, "up")
            _ip("-n", namespace, "link", "set", "lo", "up")
            if congestion:
                route = f"10.99.0.0/24 dev {device} src {address} congctl {congestion}"
                _ip("-n", namespace, "route", "replace", *route.split())
        ended = threading.Event()
        chance = random.Random(seed)
        arguments = (devices, round_trip_seconds / 2, lambda: chance.random() < loss, ended)
        carrier = threading.Thread(target=_carry, args=arguments)
        carrier.start()
        stack.callback(carrier.join)
        stack.callback(ended.set)
        yield Link(ends[0][0], ends[1][0], f"{name}0", _SERVER)


def _carry(devices: list[int], delay: float, is_lost: Callable[[], bool], ended: threading.Event) -> None:
    """Give each device the other's packets in order, ``delay`` seconds later; drop some of the server's."""
    waiting: list[tuple[float, int, int, bytes]] = []
    order = itertools.count()
    while not ended.is_set():
        patience = max(0.0, waiting[0][0] - time.monotonic()) if waiting else 0.2
        for each in select.select(devices, [], [], min(patience, 0.2))[0]:
            packet = os.read(each, _PACKET_MAX)
            if each == devices[1] and is_lost():
                continue
            other = devices[1] if each == devices[0] else devices[0]
            heapq.heappush(waiting, (time.monotonic() + delay, next(order), other, packet))
        while waiting and waiting[0][0] <= time.monotonic():
            _, _, device, packet = heapq.heappop(waiting)
            os.write(device, packet)


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)
