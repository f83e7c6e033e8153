"""CPU time, wall time and peak memory of programs, from the kernel's accounting."""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["ENVIRONMENT", "Cost", "Program", "measure", "run", "warm"]

_CPU_SECONDS_MAX: Final = 120
# A build machine may forbid Python's bytecode cache; every start would then compile anew.
ENVIRONMENT: Final = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


@dataclass(frozen=True, slots=True)
class Program:
    """Command, in which ``{}`` stands for the capture.

    A program that takes tens of seconds runs in the first round only. It is stopped after two minutes of CPU
    time, and its result is a lower bound. ``verdicts`` are the exit codes of a completed run.
    """

    command: Sequence[str]
    runs_once: bool = False
    verdicts: frozenset[int] = frozenset({0})


@dataclass(frozen=True, slots=True)
class Cost:
    """Costs of one run, or of several runs."""

    cpu_s: float
    wall_s: float
    peak_bytes: int


def measure(capture: str, rounds: int, programs: Mapping[str, Program], folder: Path) -> dict[str, Cost]:
    """Return the medians of the programs, each run once per round, so that load peaks affect all alike.

    They run in the folder, which takes their output files.
    """
    warm(capture)
    costs: dict[str, list[Cost]] = {name: [] for name in programs}
    for number in range(rounds):
        for name, program in programs.items():
            if number == 0 or not program.runs_once:
                costs[name].append(run(program, folder, capture))
    return {
        name: Cost(
            statistics.median(each.cpu_s for each in runs),
            statistics.median(each.wall_s for each in runs),
            max(each.peak_bytes for each in runs),
        )
        for name, runs in costs.items()
    }


def warm(capture: str) -> None:
    """Read the file once, so that no program pays for the disk."""
    with Path(capture).open("rb") as file:
        while file.read(1 << 20):
            pass


def run(program: Program, folder: Path, capture: str = "") -> Cost:
    """Run a program without its output, and return its costs from the kernel."""
    command = [capture if part == "{}" else part for part in program.command]
    if program.runs_once:
        command = ["prlimit", f"--cpu={_CPU_SECONDS_MAX}", *command]
    started = time.monotonic()
    process = subprocess.Popen(
        command, cwd=folder, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    assert process.stderr is not None
    said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall_s = time.monotonic() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    # The kernel counts in ticks, and may stop the program slightly early.
    is_stopped = process.returncode == -signal.SIGKILL and usage.ru_utime + usage.ru_stime > 0.9 * _CPU_SECONDS_MAX
    if process.returncode not in program.verdicts and not is_stopped:
        raise SystemExit(f"{' '.join(command)}: {said.decode(errors='replace')}")
    return Cost(usage.ru_utime + usage.ru_stime, wall_s, usage.ru_maxrss * 1024)
