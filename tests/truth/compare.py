"""Comparison of the analyser's findings with the truth of a capture."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .kernel_truth import RESTART, SHORT_FINAL, SHORT_INITIAL, TOLERANCE_MS, UNLISTED_MS, Stall

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Comparison", "Finding", "compare", "findings_by_api", "findings_by_cli"]

_NAMED = (SHORT_INITIAL, SHORT_FINAL, RESTART)


@dataclass(frozen=True, slots=True)
class Finding:
    """Compared fields of a finding in the JSON contract."""

    detector: str
    cause: str | None
    severity: str
    first_frame: int
    last_frame: int
    lost_ms: float

    @property
    def claims_a_loss(self) -> bool:
        """Whether the finding is structure alone (``info``, no lost time), which makes no refutable claim."""
        return self.lost_ms > 0 or self.severity != "info"


@dataclass(slots=True)
class Comparison:
    """Right, missed and wrong findings of one capture."""

    found: list[tuple[Stall, Finding]] = field(default_factory=list)
    missed: list[Stall] = field(default_factory=list)
    wrong: list[tuple[Finding, str]] = field(default_factory=list)
    #: Reason of a failed analysis, which has no findings.
    failure: str = ""

    @property
    def is_right(self) -> bool:
        return not self.missed and not self.wrong and not self.failure

    @property
    def largest_error_ms(self) -> float:
        return max((abs(stall.error_ms(f.lost_ms)) for stall, f in self.found), default=0.0)


def compare(truth: Iterable[Stall], findings: Iterable[Finding], *, nagle: bool = False) -> Comparison:
    """Pair each finding with the stall whose released frame it covers, and judge the remaining findings.

    ``nagle`` says that the server runs Nagle's algorithm. Such a server has holds too short for the sidecars:
    a finding of such a hold is neither right nor wrong.
    """
    result = Comparison()
    open_stalls = list(truth)
    for finding in findings:
        if finding.detector not in _NAMED or not finding.claims_a_loss:
            continue
        stall = _best_match(open_stalls, finding)
        if stall is None and nagle and finding.detector != RESTART and finding.lost_ms < UNLISTED_MS:
            continue
        if stall is None:
            result.wrong.append((finding, "nothing was held there"))
            continue
        fault = _fault(stall, finding)
        if fault:
            result.wrong.append((finding, fault))
            continue
        open_stalls.remove(stall)
        result.found.append((stall, finding))
    # Stalls in the middle of responses have other names; ``rules_segments`` has their rule.
    result.missed = [stall for stall in open_stalls if stall.required and stall.detector in _NAMED]
    return result


def _best_match(stalls: list[Stall], finding: Finding) -> Stall | None:
    """Return the best stall in the finding's frames: by name, then by the closest loss."""
    within = [s for s in stalls if _overlap(s, finding)]
    return min(
        within,
        key=lambda s: (s.detector != finding.detector, abs(s.error_ms(finding.lost_ms))),
        default=None,
    )


def _overlap(stall: Stall, finding: Finding) -> bool:
    if RESTART in (stall.detector, finding.detector):
        # A restart belongs to the whole response; the detector may choose its frames.
        return (
            stall.detector == finding.detector
            and finding.first_frame <= stall.released_frame
            and finding.last_frame >= stall.first_frame
        )
    return finding.first_frame <= stall.released_frame <= finding.last_frame


def _fault(stall: Stall, finding: Finding) -> str:
    """Return why a finding on this stall is wrong; empty if right."""
    if finding.detector != stall.detector and stall.required:
        return f"is {stall.detector}"
    if finding.cause and stall.cause and finding.cause != stall.cause and stall.required:
        return f"the cause is {stall.cause}"
    error = stall.error_ms(finding.lost_ms)
    if abs(error) > TOLERANCE_MS:
        return f"the loss is {stall.low_ms:.1f} to {stall.high_ms:.1f} ms"
    return ""


def findings_by_cli(path: Path) -> list[Finding]:
    """Return the findings of ``tcptrace-http analyze --format json``."""
    program = Path(sys.executable).with_name("tcptrace-http")
    command = [str(program), "analyze", str(path), "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return findings_of(json.loads(done.stdout))


def findings_by_api(path: Path) -> list[Finding]:
    """Return the findings of ``tcptrace_http.analyze``, without starting a process."""
    import tcptrace_http

    rows = tcptrace_http.analyze(path).findings.iter_rows(named=True)
    return [
        Finding(
            row["detector"],
            row["cause"],
            row["severity"],
            row["first_frame"],
            row["last_frame"],
            row["lost"].total_seconds() * 1000,
        )
        for row in rows
    ]


def findings_of(document: dict[str, Any]) -> list[Finding]:
    """Return the findings in a JSON document of the contract."""
    return [
        Finding(
            row["detector"],
            row.get("cause"),
            row["severity"],
            row["first_frame"],
            row["last_frame"],
            row["lost_ns"] / 1e6,
        )
        for row in document["findings"]
    ]
