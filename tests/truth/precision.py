"""Precision and recall of every detector: ``python -m tests.truth.precision FOLDER…``.

A folder holds captures with sidecars, like the kernel captures and those of ``tests/truth/scenarios``, or has a
folder ``kernel`` that does. ``rules`` has the truth, and its docstrings explain its derivation. ``--derived``
adds the captures of ``derived``. A detector with fewer than five cases is marked: its figures say little.
``--detector NAME`` lists every wrong finding and every miss of one detector, ``--list`` of all.

A case is a capture with at least one required finding of the detector. Precision counts findings: findings at
required places against findings at places neither required nor permitted. Recall counts places.

Sidecar
-------
``NAME.json`` beside ``NAME.pcap`` needs ``name``, ``capture``, ``port`` and ``observed`` (a mapping, possibly
empty). The rules read these further fields if present:

- ``capture_server_side`` (file), ``server`` (``software``, ``args``, ``think_ms``)
- ``client`` (``mode``, ``rcvbuf``, ``split``, ``post_sep``, ``nodelay``)
- ``link`` (``kind``, ``rtt_ms``, ``rate``)
- ``kernel`` (``route_server``, ``sysctl_server``), ``mib_counters``
- ``server_tcp_info``, ``server_truth_holds``, ``verdict.measured.kernel_cwnd_restarts_after_idle``
- ``emulator``: ``drops`` (``t``, ``dir``, ``why``, ``sport``, ``dport``, ``seq_raw``, ``payload``) and
  ``summary`` (``down.queue_delay_max_ms``)

Alternatively, the sidecar states the truth itself. ``truth`` has, per detector, ``must`` (lists of alternative
places) and ``may`` (places). A place has ``client_port`` and ``transaction``, or one of them, or neither.
``judged`` lists the detectors that the truth covers.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from .derived import write_derived
from .judge import Judgement, examine
from .rules import RULES
from .table import kernel_folder

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .kernel_truth import Capture

__all__ = ["Score", "main", "scores"]

#: With fewer cases, a figure is anecdotal.
_CASES_MIN: Final = 5

_Results = list[tuple["Capture", dict[str, Judgement]]]


@dataclass(slots=True)
class Score:
    """Figures of a detector over several captures."""

    cases: int = 0
    right: int = 0
    wrong: int = 0
    found: int = 0
    missed: int = 0
    listing: list[str] = field(default_factory=list)

    @property
    def precision(self) -> float | None:
        return self.right / (self.right + self.wrong) if self.right + self.wrong else None

    @property
    def recall(self) -> float | None:
        return self.found / (self.found + self.missed) if self.found + self.missed else None


def scores(results: _Results) -> dict[str, Score]:
    found = {name: Score() for name in RULES}
    for capture, judgements in results:
        for name, judgement in judgements.items():
            score = found[name]
            score.cases += judgement.has_case
            score.right += len(judgement.right)
            score.wrong += len(judgement.wrong)
            score.found += judgement.found
            score.missed += len(judgement.missed)
            score.listing += _faults(capture, judgement)
    return found


def _faults(capture: Capture, judgement: Judgement) -> Iterable[str]:
    for claim in judgement.wrong:
        where = f"port {claim.client_port} transaction {claim.transaction}"
        frames = f"frames {claim.first_frame}-{claim.last_frame}"
        cost = f"{claim.severity} {claim.lost_ms:.1f} ms"
        yield f"{capture.name}: WRONG {where} {frames} {cost}: {claim.summary}"
    for places in judgement.missed:
        more = f" or {len(places) - 1} more" if len(places) > 1 else ""
        yield f"{capture.name}: MISSED {places[0]}{more}"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.truth.precision", description=__doc__)
    default = os.environ.get("TCPTRACE_HTTP_CAPTURES")
    parser.add_argument("folders", type=Path, nargs="*", default=[Path(default)] if default else [])
    parser.add_argument("--derived", action="store_true", help="captures cut and edited from the kernel's, too")
    parser.add_argument("--detector", metavar="NAME")
    parser.add_argument("--list", action="store_true", help="every wrong finding and every miss")
    options = parser.parse_args(arguments)
    folders = [kernel_folder(folder) for folder in options.folders]
    with tempfile.TemporaryDirectory() as made:
        if options.derived:
            write_derived(folders, Path(made))
            folders.append(Path(made))
        results = examine(folders)
    if not results:
        print("no capture with a sidecar", file=sys.stderr)
        return 2
    found = scores(results)
    print("\n".join(_table(found)))
    for name, score in found.items():
        if score.listing and (options.list or options.detector == name):
            print("\n".join([f"\n{name}", *(f"  {line}" for line in score.listing)]))
    return 0


def _table(found: dict[str, Score]) -> Iterable[str]:
    yield "| detector | cases | right | wrong | places missed | precision | recall | opinion |"
    yield "|---|---|---|---|---|---|---|---|"
    for name, score in found.items():
        few = " (few)" if score.cases < _CASES_MIN else ""
        places = f"{score.missed}/{score.found + score.missed}"
        yield (
            f"| {name} | {score.cases}{few} | {score.right} | {score.wrong} | {places}"
            f" | {_share(score.precision)} | {_share(score.recall)} | {RULES[name].opinion} |"
        )


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


if __name__ == "__main__":
    sys.exit(main())
