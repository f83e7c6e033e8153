"""Thousands of different captures: simulated retrievals, copied with other clients, servers and times.

A copy adds a number to the client's address and subtracts it from the server's, so that every checksum stays
right.
"""

from __future__ import annotations

import hashlib
import struct
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

import reference_sim

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["make_captures"]

_STRATEGIES: Final = ("http10-serial", "http10-keep-alive-x4", "http11", "http11-pipelined", "http2")
#: From 15 kB to 1.4 MB on the wire.
_PAGES: Final = ("heidemann", "fifty-small", "espn", "eggert-frames", "kruse-oufr", "bhalekar-25-large")
_NETWORKS: Final = ("lan", "wan", "wan-loss")
_STACK: Final = "linux-6"
#: Time of the first capture; the captures cover two weeks.
_START: Final = int(datetime(2026, 11, 16, tzinfo=UTC).timestamp())
_SECONDS: Final = 14 * 86_400
#: Standard deviation of the logarithm of sizes: the largest of 10,000 is a few hundred times the median.
_SIGMA: Final = 1.2
_FILE_HEADER: Final = 24
_RECORD_HEADER: Final = 16
_ETHERNET_HEADER: Final = 14
#: Seconds between two retrievals of one capture.
_GAP: Final = 1


@dataclass(frozen=True)
class Template:
    """Records of a simulated retrieval, and the places that a copy changes."""

    records: np.ndarray
    seconds_at: np.ndarray
    client_at: np.ndarray
    server_at: np.ndarray
    seconds: int

    def copy(self, start: int, number: int) -> np.ndarray:
        """Return the records with their first time at ``start``, with addresses shifted by ``number``."""
        made = self.records.copy()
        times = _read(made, self.seconds_at, "<u4")
        _write(made, self.seconds_at, times - times[0] + np.uint32(start), "<u4")
        for at, step in ((self.client_at, number), (self.server_at, -number)):
            _write(made, at, _read(made, at, ">u2") + np.uint16(step % (1 << 16)), ">u2")
        return made


def _read(records: np.ndarray, at: np.ndarray, kind: str) -> np.ndarray:
    size = np.dtype(kind).itemsize
    return records[at[:, None] + np.arange(size)].copy().view(kind)[:, 0].astype(kind[1:])


def _write(records: np.ndarray, at: np.ndarray, values: np.ndarray, kind: str) -> None:
    size = np.dtype(kind).itemsize
    records[at[:, None] + np.arange(size)] = values.astype(kind)[:, None].view(np.uint8)


def _templates(seed: int) -> tuple[bytes, list[Template]]:
    """Return the header of all files, and the retrievals."""
    header, made = b"", []
    with tempfile.NamedTemporaryFile(suffix=".pcap") as file:
        for strategy in _STRATEGIES:
            for page in _PAGES:
                for network in _NETWORKS:
                    scenario = reference_sim.retrieval(
                        strategy=strategy, page=page, network=network, client_stack=_STACK, seed=seed
                    )
                    reference_sim.simulate(scenario, seed=seed).write_pcap(file.name, at="client")
                    content = Path(file.name).read_bytes()
                    header = content[:_FILE_HEADER]
                    made.append(_template(content[_FILE_HEADER:]))
    return header, sorted(made, key=lambda each: len(each.records))


def _template(records: bytes) -> Template:
    starts, clients, servers = [], [], []
    at, client = 0, b""
    while at < len(records):
        address = at + _RECORD_HEADER + _ETHERNET_HEADER + 12
        client = client or records[address : address + 4]
        is_sent = records[address : address + 4] == client
        starts.append(at)
        (clients if is_sent else servers).append(address + 2)
        (servers if is_sent else clients).append(address + 6)
        at += _RECORD_HEADER + struct.unpack_from("<I", records, at + 8)[0]
    first, last = (struct.unpack_from("<I", records, starts[each])[0] for each in (0, -1))
    places = (np.array(each) for each in (starts, clients, servers))
    return Template(np.frombuffer(records, np.uint8), *places, last - first + 1)


def make_captures(folder: Path, *, captures: int, size: int, seed: int = 1) -> Iterator[Path]:
    """Make this many captures of this total size, each in the folder of its day; the seed determines all."""
    chance = np.random.default_rng(seed)
    header, templates = _templates(seed)
    lengths = [len(template.records) for template in templates]
    weights = chance.lognormal(0, _SIGMA, captures)
    sizes = weights / weights.sum() * size
    number = 0
    for index, wanted in enumerate(sizes):
        start = _START + index * _SECONDS // captures
        day = folder / f"{datetime.fromtimestamp(start, UTC):%Y-%m-%d}"
        day.mkdir(parents=True, exist_ok=True)
        parts, written = [np.frombuffer(header, np.uint8)], 0
        while not written or written < wanted:
            # A retrieval of about the remaining length, or the shortest.
            fitting = np.searchsorted(lengths, wanted - written, side="right")
            template = templates[chance.integers(max(1, fitting))]
            number += 1
            # All addresses within a capture differ; the 10,000 captures begin at different addresses.
            parts.append(template.copy(start, number % 60_000 + 1))
            written += len(template.records)
            start += template.seconds + _GAP
        # Names of single captures: names of rotated captures would form one stream.
        path = day / f"{hashlib.sha256(str(index).encode()).hexdigest()[:12]}.pcap"
        path.write_bytes(np.concatenate(parts).tobytes())
        yield path
