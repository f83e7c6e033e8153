"""Small, different captures: samples shifted in time."""

from __future__ import annotations

import itertools
import struct
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Sequence

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"
_HEADER = 24
_RECORD = struct.Struct("<IIII")


def records(path: Path) -> tuple[bytes, list[tuple[int, int, bytes]]]:
    """Return the header of a little-endian pcap file, and its records (seconds, fraction, rest)."""
    content = path.read_bytes()
    found, at = [], _HEADER
    while at < len(content):
        seconds, fraction, captured, wire = _RECORD.unpack_from(content, at)
        end = at + _RECORD.size + captured
        found.append((seconds, fraction, struct.pack("<II", captured, wire) + content[at + _RECORD.size : end]))
        at = end
    return content[:_HEADER], found


def written(path: Path, header: bytes, rows: Sequence[tuple[int, int, bytes]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(header + b"".join(struct.pack("<II", *row[:2]) + row[2] for row in rows))
    return path


def shifted(sample: str, to: Path, seconds: int) -> Path:
    """Return a sample shifted by several seconds."""
    header, rows = records(SAMPLES / sample)
    return written(to, header, [(row[0] + seconds, *row[1:]) for row in rows])


def small_captures(folder: Path, count: int) -> list[Path]:
    """Return captures of two days, of a few kilobytes each."""
    names = ("heidemann_1996_figure2.pcap", "heidemann_1996_figure4.pcap", "lan_hdrsep_small.pcap")
    return [
        shifted(names[number % len(names)], folder / f"run-{number}.pcap", 3600 * number)
        for number in range(count)
    ]


def rotated(sample: Path, folder: Path, cuts: Sequence[int]) -> list[Path]:
    """Return a capture split before these records, into files named as by ``tcpdump -C``."""
    header, rows = records(sample)
    edges = [0, *sorted(cuts), len(rows)]
    return [
        written(folder / f"eth0.pcap{number}", header, rows[start:end])
        for number, (start, end) in enumerate(itertools.pairwise(edges))
    ]


def random_cuts(draw: random.Random, records_count: int, files: int) -> list[int]:
    return [draw.randint(0, records_count) for _ in range(files - 1)]


def content(dataset: Path) -> dict[str, bytes]:
    """Return all objects of a dataset by key."""
    return {
        str(path.relative_to(dataset)): path.read_bytes()
        for path in sorted(dataset.rglob("*"))
        if path.is_file() and "_writing" not in path.parts
    }


def each_line(text: str) -> Iterator[str]:
    return filter(None, text.splitlines())
