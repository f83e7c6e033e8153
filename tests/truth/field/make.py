"""Maker of the captures and their sidecars: ``python -m tests.truth.field.make --out DIR [--only GLOB]``.

Root is needed for network namespaces and TAP devices. Mostly silent runs run concurrently at the end, all
others one by one, so that they do not disturb each other's times.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Final

from .kinds import all_scenarios
from .sidecar import sidecar_of
from .testbed import run

if TYPE_CHECKING:
    from .scenario import Scenario

__all__ = ["main", "make"]

_QUIET_AT_A_TIME: Final = 6
#: A run with a longer gap between polls, or with packets lost by tcpdump, is repeated once.
_GAP_MAX_NS: Final = 15_000_000


def make(scenario: Scenario, out: Path) -> list[Path]:
    """Run a scenario; return the sidecars of its captures."""
    done, folder = run(scenario)
    if max((end - start for start, end in done.gaps()), default=0) > _GAP_MAX_NS or not done.has_every_packet():
        folder.cleanup()
        done, folder = run(scenario)
    sidecars = []
    with folder:
        for point in scenario.points:
            sidecar = sidecar_of(done, point)
            shutil.copyfile(done.capture(point), out / sidecar["capture"])
            path = out / f"{sidecar['name']}.json"
            path.write_text(json.dumps(sidecar, indent=1))
            sidecars.append(path)
    return sidecars


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.truth.field.make", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    parser.add_argument("--only", default="*", metavar="GLOB", help="scenarios by name")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    chosen = [each for each in all_scenarios() if fnmatch.fnmatch(each.name, options.only)]
    made = 0
    for scenario in (each for each in chosen if not each.is_quiet):
        made += len(make(scenario, options.out))
        print(scenario.name, flush=True)
    with ThreadPoolExecutor(_QUIET_AT_A_TIME) as pool:
        quiet = [each for each in chosen if each.is_quiet]
        for scenario, paths in zip(quiet, pool.map(lambda each: make(each, options.out), quiet), strict=True):
            made += len(paths)
            print(scenario.name, flush=True)
    print(f"{len(chosen)} runs, {made} captures")
    return 0 if made else 2


if __name__ == "__main__":
    sys.exit(main())
