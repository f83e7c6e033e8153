"""Maker and judge of HTTP/2 captures with a known culprit: ``python -m tests.truth.http2 [--only GLOB]``.

The program needs root (network namespaces, TAP devices), nghttp2's programs, nginx and curl. A culprit's cost
is the time of its requests minus the time of its twin, the same setup without the culprit. ``--judge DIR``
judges the files kept by ``--out`` again.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from .culprits import CULPRITS
from .judge import Costs, Verdict, judged
from .run import run

if TYPE_CHECKING:
    from .culprits import Culprit

__all__ = ["main", "make", "verdicts"]


def make(culprit: Culprit, folder: Path) -> None:
    """Run a culprit and its twin; return the captures at both ends and the cost."""
    bad = run(culprit.setup, folder / "culprit")
    twin = run(culprit.twin, folder / "twin") if culprit.twin else bad
    truth = {"lost_ns": bad.took_ns - twin.took_ns, "twin_ns": twin.took_ns}
    truth["keys"] = str(bad.keys.relative_to(folder)) if bad.keys.exists() else None
    truth["captures"] = {point: str(path.relative_to(folder)) for point, path in bad.captures.items()}
    (folder / "truth.json").write_text(json.dumps(truth, indent=1))


def verdicts(culprit: Culprit, folder: Path) -> list[Verdict]:
    truth = json.loads((folder / "truth.json").read_text())
    captures = truth["captures"].items()
    keys = folder / truth["keys"] if truth["keys"] else None
    costs = Costs(truth["lost_ns"], truth["twin_ns"])
    return [judged(culprit, point, folder / path, costs, keys) for point, path in captures]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.truth.http2", description=__doc__)
    parser.add_argument("--only", default="*", metavar="GLOB", help="configurations by name")
    parser.add_argument("--out", type=Path, metavar="DIR", help="keep the captures here")
    parser.add_argument("--judge", type=Path, metavar="DIR", help="judge these, and make none")
    options = parser.parse_args(arguments)
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="http2-") as name:
        out = options.judge or options.out or Path(name)
        for culprit in (each for each in CULPRITS if fnmatch.fnmatch(each.name, options.only)):
            folder = out / culprit.name
            if not options.judge:
                make(culprit, folder)
            for verdict in verdicts(culprit, folder):
                print(verdict, flush=True)
                wrong += not verdict.is_right
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
