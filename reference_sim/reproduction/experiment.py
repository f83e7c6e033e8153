"""What a claim needs simulated, and how it is judged from the results.

An experiment is data and two pure functions: ``runs`` names what to simulate, ``judge`` reads the
results. Between them the runner simulates on all cores and keeps what was measured, so that a second
call simulates nothing: a run must therefore be described wholly by its scenario and its measure.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt
from typing import TYPE_CHECKING, Final, TypeAlias

from reference_sim.reproduction.verdict import Judgement, Mean

if TYPE_CHECKING:
    import altair as alt

    from reference_sim.scenario import Scenario
    from reference_sim.simulation import Simulation

__all__ = ["Effort", "Experiment", "Measure", "Results", "Run"]

#: Reads figures from a simulation that has run. A function at the top level of a module: worker
#: processes import it by its name.
Measure: TypeAlias = "Callable[[Simulation], Mapping[str, float]]"


@dataclass(frozen=True, kw_only=True, slots=True)
class Effort:
    """How much may be simulated."""

    #: Repetitions of what is random; what is not is run once.
    seeds: int = 5
    #: Only what two minutes allow for all claims: fewer cells, shorter runs, two seeds.
    quick: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """One simulation."""

    #: What it is of, for :class:`Results`; repetitions of one thing with other seeds share it.
    label: str
    scenario: Scenario
    measure: Measure


@dataclass(frozen=True, slots=True)
class Results:
    """What was measured, by label and quantity."""

    measured: Mapping[str, Sequence[Mapping[str, float]]] = field(default_factory=dict)

    def of(self, label: str, quantity: str) -> tuple[float, ...]:
        """The quantity in every repetition."""
        return tuple(one[quantity] for one in self.measured[label])

    def mean(self, label: str, quantity: str) -> Mean:
        """Its mean over the repetitions, with the 95 % interval of the mean."""
        return mean(self.of(label, quantity))

    def value(self, label: str, quantity: str) -> float:
        """Its mean over the repetitions, alone."""
        return self.mean(label, quantity).value

    def of_seed(self, number: int, seeds: int) -> Results:
        """What one of the seeds gave, from 0; a label that the seeds do not share out evenly stays whole.

        An experiment repeats a label once for each seed, or a fixed number of times for each seed in a row.
        """

        def own(values: Sequence[Mapping[str, float]]) -> Sequence[Mapping[str, float]]:
            each, rest = divmod(len(values), seeds)
            return values if rest or not each else values[number * each : (number + 1) * each]

        return Results({label: own(values) for label, values in self.measured.items()})


# Student's t, two-sided, 95 %, by degrees of freedom; beyond 30 the normal distribution's.
_T95: Final = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
_NORMAL95: Final = 1.960


def mean(values: Iterable[float]) -> Mean:
    """Mean and its 95 % interval by Student's t; of one value there is no interval."""
    known = tuple(values)
    middle = statistics.fmean(known)
    freedom = len(known) - 1
    if freedom == 0:
        return Mean(middle)
    half = (_T95[freedom - 1] if freedom <= len(_T95) else _NORMAL95) * statistics.stdev(known) / sqrt(len(known))
    return Mean(middle, low=middle - half, high=middle + half)


@dataclass(frozen=True, kw_only=True, slots=True)
class Experiment:
    """How one claim is shown."""

    #: The claim's name, ``"G1"``.
    claim: str
    #: What to simulate; nothing for what is only reckoned.
    runs: Callable[[Effort], Iterable[Run]]
    #: The published beside ours, and the verdict.
    judge: Callable[[Results], Judgement]
    #: Knobs of :class:`~reference_sim.stack.Stack` that the claim is about: another stack keeps them.
    studies: frozenset[str] = frozenset()
    #: Whether one seed alone can be judged. Not where repetitions differ in more than their seed.
    judges_single_seeds: bool = True
    #: The figures to draw, by title: what the paper draws, ours with the published beside it.
    charts: Callable[[Results], Mapping[str, alt.TopLevelMixin]] | None = None
