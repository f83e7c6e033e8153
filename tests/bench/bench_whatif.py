"""Time of ``whatif`` with all fixes and strategies on a page of 50 objects.

``python tests/bench/bench_whatif.py [--jobs N]`` simulates the capture of a page of 0.8 MB over four
connections, and prints wall and CPU seconds of the whole command, the share of the inference, and the peak
memory.
"""

from __future__ import annotations

import argparse
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from reference_sim.networks import path
from reference_sim.page import Constant, Page, objects_of
from reference_sim.simulation import simulate
from reference_sim.workloads import retrieval
from tcptrace_http.analysis import analyze
from tcptrace_http.inference import NEEDED_TABLES, infer

_OBJECTS: Final = 50
_MS: Final = 1_000_000
_RUN: Final = "from tcptrace_http.cli.main import main; main()"


def capture() -> bytes:
    """Return the page's retrieval, as its client captures it."""
    draw = random.Random(3)
    sizes = [draw.randint(300, 30_000) for _ in range(_OBJECTS - 1)]
    scenario = retrieval(
        strategy="http10-keep-alive-x4",
        page=Page(name="bench", objects=objects_of(40_000, *sizes)),
        network=path("bench", rate=10_000_000, delay=10 * _MS),
        client_stack="linux-6",
        processing=Constant(value=3 * _MS),
        parse=_MS,
    )
    return simulate(scenario).pcap()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=2, help="simulations at once (default: %(default)s)")
    jobs = parser.parse_args().jobs
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "page.pcap"
        file.write_bytes(capture())
        started = time.process_time()
        infer(analyze(file, tables=NEEDED_TABLES))
        inference = time.process_time() - started
        arguments = [
            "whatif",
            "--fix",
            "all",
            "--strategy",
            "all",
            "--jobs",
            str(jobs),
            "-o",
            f"{folder}/out",
            file,
        ]
        begin = time.monotonic()
        subprocess.run([sys.executable, "-c", _RUN, *map(str, arguments)], check=True)
        wall = time.monotonic() - begin
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = used.ru_utime + used.ru_stime
    print(f"{wall:.1f} s, {cpu:.1f} s of CPU, {inference:.1f} s of it inference; {used.ru_maxrss / 1000:.0f} MB")


if __name__ == "__main__":
    main()
