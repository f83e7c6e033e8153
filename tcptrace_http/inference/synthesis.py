"""What no single packet tells is found by running what it can be, and laying the runs beside the capture.

Each candidate is simulated on the inferred path. The one whose packets are nearest is taken; those that
are as near make the same packets with this page on this path: the capture cannot tell them apart, and
says so.
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

# A run that is further off on average, as a part of the page time, does not retell the capture: what is
# particular to it is not told by it.
_FAR: Final = 0.01
# On a busy machine all runs are that far off: up to here one does retell the capture, if all others are so many
# times as far off.
_NOISY: Final = 0.05
_TIMES: Final = 3.0
# Runs whose packets are so near to the best run's, as a part of the retrieval, are as near as it.
_ALIKE: Final = 2e-5
# Of runs that are all further off, those within this part of the best are as near.
_ALIKE_OF_BEST: Final = 0.02
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Match(Generic[_T]):
    """The candidate whose run is nearest to a capture."""

    best: _T
    #: Mean distance of its packets from the captured ones, as a part of the retrieval.
    off: float
    #: The others that the capture does not tell from it.
    alike: tuple[_T, ...]
    #: All, the nearest first.
    ranked: tuple[_T, ...]
    #: How far off the nearest one is that is not alike; None: there is no such one.
    next_off: float | None = None

    @property
    def candidates(self) -> int:
        """How many were run."""
        return len(self.ranked)

    @property
    def is_told(self) -> bool:
        """The nearest run retells the capture, or would but for noise."""
        if self.off <= _FAR:
            return True
        return self.off <= _NOISY and self.next_off is not None and self.next_off >= _TIMES * self.off

    @property
    def confidence(self) -> float:
        """1: the run is the capture, and no other is; less, the further off and the more alike."""
        return max(1 - 5 * self.off, 0.1) / (1 + len(self.alike))


def is_alike(off: float, least: float) -> bool:
    """Whether a run that is so far off is no further than the nearest one, as far as a capture tells."""
    return off <= least * (1 + _ALIKE_OF_BEST) + _ALIKE


def nearest_run(observed: Observed, candidates: Sequence[_T], scenario_of: Callable[[_T], Scenario]) -> Match[_T]:
    """The candidate whose run is nearest; of those that are alike, the first.

    :raises ValueError: there is no candidate.
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
