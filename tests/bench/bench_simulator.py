"""CPU time of our simulator against Debian's ``ns``: the thesis's run with 32 web and 2 FTP clients.

``python tests/bench/bench_simulator.py [--seconds N]`` runs both on each strategy, one after the other, and
prints a Markdown table: CPU seconds per simulated second, the ratios, events per second, and our peak memory
for that time, four and ten times as long. ``ns`` runs ``tests/simulator/ns2/dumbbell.tcl``: stock FullTcp
agents, made per connection, with the time of the whole process. Our time is that of the call ``simulate``
alone, and (second ratio) of the whole process, with Python's start and imports. Rows of transactions are not
recorded: ``ns`` keeps only totals, too.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.simulator.ns2 import programs

STRATEGIES: Final = {
    "serial": "http10-serial",
    "parallel": "http10-parallel",
    "pipelined": "thesis-pipelined",
    "segment-filled": "segment-filled",
}
WEBS: Final = 32
FTPS: Final = 2
# Separate process: its peak memory belongs to this run.
_OURS: Final = """
import resource, sys, time
from datetime import timedelta
from reference_sim.scenario import Record
from reference_sim.simulation import simulate
from reference_sim.workloads import thesis
strategy, seconds, webs, ftps = sys.argv[1], *map(int, sys.argv[2:])
scenario = thesis(
    strategy=strategy, web_clients=webs, ftp_clients=ftps, stack="fulltcp-ns", duration=timedelta(seconds=seconds),
    record=Record(transactions=False),
)
started = time.process_time()
simulation = simulate(scenario)
took = time.process_time() - started
print(took, time.process_time(), simulation.events, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def ours(strategy: str, seconds: int) -> tuple[float, float, int, float]:
    """Return CPU seconds of the simulation and of its process, events, and peak megabytes."""
    command = [sys.executable, "-c", _OURS, strategy, str(seconds), str(WEBS), str(FTPS)]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return float(told[0]), float(told[1]), int(told[2]), int(told[3]) / 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=300, help="simulated seconds (default: %(default)s)")
    seconds = parser.parse_args().seconds
    print("| strategy | ns, ms CPU/s | ours, ms CPU/s | ratio | of processes | events/s | MB | 4 x | 10 x |")
    print("|---" * 9 + "|")
    for theirs, strategy in STRATEGIES.items():
        cpu, process, events, peak = ours(strategy, seconds)
        longer = [ours(strategy, times * seconds)[-1] for times in (4, 10)]
        ns = programs.run(theirs, webs=WEBS, ftps=FTPS, seconds=seconds).cpu_seconds
        cells = [
            f"{1000 * ns / seconds:.1f}",
            f"{1000 * cpu / seconds:.3f}",
            f"{ns / cpu:.0f}",
            f"{ns / process:.0f}",
        ]
        cells += [f"{events / cpu:,.0f}", f"{peak:.0f}", *(f"{one:.0f}" for one in longer)]
        print(f"| {theirs} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
