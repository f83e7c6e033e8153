"""Table of findings in captures without a known truth: ``python -m tests.truth.public_table FOLDER…``.

A folder holds captures, or has a folder ``public`` that does. The table counts findings by detector.
``--choose N`` (ten) selects random findings (``--seed``) for manual checks, each with the tshark command that
shows its packets. ``--detector NAME`` and ``--severity WORD`` restrict the selection.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import shlex
import sys
from collections import Counter, defaultdict
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Found", "found_in", "main"]

_SUFFIXES: Final = frozenset({".pcap", ".pcapng", ".cap", ".dmp", ".trc"})
#: Packets shown before and after a finding's own.
_CONTEXT: Final = 3
_FIELDS: Final = (
    "frame.number frame.time_relative ip.src tcp.srcport tcp.flags.str tcp.seq tcp.len tcp.ack"
    " tcp.window_size http.request.uri http.response.code"
).split()


@dataclass(frozen=True, slots=True)
class Found:
    """Finding with the data for a manual check."""

    path: str
    detector: str
    severity: str
    flow: int | None
    transaction: int | None
    first_frame: int | None
    last_frame: int | None
    lost_ms: float
    confidence: float
    summary: str

    def command(self) -> str:
        """Return the tshark command that shows the packets of the finding's flow from first to last frame."""
        parts = [f"tcp.stream == {self.flow}"] if self.flow is not None else ["tcp"]
        if self.first_frame is not None:
            last = self.first_frame if self.last_frame is None else self.last_frame
            parts.append(f"frame.number >= {max(1, self.first_frame - _CONTEXT)}")
            parts.append(f"frame.number <= {last + _CONTEXT}")
        fields = " ".join(f"-e {field}" for field in _FIELDS)
        return f"tshark -n -r {shlex.quote(self.path)} -Y {shlex.quote(' && '.join(parts))} -T fields {fields}"


def found_in(path: Path) -> list[Found] | str:
    """Return the findings of a capture, or the reason why it could not be read."""
    import tcptrace_http
    from tcptrace_http.errors import TcptraceError

    try:
        rows = tcptrace_http.analyze(path).findings.iter_rows(named=True)
    except TcptraceError as error:
        return f"{path.name}: {error}"
    return [
        Found(
            str(path),
            row["detector"],
            row["severity"],
            row["flow"],
            row["transaction"],
            row["first_frame"],
            row["last_frame"],
            row["lost"].total_seconds() * 1000,
            row["confidence"],
            row["summary"],
        )
        for row in rows
    ]


def main(arguments: list[str] | None = None) -> int:
    options = _options(arguments)
    folders = [folder / "public" if (folder / "public").is_dir() else folder for folder in options.folders]
    paths = sorted(path for folder in folders for path in folder.rglob("*") if path.suffix in _SUFFIXES)
    if not paths:
        print("no captures", file=sys.stderr)
        return 2
    # Spawn: a forked process would deadlock on polars' threads.
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        results = list(pool.map(found_in, paths, chunksize=4))
    unread = [result for result in results if isinstance(result, str)]
    found = [each for result in results if not isinstance(result, str) for each in result]
    print("\n".join(_table(found)))
    print(f"\n{len(paths)} captures, {len(unread)} could not be read, {len(found)} findings\n")
    candidates = [
        each
        for each in found
        if options.detector in {None, each.detector} and options.severity in {None, each.severity}
    ]
    chosen = random.Random(options.seed).sample(candidates, min(options.choose, len(candidates)))
    print("\n".join(line for number, each in enumerate(chosen, start=1) for line in _shown(number, each)))
    return 0


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.truth.public_table", description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--choose", type=int, default=10, metavar="N")
    parser.add_argument("--seed", type=int, default=1996)
    parser.add_argument("--detector", metavar="NAME")
    parser.add_argument("--severity", choices=("info", "warning", "error"))
    return parser.parse_args(arguments)


def _table(found: Iterable[Found]) -> Iterable[str]:
    by_detector: dict[str, list[Found]] = defaultdict(list)
    for each in found:
        by_detector[each.detector].append(each)
    yield "| detector | captures | error | warning | info | lost in sum, ms | longest, ms |"
    yield "|---|---|---|---|---|---|---|"
    for name, own in sorted(by_detector.items()):
        severities = Counter(each.severity for each in own)
        counts = " | ".join(str(severities[word]) for word in ("error", "warning", "info"))
        lost = [each.lost_ms for each in own]
        yield f"| {name} | {len({each.path for each in own})} | {counts} | {sum(lost):.1f} | {max(lost):.1f} |"


def _shown(number: int, each: Found) -> Iterable[str]:
    yield f"{number}. {each.detector} {each.severity} {each.lost_ms:.1f} ms, confidence {each.confidence:.2f}"
    where = f"flow {each.flow} transaction {each.transaction} frames {each.first_frame}-{each.last_frame}"
    yield f"   {Path(each.path).name} {where}"
    yield f"   {each.summary}"
    yield f"   {each.command()}"


if __name__ == "__main__":
    sys.exit(main())
