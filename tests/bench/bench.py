"""Speed and memory of ``analyze``, ``check`` and scans against tcptrace, tshark and Zeek, on the same captures.

``python tests/bench/bench.py [--folder DIR] [--rounds N] [--capture NAME]`` makes the captures (see
``make_captures.py``), runs the programs in turn, and prints Markdown tables of medians. CPU time is the
relevant figure: wall time depends on the machine's other load. tshark runs once per capture. No time limit
fails the benchmark; the ratios are for readers.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.bench.costs import ENVIRONMENT, Program, measure, run, warm
from tests.bench.loads import LOADS
from tests.bench.make_captures import default_folder, make_captures, need_programs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.bench.costs import Cost
    from tests.bench.make_captures import Recording

_REPOSITORY: Final = Path(__file__).resolve().parents[2]
_TENTH: Final = "_tenth"
_PROGRAM: Final = str(Path(sys.executable).with_name("tcptrace-http"))
_ANALYZE: Final = [_PROGRAM, "analyze", "{}", "--quiet", "--format"]
_ONE: Final = ["--jobs", "1"]
_OWN: Final = "analyze, json, one thread"
_OWN_SHARED: Final = "analyze, json"
_CONVERSATIONS: Final = "tshark, conversations"
_HTTP: Final = "tshark, HTTP fields"
_FIELDS: Final = ["frame.number", "http.request.uri", "http.response.code"]
_PROGRAMS: Final = {
    _OWN: Program([*_ANALYZE, "json", *_ONE]),
    _OWN_SHARED: Program([*_ANALYZE, "json"]),
    "analyze, text, one thread": Program([*_ANALYZE, "text", *_ONE]),
    "analyze, parquet, one thread": Program([*_ANALYZE, "parquet", *_ONE, "--output", "transactions.parquet"]),
    # A violated rule and an inconclusive rule are verdicts.
    "check, one thread": Program([_PROGRAM, "check", "{}", "--quiet", *_ONE], verdicts=frozenset({0, 1, 3})),
    "tcptrace": Program(["tcptrace", "-l", "-n", "{}"]),
    _CONVERSATIONS: Program(["tshark", "-n", "-q", "-z", "conv,tcp", "-r", "{}"], runs_once=True),
    _HTTP: Program(
        [*"tshark -n -Y http -T fields -r {}".split(), *(part for field in _FIELDS for part in ("-e", field))],
        runs_once=True,
    ),
}
_ZEEK: Final = Program(["zeek", "-C", "-r", "{}"])
# Every row passes through Python once and is dropped: the base cost of any query.
_DRAIN: Final = """
import sys, tcptrace_http
frame = tcptrace_http.scan(sys.argv[1], sys.argv[2])
for batch in (frame.select(sys.argv[3].split(",")) if len(sys.argv) > 3 else frame).collect_batches():
    pass
"""
# -P: the installed package, not this folder's files.
_PYTHON: Final = (sys.executable, "-P", "-c")
_SCANS: Final = {
    "packets, all columns": Program([*_PYTHON, _DRAIN, "{}", "packets"]),
    "packets, 3 columns": Program([*_PYTHON, _DRAIN, "{}", "packets", "frame,time,payload_bytes"]),
    "segments, all columns": Program([*_PYTHON, _DRAIN, "{}", "segments"]),
    "segments, 3 columns": Program([*_PYTHON, _DRAIN, "{}", "segments", "frame,flow,rtt"]),
}
_VERSIONS: Final = {
    "tcptrace-http": [_PROGRAM, "--version"],
    "tcptrace": ["dpkg-query", "--show", "--showformat", "${Version}", "tcptrace"],
    "tshark": ["dpkg-query", "--show", "--showformat", "${Version}", "tshark"],
    "zeek": ["zeek", "--version"],
}
_HELP: Final = Program([_PROGRAM, "--help"])
_HELP_RUNS: Final = 11
# Native core alone, on one thread; start-up and output excluded.
_NATIVE: Final = """
import sys, time
from tcptrace_http.capture import decode
started = time.process_time()
decode(sys.argv[1], jobs=1)
print(time.process_time() - started)
"""
_MEGABYTE: Final = 1_000_000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=default_folder())
    parser.add_argument("--rounds", type=int, default=3)
    wanted = [name for name in LOADS if not name.endswith(_TENTH)]
    parser.add_argument("--capture", action="append", choices=wanted, help="only this one of the captures")
    options = parser.parse_args()
    need_programs()
    names = options.capture or wanted
    recordings = _made_apart(options.folder.resolve(), names)
    for line in _machine():
        print(line)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run(_HELP, folder)
        summary = []
        for capture in names:
            medians = measure(recordings[capture].path, options.rounds, _programs(), folder)
            print("\n".join(_table(recordings[capture], medians)), flush=True)
            print(_native_part(recordings[capture], options.rounds, folder), flush=True)
            print("\n".join(_scan_table(recordings[capture], options.rounds, folder)), flush=True)
            peak = _peak_of_tenth(recordings.get(capture + _TENTH), folder)
            summary.append(_summary_row(recordings[capture], medians, peak))
        help_s = statistics.median(run(_HELP, folder).wall_s for _ in range(_HELP_RUNS))
    print("\n".join([_SUMMARY_HEAD, *summary]))
    print(f"\n`tcptrace-http --help`: {help_s * 1000:.0f} ms")
    return 0


def _made_apart(folder: Path, names: list[str]) -> dict[str, Recording]:
    """Return the captures of these names and their tenths, made by a separate process.

    The kernel would add this process's peak memory to each program started here.
    """
    made = [name for name in LOADS if name.removesuffix(_TENTH) in names]
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as apart:
        return {each.name: each for each in apart.submit(make_captures, folder, made).result()}


def _machine() -> Iterator[str]:
    python = platform.python_version()
    yield f"{os.cpu_count()} cores of {_processor()}, Linux {platform.release()}, Python {python}"
    for name, command in _VERSIONS.items():
        if shutil.which(command[0]) is None:
            yield f"- {name} is not on the PATH (Debian has no package of it): left out"
            continue
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        number = re.search(r"\d[\w.+~-]*", done.stdout)
        yield f"- {name} {number.group() if number else 'of unknown version'}"


def _processor() -> str:
    names = re.findall(r"model name\s*:\s*(.*)", Path("/proc/cpuinfo").read_text())
    return names[0] if names else platform.machine()


def _programs() -> dict[str, Program]:
    return _PROGRAMS | ({"zeek": _ZEEK} if shutil.which("zeek") else {})


def _table(recording: Recording, medians: dict[str, Cost]) -> Iterator[str]:
    """Yield a capture's programs; the ratios are relative to our JSON on one thread."""
    yield ""
    yield f"**{recording.name}**: {recording.packets} packets, {recording.bytes / _MEGABYTE:.0f} MB"
    yield ""
    yield "| program | CPU s | wall s | thousand packets per CPU s | CPU / ours | wall / ours | peak MB |"
    yield "|---|---|---|---|---|---|---|"
    own = medians[_OWN]
    for name, cost in medians.items():
        rate = recording.packets / cost.cpu_s / 1000
        ratios = f"{cost.cpu_s / own.cpu_s:.2f} | {cost.wall_s / own.wall_s:.2f}"
        peak = cost.peak_bytes / _MEGABYTE
        yield f"| {name} | {cost.cpu_s:.3f} | {cost.wall_s:.3f} | {rate:.0f} | {ratios} | {peak:.0f} |"
    yield ""


def _native_part(recording: Recording, rounds: int, folder: Path) -> str:
    """Return the native core alone beside the lower limits of ``analysis/examples/ceiling.rs``."""
    native = [*_PYTHON, _NATIVE, recording.path]
    costs: dict[str, list[float]] = {"core": [], "bare": [], "one-shot": []}
    for _ in range(rounds):
        told = subprocess.run(native, cwd=folder, capture_output=True, check=True, env=ENVIRONMENT).stdout
        costs["core"].append(float(told))
        costs["bare"].append(run(Program([_ceiling(), "{}"]), folder, recording.path).cpu_s)
        costs["one-shot"].append(run(Program([_ceiling(), "--one-shot", "{}"]), folder, recording.path).cpu_s)
    core, bare, one_shot = (statistics.median(each) for each in costs.values())
    return (
        f"Native part, reading included: {core:.3f} s; a bare read, decode and flow-table loop {bare:.3f} s"
        f" ({core / bare:.1f} times), with 14 columns and heads {one_shot:.3f} s ({core / one_shot:.1f} times)."
    )


@cache
def _ceiling() -> str:
    """Build the program that measures the minimum time of a pass over a capture; return its path."""
    build = ["cargo", "build", "--release", "--quiet", "--package", "tcptrace-analysis", "--example", "ceiling"]
    subprocess.run(build, cwd=_REPOSITORY, check=True)
    metadata = ["cargo", "metadata", "--format-version", "1", "--no-deps"]
    told = subprocess.run(metadata, cwd=_REPOSITORY, check=True, capture_output=True).stdout
    return str(Path(json.loads(told)["target_directory"]) / "release/examples/ceiling")


def _scan_table(recording: Recording, rounds: int, folder: Path) -> Iterator[str]:
    """Yield Python scans, each in a new process: the CPU time includes the import of polars."""
    yield ""
    yield "| scan | CPU s | wall s | thousand rows per CPU s | peak MB |"
    yield "|---|---|---|---|---|"
    for name, cost in measure(recording.path, rounds, _SCANS, folder).items():
        rate = recording.packets / cost.cpu_s / 1000
        yield f"| {name} | {cost.cpu_s:.2f} | {cost.wall_s:.2f} | {rate:.0f} | {cost.peak_bytes / _MEGABYTE:.0f} |"


def _peak_of_tenth(tenth: Recording | None, folder: Path) -> str:
    """Return the peak memory on a tenth of the length, if recorded."""
    if tenth is None:
        return ""
    warm(tenth.path)
    return f"{run(_PROGRAMS[_OWN], folder, tenth.path).peak_bytes / _MEGABYTE:.0f}"


_SUMMARY_HEAD: Final = """
**Summary**: ours is `analyze --format json` by one thread; the ratios are of CPU time; wall is the wall time of
one thread / that of all; MB is the peak.

| capture | packets | CPU s | tcptrace / ours | tshark conv / ours | tshark HTTP / ours | wall | MB | MB, tenth |
|---|---|---|---|---|---|---|---|---|"""


def _summary_row(recording: Recording, medians: dict[str, Cost], peak_of_tenth: str) -> str:
    own = medians[_OWN]
    cells = [recording.name, str(recording.packets), f"{own.cpu_s:.3f}"]
    cells += [f"{medians[name].cpu_s / own.cpu_s:.2f}" for name in ("tcptrace", _CONVERSATIONS, _HTTP)]
    cells += [
        f"{own.wall_s / medians[_OWN_SHARED].wall_s:.2f}",
        f"{own.peak_bytes / _MEGABYTE:.0f}",
        peak_of_tenth,
    ]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    sys.exit(main())
