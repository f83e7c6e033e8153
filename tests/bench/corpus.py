"""Benchmark of a dataset of thousands of captures: time, memory, resistance to kills, and reads of a query.

``python -m tests.bench.corpus [--folder DIR] [--captures N] [--size BYTES] [--kills N] [--rows N] [STEP...]``
prints a table. Steps: ``add`` (against single ``analyze`` runs, scaled from a sample), ``kill`` and
``query``; by default all of them. The captures stay in the folder for reuse; delete it afterwards.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.bench.corpus_captures import make_captures
from tests.bench.corpus_rows import query

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_PROGRAM: Final = str(Path(sys.executable).with_name("tcptrace-http"))
_JOBS: Final = 2
_SAMPLE: Final = 200
_SEED: Final = 1
_LOOK_SECONDS: Final = 0.05
#: Folder of a store's unfinished files; they are no part of the dataset.
_WRITING: Final = "_writing"


@dataclass
class Run:
    """Finished command, with the peak memory of each of its processes."""

    seconds: float = 0.0
    cpu_seconds: float = 0.0
    peaks: dict[int, int] = field(default_factory=dict)

    def look(self, parent: int) -> None:
        """Poll all its processes."""
        for process in (parent, *_children(parent)):
            for line in _lines(process):
                if line.startswith("VmHWM:"):
                    self.peaks[process] = int(line.split()[1]) * 1024


def _lines(process: int) -> list[str]:
    try:
        return Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return []


def _children(parent: int) -> list[int]:
    """Return a process's children and their descendants."""
    found = []
    for tasks in Path(f"/proc/{parent}/task").glob("*/children"):
        try:
            found += [int(number) for number in tasks.read_text(encoding="ascii").split()]
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found + [each for child in found for each in _children(child)]


def _add_command(captures: Path, dataset: Path) -> list[str]:
    return [_PROGRAM, "corpus", "add", str(captures), "--into", str(dataset), "--jobs", str(_JOBS), "--quiet"]


def measured(command: Sequence[str]) -> Run:
    """Run a command to its end."""
    run = Run()
    before = os.times()
    start = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            run.look(process.pid)
            time.sleep(_LOOK_SECONDS)
    if process.returncode:
        raise SystemExit(f"{command} ended with {process.returncode}")
    run.seconds = time.monotonic() - start
    after = os.times()
    run.cpu_seconds = sum(after[2:4]) - sum(before[2:4])
    return run


def add(captures: Path, folder: Path) -> Iterator[tuple[str, str]]:
    """Make the dataset, and analyse a sample of the captures one by one."""
    paths = sorted(captures.rglob("*.pcap"))
    size = sum(path.stat().st_size for path in paths)
    dataset = folder / "dataset"
    shutil.rmtree(dataset, ignore_errors=True)
    run = measured(_add_command(captures, dataset))
    yield "captures", f"{len(paths):,} of {size / 1e9:.2f} GB in all"
    yield f"corpus add --jobs {_JOBS}", f"{run.seconds:.1f} s ({run.cpu_seconds:.1f} s of CPU)"
    yield (
        "peak of each process",
        f"{max(run.peaks.values()) / 2**20:.0f} MiB at most, of {len(run.peaks)} processes",
    )
    sample = random.Random(_SEED).sample(paths, min(_SAMPLE, len(paths)))
    scale = len(paths) / len(sample)
    for jobs in (1, _JOBS):
        before, start = os.times(), time.monotonic()
        command = ["xargs", "-n1", f"-P{jobs}", _PROGRAM, "analyze", "--quiet", "--format", "json"]
        listed = "\n".join(map(str, sample)).encode()
        subprocess.run(command, input=listed, stdout=subprocess.DEVNULL, check=True)
        seconds, after = time.monotonic() - start, os.times()
        cpu = sum(after[2:4]) - sum(before[2:4])
        told = (
            f"{seconds * scale:.0f} s ({cpu * scale:.0f} s of CPU), scaled from {len(sample)} in {seconds:.1f} s"
        )
        ratios = (
            f"{seconds * scale / run.seconds:.1f} times as long, {cpu * scale / run.cpu_seconds:.1f} times the CPU"
        )
        yield f"single analyze, {jobs} at a time", f"{told}: {ratios}"


def _contents(dataset: Path) -> dict[str, bytes]:
    files = (path for path in dataset.rglob("*") if path.is_file() and _WRITING not in path.parts)
    return {str(path.relative_to(dataset)): path.read_bytes() for path in files}


def _markers(dataset: Path) -> int:
    return len(list((dataset / "_units").glob("*.json")))


def _wait_for(process: subprocess.Popen[bytes], dataset: Path, units: int, seconds: float) -> bool:
    """Wait until this many units are done, and a moment longer; return False if all are done before."""
    while process.poll() is None and _markers(dataset) < units:
        time.sleep(_LOOK_SECONDS)
    time.sleep(seconds)
    return process.poll() is None


def kill(captures: Path, folder: Path, kills: int) -> Iterator[tuple[str, str]]:
    """Make the dataset again, killed at random moments: the whole run, or one of its workers."""
    whole, killed = folder / "dataset", folder / "killed"
    if not whole.exists():
        measured(_add_command(captures, whole))
    shutil.rmtree(killed, ignore_errors=True)
    start = time.monotonic()
    chance = random.Random(_SEED)
    command = _add_command(captures, killed)
    total = _markers(whole)
    runs = workers = 0
    while runs + workers < kills:
        # Separate process group, so that the workers are killed with the waiting process.
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True) as process:
            is_killed = False
            while not is_killed and runs + workers < kills:
                # Each kill may use its share of the remaining units, so that the last kill precedes the end.
                done = _markers(killed)
                units = done + chance.randint(0, (total - done) // (kills - runs - workers))
                if not _wait_for(process, killed, units, chance.uniform(0, 1)):
                    raise SystemExit(f"all was done after {runs + workers} kills")
                found = [each for each in _children(process.pid) if _is_worker(each)]
                is_killed = not found or chance.random() < 1 / 2
                if is_killed:
                    os.killpg(process.pid, signal.SIGKILL)
                    runs += 1
                else:
                    os.kill(chance.choice(found), signal.SIGKILL)
                    workers += 1
            if not is_killed:
                process.wait()
    done = _markers(killed)
    measured(command)
    yield "killed", f"{runs} runs and {workers} workers; {done} of {total} units were done by then"
    yield "all of it", f"{time.monotonic() - start:.1f} s"
    one, other = _contents(whole), _contents(killed)
    differing = [name for name in one.keys() | other.keys() if one.get(name) != other.get(name)]
    told = "the same bytes" if not differing else f"{len(differing)} differ: {differing[:3]}"
    yield "against one run", f"{len(one):,} files, {sum(map(len, one.values())) / 1e6:.1f} MB: {told}"


def _is_worker(process: int) -> bool:
    try:
        return b"corpus.executors" in Path(f"/proc/{process}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return False


def main() -> None:
    """Run the steps, and print their measurements."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("/tmp/corpus-bench"))
    parser.add_argument("--captures", type=int, default=10_000)
    parser.add_argument("--size", type=int, default=5_000_000_000)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("steps", nargs="*", metavar="STEP", default=["add", "kill", "query"])
    options = parser.parse_args()
    captures = options.folder / f"captures-{options.captures}-{options.size}"
    if not captures.exists() and {"add", "kill"} & set(options.steps):
        made = captures.with_suffix(".partial")
        shutil.rmtree(made, ignore_errors=True)
        start = time.monotonic()
        for _ in make_captures(made, captures=options.captures, size=options.size, seed=_SEED):
            pass
        made.rename(captures)
        print(f"| captures made in | {time.monotonic() - start:.1f} s |", flush=True)
    steps = {
        "add": lambda: add(captures, options.folder),
        "kill": lambda: kill(captures, options.folder, options.kills),
        "query": lambda: query(options.folder, options.rows),
    }
    for step in options.steps:
        for name, value in steps[step]():
            print(f"| {name} | {value} |", flush=True)


if __name__ == "__main__":
    main()
