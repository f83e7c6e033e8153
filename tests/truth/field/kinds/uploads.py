"""Runs with POSTs of 100 to 500 kB: small buffers, a slow reader, split requests, or no culprit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..scenario import Client, Link, Scenario, Server

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["scenarios"]


def scenarios() -> Iterator[Scenario]:
    for size, rtt_ms in ((100_000, 10.0), (300_000, 40.0), (500_000, 5.0)):
        name = f"{size // 1000}k"
        yield _upload(f"plain_{name}", Server(), Client(5, body_bytes=size), rtt_ms)
        for buffer in (8192, 24_576):
            reader = Server(receive_buffer=buffer)
            yield _upload(f"receive_buffer_{buffer}_{name}", reader, Client(5, body_bytes=size), rtt_ms)
        for pause_ms in (3.0, 12.0):
            slow = Server(receive_buffer=32_768, read_bytes=16_384, read_pause_ms=pause_ms)
            yield _upload(f"slow_reader_{pause_ms:.0f}_{name}", slow, Client(5, body_bytes=size), rtt_ms)
        for buffer in (8192, 32_768):
            sender = Client(5, body_bytes=size, send_buffer=buffer, write_bytes=4096)
            yield _upload(f"send_buffer_{buffer}_{name}", Server(), sender, rtt_ms)
    for nodelay in (True, False):
        for body in (600, 5000):
            split = Client(10, body_bytes=body, splits_head=True, nodelay=nodelay, pause_ms=5)
            words = f"split_{'nodelay' if nodelay else 'nagle'}_{body}"
            yield _upload(words, Server(), split, 10.0)


def _upload(name: str, server: Server, client: Client, rtt_ms: float) -> Scenario:
    link = Link(rtt_ms=rtt_ms, rate_mbit=50.0, queue_packets=400)
    return Scenario(f"upload_{name}", "uploads", server=server, client=client, links=(link,))
