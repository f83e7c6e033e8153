"""Report on the comparisons with other programs: differences and reasons.

``python -m tests.differential.report CAPTURES_DIR``; the exit code is 1 if a difference is unexplained.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Final

from . import h11_peer, packet_fields, tcptrace_oracle, tshark_peer
from .comparison import Comparison, merged, reasons

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["PEERS", "captures_in", "compare_all", "main"]

#: Every peer: function that compares a capture (path, name in the folder).
PEERS: Final[dict[str, Callable[[Path, str], Comparison]]] = {
    tshark_peer.PEER: tshark_peer.compare,
    tcptrace_oracle.PEER: tcptrace_oracle.compare,
    h11_peer.PEER: h11_peer.compare,
    packet_fields.PEER: packet_fields.comparison,
}
#: Files beside captures; and the second capture of a connection, taken at the server.
_NO_CAPTURES: Final = frozenset((".json", ".md", ".py", ".txt", ".toml"))
#: Each process runs a peer: more processes would only wait for each other.
_PROCESSES: Final = 2


def captures_in(folder: Path) -> list[Path]:
    """Return the captures in a folder, in order."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return [path for path in files if path.suffix not in _NO_CAPTURES and "oracle" not in path.parts]


def compare_all(folder: Path, names: tuple[str, ...] = tuple(PEERS)) -> list[Comparison]:
    """Compare every capture in the folder with the named peers; return the sums."""
    paths = captures_in(folder)
    tasks = [(name, path, str(path.relative_to(folder))) for name in names for path in paths]
    # Spawn: a forked process would deadlock on polars' threads.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(_PROCESSES, mp_context=context) as pool:
        return merged(pool.map(_compare, *zip(*tasks, strict=True), chunksize=8))


def _compare(name: str, path: Path, relative: str) -> Comparison:
    return PEERS[name](path, relative)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="report", description=__doc__)
    parser.add_argument("captures", type=Path, help="folder of captures")
    parser.add_argument("--peer", action="append", choices=sorted(PEERS), help="only this one")
    chosen = parser.parse_args(arguments)
    os.nice(10)
    comparisons = compare_all(chosen.captures, tuple(chosen.peer or PEERS))
    for comparison in comparisons:
        _show(comparison)
    return int(any(comparison.unexplained for comparison in comparisons))


def _show(comparison: Comparison) -> None:
    print(f"{comparison.peer}")
    print("  compared: " + ", ".join(f"{count:,} {what}" for what, count in comparison.compared.items()))
    explanations = {entry.reason: " ".join(entry.explanation.split()) for entry in reasons(comparison.peer)}
    print(f"  disagreements: {sum(comparison.disagreements.values()):,} cells")
    for reason, cells in sorted(comparison.disagreements.items(), key=lambda item: -item[1]):
        print(f"    {cells:8,}  {reason}: {explanations.get(reason, 'the limit of the peer that it names')}")
    print(f"  unexplained: {comparison.unexplained}")
    for text in comparison.examples:
        print(f"    {text}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
