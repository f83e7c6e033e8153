"""Findings of a capture against the rules."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .kernel_truth import captures_of
from .rules import RULES, truth_by_detector
from .scene import Place, Scene, Truth

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from .kernel_truth import Capture

__all__ = ["Claim", "Judgement", "claims_of", "examine", "judge"]


@dataclass(frozen=True, slots=True)
class Claim:
    """Finding with the client's port in place of the flow's number."""

    detector: str
    severity: str
    client_port: int | None
    transaction: int | None
    first_frame: int | None
    last_frame: int | None
    lost_ms: float
    summary: str
    confidence: float = 1.0

    @property
    def claims_a_loss(self) -> bool:
        return self.lost_ms > 0 or self.severity != "info"

    def is_at(self, place: Place) -> bool:
        """Return whether both may be the same: an absent field matches every value."""
        if None not in (place.client_port, self.client_port) and place.client_port != self.client_port:
            return False
        if None not in (place.transaction, self.transaction) and place.transaction != self.transaction:
            return False
        if place.first_frame is None or place.last_frame is None or self.first_frame is None:
            return True
        last = self.first_frame if self.last_frame is None else self.last_frame
        return self.first_frame <= place.last_frame and last >= place.first_frame


@dataclass(slots=True)
class Judgement:
    """Right, missed and wrong findings of a detector in one capture."""

    has_case: bool = False
    right: list[Claim] = field(default_factory=list)
    wrong: list[Claim] = field(default_factory=list)
    found: int = 0
    missed: list[tuple[Place, ...]] = field(default_factory=list)


def judge(truth: Truth, claims: Iterable[Claim], *, costs: bool = True) -> Judgement:
    """Judge the findings; with ``costs``, structure without cost is neither right nor wrong."""
    result = Judgement(has_case=bool(truth.must))
    counted = [claim for claim in claims if claim.claims_a_loss or not costs]
    for claim in counted:
        if any(claim.is_at(place) for places in truth.must for place in places):
            result.right.append(claim)
        elif not any(claim.is_at(place) for place in truth.may):
            result.wrong.append(claim)
    for places in truth.must:
        if any(claim.is_at(place) for claim in counted for place in places):
            result.found += 1
        else:
            result.missed.append(places)
    return result


def claims_of(path: Path) -> list[Claim]:
    """Return the findings of ``tcptrace_http.analyze``."""
    import tcptrace_http

    analysis = tcptrace_http.analyze(path)
    ports = dict(analysis.flows.select("flow", "client_port").iter_rows())
    return [
        Claim(
            row["detector"],
            row["severity"],
            ports.get(row["flow"]),
            row["transaction"],
            row["first_frame"],
            row["last_frame"],
            row["lost"].total_seconds() * 1000,
            row["summary"],
            row["confidence"],
        )
        for row in analysis.findings.iter_rows(named=True)
    ]


def examine(folders: Iterable[Path]) -> list[tuple[Capture, dict[str, Judgement]]]:
    """Judge each detector on every capture with a sidecar in the folders."""
    captures = [capture for folder in folders for capture in captures_of(folder)]
    # Spawn: a forked process would deadlock on polars' threads.
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        return list(zip(captures, pool.map(_examine, captures, chunksize=4), strict=True))


def _examine(capture: Capture) -> dict[str, Judgement]:
    claims = claims_of(capture.path)
    return {
        name: judge(truth, [claim for claim in claims if claim.detector == name], costs=RULES[name].costs)
        for name, truth in truth_by_detector(Scene(capture)).items()
    }
