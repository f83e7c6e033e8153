"""Table of captures, truth and findings: ``python -m tests.truth.table CAPTURES``.

CAPTURES is the folder of the kernel captures, or its parent (default: the environment variable
TCPTRACE_HTTP_CAPTURES). ``--only PATTERN`` selects captures, ``--bad`` shows only faulty captures,
``--verbose NAME`` lists every stall and finding of one capture.
"""

from __future__ import annotations

import argparse
import fnmatch
import multiprocessing
import os
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from .compare import Comparison, Finding, compare, findings_by_api, findings_by_cli
from .kernel_truth import Capture, Stall, captures_of, runs_nagle, truth_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["kernel_folder", "main"]

_CAUSE_WORDS = {
    "stall.nagle_delayed_ack": "delayed ACK",
    "stall.nagle_hold": "hold",
    "stall.slow_start_restart": "restart",
}


def kernel_folder(folder: Path) -> Path:
    """Return the folder itself, or its ``kernel`` folder."""
    return folder / "kernel" if (folder / "kernel").is_dir() else folder


def main(arguments: list[str] | None = None) -> int:
    options = _options(arguments)
    captures = [
        capture
        for capture in captures_of(kernel_folder(options.captures))
        if fnmatch.fnmatch(capture.name, options.verbose or options.only)
    ]
    if not captures:
        print(f"no capture with a sidecar in {options.captures}", file=sys.stderr)
        return 2
    find = findings_by_cli if options.cli else findings_by_api
    # Spawn: a forked process would deadlock on polars' threads.
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        results = list(pool.map(_examine, captures, [find] * len(captures)))
    if options.verbose:
        for capture, (truth, findings, comparison) in zip(captures, results, strict=True):
            print("\n".join(_listing(capture, truth, findings, comparison)))
    else:
        print("\n".join(_table(captures, results, bad_only=options.bad)))
    return 0 if all(comparison.is_right for _, _, comparison in results) else 1


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.truth.table", description=__doc__)
    default = os.environ.get("TCPTRACE_HTTP_CAPTURES")
    parser.add_argument("captures", type=Path, nargs="?" if default else None, default=default and Path(default))
    parser.add_argument("--only", default="*", metavar="PATTERN")
    parser.add_argument("--bad", action="store_true")
    parser.add_argument("--verbose", metavar="NAME")
    parser.add_argument("--cli", action="store_true", help="run the program, not the library")
    return parser.parse_args(arguments)


_Result = tuple[list[Stall], list[Finding], Comparison]


def _examine(capture: Capture, find: Callable[[Path], list[Finding]]) -> _Result:
    truth = truth_of(capture)
    try:
        findings = find(capture.path)
    except Exception as error:  # noqa: BLE001 -- one bad capture must not hide the others
        nothing = Comparison(missed=[stall for stall in truth if stall.required], failure=str(error))
        return truth, [], nothing
    return truth, findings, compare(truth, findings, nagle=runs_nagle(capture))


def _table(captures: list[Capture], results: list[_Result], *, bad_only: bool) -> Iterable[str]:
    yield "| capture | truth | found | largest error, ms | missed | wrong |"
    yield "|---|---|---|---|---|---|"
    totals: Counter[str] = Counter()
    for capture, (truth, _, comparison) in zip(captures, results, strict=True):
        required = [stall for stall in truth if stall.required]
        found = [stall for stall, _ in comparison.found if stall.required]
        totals.update(
            captures=1,
            right=comparison.is_right,
            stalls=len(required),
            found=len(found),
            missed=len(comparison.missed),
            wrong=len(comparison.wrong),
        )
        if bad_only and comparison.is_right:
            continue
        wrong = Counter(f"{f.detector}: {why}" for f, why in comparison.wrong)
        wrong.update([comparison.failure] if comparison.failure else [])
        yield " | ".join(
            (
                f"| {capture.name}",
                _summary(required) or "none",
                _summary(found) or "none",
                f"{comparison.largest_error_ms:.1f}",
                _summary(comparison.missed),
                f"{'; '.join(f'{n} x {text}' for text, n in wrong.items())} |",
            )
        )
    yield ""
    yield ", ".join(f"{name}: {count}" for name, count in totals.items())


def _summary(stalls: list[Stall]) -> str:
    groups: dict[tuple[str, str], list[Stall]] = {}
    for stall in stalls:
        groups.setdefault((stall.detector, _CAUSE_WORDS.get(stall.cause, "any")), []).append(stall)
    return "; ".join(
        f"{len(group)} x {detector} ({words}, {min(s.low_ms for s in group):.0f}"
        f"-{max(s.high_ms for s in group):.0f} ms)"
        for (detector, words), group in groups.items()
    )


def _listing(
    capture: Capture, truth: list[Stall], findings: list[Finding], comparison: Comparison
) -> Iterable[str]:
    yield f"{capture.name}: {capture.path}"
    yield f"  meant to show {capture.sidecar['intended']}; {capture.sidecar['note']}"
    yield f"  inspection saw {capture.sidecar['verdict']['really_shows']}"
    for stall in truth:
        pairs = [finding for found, finding in comparison.found if found == stall]
        state = "found " if pairs else ("MISSED" if stall.required else "may be")
        line = (
            f"  {state} {stall.detector} {_CAUSE_WORDS.get(stall.cause, 'any')}"
            f" frames {stall.first_frame}-{stall.released_frame}"
            f" {stall.low_ms:.2f} to {stall.high_ms:.2f} ms [{stall.why}]"
        )
        yield line + "".join(f" <- {_finding_text(finding)}" for finding in pairs)
    for finding, why in comparison.wrong:
        yield f"  WRONG  {_finding_text(finding)}: {why}"
    quiet = sum(not finding.claims_a_loss for finding in findings)
    yield f"  {len(findings)} findings in all, {quiet} of them structure alone"


def _finding_text(finding: Finding) -> str:
    return (
        f"{finding.detector} {finding.cause} {finding.severity}"
        f" frames {finding.first_frame}-{finding.last_frame} {finding.lost_ms:.2f} ms"
    )


if __name__ == "__main__":
    sys.exit(main())
