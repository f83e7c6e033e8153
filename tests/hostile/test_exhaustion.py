"""Captures that try to exhaust memory: memory stays below a limit, drops are reported, nothing else is lost."""

from __future__ import annotations

import contextlib
import json
import mmap
import subprocess
import sys
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pytest

from . import captures_to_exhaust as made

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

MIB: Final = 1 << 20
#: Memory of a minimal analysis: Python, polars and the core, with the allocator's overhead.
BASE_MIB: Final = 112
#: A capture that is only read and counted needs no more than that, including judgement of its anomalies.
NOTHING_KEPT_MIB: Final = 144
#: Data of pages (PAGES_BYTES_MAX), and memory to group them.
PAGES_MIB: Final = BASE_MIB + 6 * 64
#: Bound on the data held by all flows (HELD_BYTES_MAX), and allocator overhead.
HELD_MIB: Final = BASE_MIB + 256 + 64
#: The same, plus a batch of rows with 8 kB targets.
LONG_ROWS_MIB: Final = HELD_MIB + 256
#: All held data is released at the end, batch by batch, and judged together.
GATHERED_MIB: Final = HELD_MIB + 6 * 256
#: 131,072 unanswered open flows at two kilobytes each, and rows of abandoned flows: one batch is made while
#: another is judged.
OPEN_FLOWS_MIB: Final = BASE_MIB + 272 + 2 * 64
LIMIT_REACHED: Final = "limit_reached"
LIMIT: Final = frozenset({LIMIT_REACHED})
MALFORMED_HTTP2: Final = frozenset({"malformed_http2"})
#: The process reports its own peak: the peak reported to a parent (ru_maxrss) begins with the parent's
#: memory.
COMMAND: Final = """
import gc, re, sys
from tcptrace_http.cli.main import run
gc.disable()  # as main does
code = run(sys.argv[1:])
status = open("/proc/self/status").read()
sys.stderr.write("peak %s" % re.search(r"VmHWM:\\s+(\\d+) kB", status)[1])
sys.exit(code)
"""
UNUSABLE: Final = 2


@dataclass(frozen=True)
class Case:
    """Hostile capture: its number of parts in the everyday and the long run, and the permitted cost."""

    make: Callable[[int], Iterator[bytes]]
    everyday: int
    slow: int
    #: Peak resident memory of the everyday and the long run, in MiB.
    everyday_mib: int = NOTHING_KEPT_MIB
    slow_mib: int = NOTHING_KEPT_MIB
    #: Required anomaly kinds of the long run, and of the everyday run.
    kinds: frozenset[str] = frozenset()
    everyday_kinds: frozenset[str] = frozenset()
    pack: Callable[[Iterator[bytes]], Iterator[bytes]] | None = None
    #: The capture can be unpacked.
    is_readable: bool = True

    def bytes(self, count: int) -> Iterator[bytes]:
        pieces = made.stream(self.make, count)
        return pieces if self.pack is None else self.pack(pieces)


CASES: Final = {
    "endless_header_line": Case(made.endless_header_line, 200, 20_000, kinds=LIMIT),
    "endless_header_lines": Case(made.endless_header_lines, 200, 20_000, kinds=LIMIT),
    "endless_chunk_size": Case(made.endless_chunk_size, 200, 20_000, kinds=frozenset({"malformed_http"})),
    "endless_trailers": Case(made.endless_trailers, 200, 20_000, kinds=frozenset({"malformed_http"})),
    "interim_responses": Case(made.interim_responses, 100, 10_000),
    "huge_gaps": Case(made.huge_gaps, 20_000, 1_000_000),
    "single_bytes": Case(made.single_bytes, 30_000, 1_000_000, kinds=frozenset({"capture_gap"})),
    "waiting_on_many_flows": Case(made.waiting_on_many_flows, 60, 600, HELD_MIB, HELD_MIB, LIMIT),
    "heads_on_many_flows": Case(made.heads_on_many_flows, 300, 10_000, HELD_MIB, HELD_MIB, LIMIT),
    "pipelined_requests": Case(made.pipelined_requests, 5000, 200_000, HELD_MIB + 96, GATHERED_MIB),
    "pipelined_on_one_flow": Case(made.pipelined_on_one_flow, 20, 3000, PAGES_MIB + 64, PAGES_MIB + 64),
    "unacknowledged_on_many_flows": Case(
        made.unacknowledged_on_many_flows, 64_000, 6_400_000, PAGES_MIB, PAGES_MIB
    ),
    "tiny_transactions": Case(made.tiny_transactions, 20_000, 3_000_000, PAGES_MIB, PAGES_MIB, LIMIT),
    "stalls": Case(made.stalls, 1000, 200_000, 300, 1400),
    # Remembered texts, rows with long URLs, and their findings.
    "texts": Case(made.texts, 300, 10_000, BASE_MIB + 128, BASE_MIB + 192),
    "texts_on_many_flows": Case(made.texts_on_many_flows, 20, 1000, BASE_MIB + 64, HELD_MIB, LIMIT),
    # Each truncated response is a finding.
    "announced_lengths": Case(made.announced_lengths, 1000, 20_000, slow_mib=GATHERED_MIB),
    "redirects": Case(made.redirects, 2000, 50_000, PAGES_MIB, LONG_ROWS_MIB),
    "links_of_long_urls": Case(made.links_of_long_urls, 300, 10_000, BASE_MIB + 64, LONG_ROWS_MIB),
    "followed_links": Case(made.followed_links, 1000, 30_000, BASE_MIB + 96, PAGES_MIB, LIMIT),
    "packed_documents": Case(
        made.packed_documents, 600, 10_000, BASE_MIB + 32, PAGES_MIB, kinds=LIMIT, everyday_kinds=LIMIT
    ),
    "http2_settings": Case(made.http2_settings, 40, 400, PAGES_MIB, PAGES_MIB),
    "http2_pings": Case(made.http2_pings, 100, 10_000),
    "http2_resets": Case(made.http2_resets, 20, 3000, PAGES_MIB, PAGES_MIB),
    "http2_continuations": Case(made.http2_continuations, 400, 20_000, kinds=MALFORMED_HTTP2),
    "http2_bombs": Case(made.http2_bombs, 2000, 100_000, PAGES_MIB, PAGES_MIB, kinds=MALFORMED_HTTP2),
    "http2_open_streams": Case(made.http2_open_streams, 500, 30_000, HELD_MIB, LONG_ROWS_MIB),
    "http2_blocks_on_many_flows": Case(made.http2_blocks_on_many_flows, 300, 10_000, HELD_MIB, HELD_MIB, LIMIT),
    "http2_windows": Case(made.http2_windows, 5000, 500_000, PAGES_MIB, PAGES_MIB),
    "fragments": Case(made.fragments, 20_000, 1_000_000, kinds=frozenset({"incomplete_fragments"})),
    "anomalies": Case(made.anomalies, 20_000, 2_000_000, kinds=frozenset({"truncated_packet", "time_backwards"})),
    "pcapng_interfaces": Case(made.pcapng_interfaces, 100_000, 5_000_000, kinds=LIMIT),
    "pcapng_long_blocks": Case(made.pcapng_long_blocks, 1, 20),
    "gzip_bomb": Case(made.empty_records, 1_000_000, 30_000_000, pack=made.gzip_of),
    # zstd's window is memory; 128 MiB is the maximum that is unpacked.
    "zstd_window_of_128_mib": Case(
        made.empty_records,
        1_000_000,
        30_000_000,
        NOTHING_KEPT_MIB + 160,
        NOTHING_KEPT_MIB + 160,
        pack=lambda pieces: made.zstd_of(pieces, 27),
    ),
    "zstd_window_of_2_gib": Case(
        made.empty_records,
        1_000_000,
        30_000_000,
        pack=lambda pieces: made.zstd_of(pieces, 31),
        is_readable=False,
    ),
}
#: flow_table.rs limits the number of live flows.
FLOODS: Final = {
    "syn_flood": Case(made.syn_flood, 30_000, 3_000_000, slow_mib=OPEN_FLOWS_MIB, kinds=LIMIT),
    "syn_flood_v6": Case(made.syn_flood_v6, 30_000, 3_000_000, slow_mib=OPEN_FLOWS_MIB, kinds=LIMIT),
}


@dataclass(frozen=True)
class Run:
    code: int
    peak_mib: float
    error: str
    output: Path

    def anomalies(self) -> list[dict[str, Any]]:
        """Return the last array of the document, which may be too long to read completely."""
        with self.output.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
            label = b'\n"anomalies": '
            found = text[text.rfind(label) + len(label) :]
        return json.loads(found.rstrip()[:-1])

    def has(self, needle: bytes) -> bool:
        with self.output.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
            return text.find(needle) >= 0


def analyzed(case: Case, count: int, folder: Path) -> Run:
    """Analyse a capture while it is generated, and measure the peak memory of the process."""
    output, errors = folder / "out.json", folder / "errors"
    with errors.open("wb") as stderr:
        process = subprocess.Popen(
            [sys.executable, "-c", COMMAND, "analyze", "--format", "json", "-o", str(output), "-"],
            stdin=subprocess.PIPE,
            stderr=stderr,
        )
    assert process.stdin is not None
    feeder = threading.Thread(target=feed, args=(process.stdin, case.bytes(count)))
    feeder.start()
    code = process.wait()
    feeder.join()
    said, _, peak_kib = errors.read_text().rpartition("peak ")
    assert peak_kib.isdigit(), peak_kib
    return Run(code, int(peak_kib) / 1024, said, output)


def feed(pipe: Any, pieces: Iterator[bytes]) -> None:
    # The reader may finish before all data is written.
    with contextlib.suppress(BrokenPipeError):
        for piece in pieces:
            pipe.write(piece)
    with contextlib.suppress(BrokenPipeError):
        pipe.close()


def check(case: Case, count: int, most_mib: int, folder: Path) -> Run:
    run = analyzed(case, count, folder)
    assert run.peak_mib < most_mib
    if not case.is_readable:
        assert run.code == UNUSABLE
        assert "requires too much memory" in run.error
        return run
    assert run.code == 0, run.error
    assert run.has(b'"client":"192.0.2.77"')
    assert run.has(b'"target":"/page"')
    return run


@pytest.mark.parametrize("name", CASES)
def test_a_capture_made_to_exhaust_memory_is_read_to_its_end(name, tmp_path):
    case = CASES[name]
    run = check(case, case.everyday, case.everyday_mib, tmp_path)
    if case.everyday_kinds:
        assert case.everyday_kinds <= {one["kind"] for one in run.anomalies()}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_memory_stays_below_its_limit_for_any_length(name, tmp_path):
    case = CASES[name]
    run = check(case, case.slow, case.slow_mib, tmp_path)
    found = run.anomalies() if case.is_readable else []
    print(
        f"{name}: {run.peak_mib:.0f} MiB",
        *sorted({one["detail"] for one in found if one["kind"] == LIMIT_REACHED})[:3],
    )
    assert case.kinds <= {one["kind"] for one in found}


@pytest.mark.slow
@pytest.mark.parametrize("name", FLOODS)
def test_half_open_flows_are_bounded(name, tmp_path):
    case = FLOODS[name]
    run = check(case, case.slow, case.slow_mib, tmp_path)
    print(f"{name}: {run.peak_mib:.0f} MiB")
    assert LIMIT_REACHED in {one["kind"] for one in run.anomalies()}
