"""Comparison of candidate runs with the capture, for facts that no single packet shows.

Each candidate is simulated on the inferred path. The candidate with the nearest packets is taken. Equally
near candidates make the same packets for this page and path: the capture cannot distinguish them, and the
result lists them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from tcptrace_http.inference.timeline import distance_of, timeline_of_run

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from reference_sim.scenario import Scenario
    from tcptrace_http.inference.observed import Observed

__all__ = ["Match", "is_alike", "nearest_run"]

# Maximum mean distance, as a share of the page time, of a run that matches the capture. A farther run proves
# none of its properties.
_FAR: Final = 0.01
# Maximum distance of a match on a busy machine, if all other runs are farther by the factor.
_NOISY: Final = 0.05
_TIMES: Final = 3.0
# Maximum difference to the best run, as a share of the retrieval, for equally near runs.
_ALIKE: Final = 2e-5
# The same relative to the best distance, if all runs are farther.
_ALIKE_OF_BEST: Final = 0.02
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Match(Generic[_T]):
    """Candidate with the run nearest to a capture."""

    best: _T
    #: Mean distance of its packets from the captured ones, as a share of the retrieval.
    off: float
    #: Other candidates that the capture does not distinguish.
    alike: tuple[_T, ...]
    #: All candidates, nearest first.
    ranked: tuple[_T, ...]
    #: Distance of the nearest candidate that is distinguishable; None without one.
    next_off: float | None = None

    @property
    def candidates(self) -> int:
        """Return the number of candidates that were run."""
        return len(self.ranked)

    @property
    def is_conclusive(self) -> bool:
        """Return whether the nearest run matches the capture, apart from noise."""
        if self.off <= _FAR:
            return True
        return self.off <= _NOISY and self.next_off is not None and self.next_off >= _TIMES * self.off

    @property
    def confidence(self) -> float:
        """Return the confidence: 1 for an exact and unique match, less with distance and with alternatives."""
        return max(1 - 5 * self.off, 0.1) / (1 + len(self.alike))


def is_alike(off: float, least: float) -> bool:
    """Return whether a capture cannot distinguish a run with this distance from the nearest run."""
    return off <= least * (1 + _ALIKE_OF_BEST) + _ALIKE


def nearest_run(observed: Observed, candidates: Sequence[_T], scenario_of: Callable[[_T], Scenario]) -> Match[_T]:
    """Return the candidate with the nearest run; among equals, the first.

    :raises ValueError: no candidate was given.
    """
    scores = [distance_of(observed, timeline_of_run(scenario_of(candidate))) for candidate in candidates]
    least = min(scores)
    alike = [candidate for candidate, score in zip(candidates, scores, strict=True) if is_alike(score, least)]
    ranked = [candidates[place] for _, place in sorted((score, place) for place, score in enumerate(scores))]
    others = [score for score in scores if not is_alike(score, least)]
    return Match(
        best=alike[0],
        off=least,
        alike=tuple(alike[1:]),
        ranked=tuple(ranked),
        next_off=min(others, default=None),
    )
