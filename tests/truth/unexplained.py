"""Elapsed time by cause: ``python -m tests.truth.unexplained FOLDER…``.

Every capture of the folders (or of their ``kernel`` folder) counts, with a sidecar or without. A cause's
share is relative to the elapsed time of all transactions. The exit code is 0 if less than 2 % is
``unexplained``. ``unobserved`` is reported, but is no fault of the analysis. ``--all`` lists every capture,
not only the worst.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Final

from .partition import Shares, of_all
from .table import kernel_folder

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["main"]

#: Required limit for the kernel captures in total.
UNEXPLAINED_MAX: Final = 0.02
_UNEXPLAINED: Final = "unexplained"
_UNOBSERVED: Final = "unobserved"
_WORST: Final = 15


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.truth.unexplained", description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--all", action="store_true", help="every capture, not only the worst")
    options = parser.parse_args(arguments)
    paths = [
        path
        for folder in options.folders
        for path in sorted(kernel_folder(folder).rglob("*"))
        if path.is_file() and {".pcap", ".pcapng", ".cap"} & set(path.suffixes)
    ]
    shares = of_all(paths)
    total: dict[str, float] = defaultdict(float)
    for share in shares:
        for cause, ms in share.by_cause().items():
            total[cause] += ms
    elapsed = sum(total.values())
    if not elapsed:
        print("no transaction in any capture", file=sys.stderr)
        return 2
    print("\n".join(_by_cause(total, elapsed)))
    print("\n".join(["", *_by_capture(shares, everything=options.all)]))
    unexplained = total[_UNEXPLAINED] / elapsed
    print(f"\n{len(shares)} captures, {elapsed / 1000:.1f} s elapsed; unexplained {unexplained:.2%}, asked < 2 %")
    return 0 if unexplained < UNEXPLAINED_MAX else 1


def _by_cause(total: dict[str, float], elapsed: float) -> Iterable[str]:
    yield "| cause | s | share |"
    yield "|---|---|---|"
    for cause, ms in sorted(total.items(), key=lambda item: -item[1]):
        yield f"| {cause} | {ms / 1000:.3f} | {ms / elapsed:.2%} |"


def _by_capture(shares: Iterable[Shares], *, everything: bool) -> Iterable[str]:
    yield "| capture | elapsed, ms | unexplained | unobserved | longest unexplained |"
    yield "|---|---|---|---|---|"
    rows = []
    for share in shares:
        by_cause = share.by_cause()
        elapsed = sum(by_cause.values())
        rows.append((by_cause.get(_UNEXPLAINED, 0.0), elapsed, by_cause.get(_UNOBSERVED, 0.0), share))
    rows.sort(key=lambda row: -row[0])
    for unexplained, elapsed, unobserved, share in rows if everything else rows[:_WORST]:
        if share.failure:
            yield f"| {share.path.name} | {share.failure} | | | |"
        elif elapsed:
            lost, blind = unexplained / elapsed, unobserved / elapsed
            yield f"| {share.path.name} | {elapsed:.1f} | {lost:.2%} | {blind:.2%} | {_longest(share)} |"


def _longest(share: Shares) -> str:
    own = [
        (part.ms, key, part) for key, parts in share.parts.items() for part in parts if part.cause == _UNEXPLAINED
    ]
    if not own:
        return ""
    ms, key, part = max(own, key=lambda each: each[0])
    return f"{ms:.1f} ms, port {key[0]} transaction {key[2]}, frames {part.first_frame}-{part.last_frame}"


if __name__ == "__main__":
    sys.exit(main())
