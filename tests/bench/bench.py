"""Speed and memory of the whole ``analyze`` against tcptrace and tshark, and of scans, on the same captures.

``python tests/bench/bench.py [--folder DIR] [--rounds N] [--capture NAME]`` makes the captures
(see ``make_captures.py``), runs the programs in turn, and prints a Markdown table of medians. CPU
time is what counts: wall time depends on what else the machine does. Nothing here can fail on
time; the ratios are for reading.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import re
import statistics
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from make_captures import default_folder, make_captures, need_programs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from make_captures import Recording

_PROGRAM: Final = Path(sys.executable).with_name("tcptrace-http")
_OWN: Final = "tcptrace-http, one thread"
_OWN_SHARED: Final = "tcptrace-http"
_ANALYZE: Final = [str(_PROGRAM), "analyze", "{}", "--format", "json"]
_COMMANDS: Final = {
    _OWN: [*_ANALYZE, "--jobs", "1"],
    _OWN_SHARED: _ANALYZE,
    "tcptrace": ["tcptrace", "-l", "-n", "{}"],
    "tshark": ["tshark", "-n", "-q", "-z", "conv,tcp", "-r", "{}"],
}
# Every row goes through Python once and is dropped: what a query costs before it does anything.
_DRAIN: Final = """
import sys, tcptrace_http
frame = tcptrace_http.scan(sys.argv[1], sys.argv[2])
for batch in (frame.select(sys.argv[3].split(",")) if len(sys.argv) > 3 else frame).collect_batches():
    pass
"""
_SCANS: Final = {
    "packets, all columns": ["packets"],
    "packets, 3 columns": ["packets", "frame,time,payload_bytes"],
    "segments, all columns": ["segments"],
    "segments, 3 columns": ["segments", "frame,flow,rtt"],
}
_VERSIONS: Final = {
    _OWN_SHARED: [str(_PROGRAM), "--version"],
    "tcptrace": ["dpkg-query", "--show", "--showformat", "${Version}", "tcptrace"],
    "tshark": ["dpkg-query", "--show", "--showformat", "${Version}", "tshark"],
}
# A build machine may forbid Python to keep its bytecode; then every start would compile anew.
_ENVIRONMENT: Final = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
_HELP_RUNS: Final = 11
_REPOSITORY: Final = Path(__file__).resolve().parents[2]
# -P: what is installed, not what lies in this folder.
_PYTHON: Final = (sys.executable, "-P", "-c")
# What the core takes of a run, by one thread; start-up and output are left out.
_NATIVE: Final = """
import sys, time
from tcptrace_http.capture import decode
started = time.process_time()
decode(sys.argv[1], jobs=1)
print(time.process_time() - started)
"""
_MEGABYTE: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Cost:
    """What one run of a program took."""

    cpu_s: float
    wall_s: float
    peak_bytes: int


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=default_folder())
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--capture", action="append", help="only this one of the captures")
    options = parser.parse_args()
    need_programs()
    _run([str(_PROGRAM), "--help"])
    recordings = _made_apart(options.folder)
    for line in _machine():
        print(line)
    for recording in recordings:
        if not options.capture or recording.name in options.capture:
            print("\n".join(_table(recording, options.rounds)), flush=True)
            print("\n".join(_scan_table(recording, options.rounds)), flush=True)
    help_s = statistics.median(_run([str(_PROGRAM), "--help"]).wall_s for _ in range(_HELP_RUNS))
    print(f"\n`tcptrace-http --help`: {help_s * 1000:.0f} ms")
    return 0


def _machine() -> Iterator[str]:
    python = platform.python_version()
    yield f"{os.cpu_count()} cores of {_processor()}, Linux {platform.release()}, Python {python}"
    for name, command in _VERSIONS.items():
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        number = re.search(r"\d[\w.+~-]*", done.stdout)
        yield f"- {name} {number.group() if number else 'of unknown version'}"


def _processor() -> str:
    names = re.findall(r"model name\s*:\s*(.*)", Path("/proc/cpuinfo").read_text())
    return names[0] if names else platform.machine()


def _table(recording: Recording, rounds: int) -> Iterator[str]:
    yield ""
    yield f"**{recording.name}**: {recording.packets} packets, {recording.bytes / _MEGABYTE:.0f} MB"
    yield ""
    yield "| program | CPU s | wall s | kpackets a CPU s | its CPU in ours | its wall in ours | peak MB |"
    yield "|---|---|---|---|---|---|---|"
    medians = _measure(recording, rounds, _COMMANDS)
    own, shared = medians[_OWN], medians[_OWN_SHARED]
    for name, cost in medians.items():
        rate = recording.packets / cost.cpu_s / 1000
        is_own = name in {_OWN, _OWN_SHARED}
        ratios = " | " if is_own else f"{cost.cpu_s / own.cpu_s:.1f} | {cost.wall_s / shared.wall_s:.1f}"
        peak = cost.peak_bytes / _MEGABYTE
        yield f"| {name} | {cost.cpu_s:.3f} | {cost.wall_s:.3f} | {rate:.0f} | {ratios} | {peak:.0f} |"
    yield ""
    yield _native_part(recording, rounds)


def _native_part(recording: Recording, rounds: int) -> str:
    """The native core alone beside the ceilings of ``analysis/examples/ceiling.rs``."""
    native = [*_PYTHON, _NATIVE, recording.path]
    costs: dict[str, list[float]] = {"core": [], "bare": [], "one-shot": []}
    for _ in range(rounds):
        costs["core"].append(
            float(subprocess.run(native, capture_output=True, check=True, env=_ENVIRONMENT).stdout)
        )
        costs["bare"].append(_run([str(_ceiling()), recording.path]).cpu_s)
        costs["one-shot"].append(_run([str(_ceiling()), "--one-shot", recording.path]).cpu_s)
    core, bare, one_shot = (statistics.median(each) for each in costs.values())
    return (
        f"Native part, reading included: {core:.3f} s; a bare read, decode and flow-table loop {bare:.3f} s"
        f" ({core / bare:.1f} times), with 14 columns and heads {one_shot:.3f} s ({core / one_shot:.1f} times)."
    )


@cache
def _ceiling() -> Path:
    """The program that shows how fast a capture can be gone through, built now."""
    build = ["cargo", "build", "--release", "--quiet", "--package", "tcptrace-analysis", "--example", "ceiling"]
    subprocess.run(build, cwd=_REPOSITORY, check=True)
    metadata = ["cargo", "metadata", "--format-version", "1", "--no-deps"]
    told = subprocess.run(metadata, cwd=_REPOSITORY, check=True, capture_output=True).stdout
    return Path(json.loads(told)["target_directory"]) / "release/examples/ceiling"


def _scan_table(recording: Recording, rounds: int) -> Iterator[str]:
    """Scans of Python, started anew each time: the CPU time has that of importing polars in it."""
    yield ""
    yield "| scan | CPU s | wall s | thousand rows a CPU second | peak MB |"
    yield "|---|---|---|---|---|"
    commands = {name: [*_PYTHON, _DRAIN, "{}", *arguments] for name, arguments in _SCANS.items()}
    for name, cost in _measure(recording, rounds, commands).items():
        rate = recording.packets / cost.cpu_s / 1000
        yield f"| {name} | {cost.cpu_s:.2f} | {cost.wall_s:.2f} | {rate:.0f} | {cost.peak_bytes / _MEGABYTE:.0f} |"


def _measure(recording: Recording, rounds: int, commands: dict[str, list[str]]) -> dict[str, Cost]:
    """The medians of the programs, each run once a round, so that a busy moment hits all alike."""
    _warm(Path(recording.path))
    costs: dict[str, list[Cost]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            costs[name].append(_run([recording.path if part == "{}" else part for part in command]))
    return {
        name: Cost(
            statistics.median(run.cpu_s for run in runs),
            statistics.median(run.wall_s for run in runs),
            max(run.peak_bytes for run in runs),
        )
        for name, runs in costs.items()
    }


def _made_apart(folder: Path) -> list[Recording]:
    """The captures, made by a process of their own.

    What this one held at its peak the kernel would account to each program that is started here.
    """
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as apart:
        return apart.submit(make_captures, folder).result()


def _warm(path: Path) -> None:
    """Read the file once, so that no program pays for the disk."""
    with path.open("rb") as file:
        while file.read(1 << 20):
            pass


def _run(command: list[str]) -> Cost:
    """Run a program with its output thrown away, and take its account from the kernel."""
    started = time.monotonic()
    process = subprocess.Popen(command, env=_ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stderr is not None
    said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall_s = time.monotonic() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: {said.decode(errors='replace')}")
    return Cost(usage.ru_utime + usage.ru_stime, wall_s, usage.ru_maxrss * 1024)


if __name__ == "__main__":
    sys.exit(main())
