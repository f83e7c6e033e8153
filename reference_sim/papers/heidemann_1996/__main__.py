"""Command ``python -m reference_sim.papers.heidemann_1996 OUTDIR``: writes Figures 2 and 4 as pcap files."""

from __future__ import annotations

import sys
from pathlib import Path

from reference_sim.papers.heidemann_1996.printed_traces import write_figures


def main(arguments: list[str]) -> int:
    """Write the figures; return the exit code."""
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m reference_sim.papers.heidemann_1996 OUTDIR\n")
        return 2
    for path in write_figures(Path(arguments[0])):
        sys.stdout.write(f"{path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
