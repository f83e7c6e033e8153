"""Instructions per packet of the native core, and its peak memory.

``python -m tests.instructions.count`` counts them for each kind of traffic (Valgrind: callgrind and dhat) and
writes the table that ``test_counts`` compares with. A costlier change updates the table in its own commit,
with the reason.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.instructions.traffic import KINDS, PACKETS, capture

if TYPE_CHECKING:
    from collections.abc import Sequence

TABLE: Final = Path(__file__).with_name("counts.toml")
_REPOSITORY: Final = Path(__file__).resolve().parents[2]
_PEAK: Final = re.compile(r"At t-gmax:\s+([\d,]+) bytes")
_SUMMARY: Final = re.compile(r"^(?:summary|totals): (\d+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Count:
    """Cost of one kind of traffic."""

    #: Per packet, including program start.
    instructions: int
    #: Peak heap memory in KiB.
    peak_kib: int


def counted(kind: str) -> Count:
    """Measure the current cost of the native core."""
    program = built()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "capture.pcap")
        path.write_bytes(capture(kind))
        of_all = instructions([program, path], Path(folder, "callgrind.out"))
        told = _valgrind("dhat", f"--dhat-out-file={folder}/dhat.out", command=[program, path])
        peak = _PEAK.search(told)
    if peak is None:
        raise RuntimeError(f"Valgrind did not tell what it counted: {told}")
    return Count(of_all // PACKETS, int(peak[1].replace(",", "")) // 1024)


def instructions(command: Sequence[str | Path], calls: Path, *options: str) -> int:
    """Return the instructions of a command; ``calls`` is callgrind's output."""
    told = _valgrind("callgrind", f"--callgrind-out-file={calls}", *options, command=command)
    summary = _SUMMARY.search(calls.read_text())
    if summary is None:
        raise RuntimeError(f"Valgrind did not tell what it counted: {told}")
    return int(summary[1])


def built(example: str = "analyze", *, debug: bool = False) -> Path:
    """Build the program that reads a capture and discards the rows; return its path.

    The program is a release build. With ``debug`` it has line information and a folder of its own.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CARGO_PROFILE")}
    folder = Path(os.environ.get("CARGO_TARGET_DIR", _REPOSITORY / "target"))
    if debug:
        folder /= "with_lines"
        environment |= {
            "CARGO_PROFILE_RELEASE_DEBUG": "1",
            "CARGO_PROFILE_RELEASE_STRIP": "none",
            "CARGO_TARGET_DIR": str(folder),
        }
    build = ["cargo", "build", "--release", "--quiet", "--package", "tcptrace-analysis", "--example", example]
    subprocess.run(build, cwd=_REPOSITORY, check=True, env=environment)
    return folder / "release/examples" / example


def compiler() -> str:
    """Return the compiler's version, which determines the number of instructions."""
    done = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True)
    return done.stdout.split()[1]


def known() -> tuple[str, dict[str, Count]]:
    """Return the committed table: its compiler, and the counts by kind of traffic."""
    table = tomllib.loads(TABLE.read_text())
    return table["rustc"], {kind: Count(**table[kind]) for kind in KINDS}


def _valgrind(tool: str, *options: str, command: Sequence[str | Path]) -> str:
    counted = ["valgrind", f"--tool={tool}", *options, *map(str, command)]
    done = subprocess.run(counted, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(counted)}: {done.stderr}")
    return done.stderr


def main() -> int:
    lines = [
        f'# Of {PACKETS:,} packets; written by "python -m tests.instructions.count".',
        f'rustc = "{compiler()}"',
    ]
    for kind in KINDS:
        count = counted(kind)
        lines += ["", f"[{kind}]", f"instructions = {count.instructions}", f"peak_kib = {count.peak_kib}"]
        print(
            f"{kind}: {count.instructions} instructions a packet, at most {count.peak_kib} KiB at a time",
            flush=True,
        )
    TABLE.write_text("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
