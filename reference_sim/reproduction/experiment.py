"""Experiments: the simulations that a claim needs, and their judgement.

An experiment is data and two pure functions: ``runs`` lists the simulations, ``judge`` reads the results. The
runner simulates on all cores and keeps the measurements: a second call simulates nothing. The scenario and
the measure must therefore describe a run completely.
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

#: Function that reads figures from a finished simulation. Worker processes import it by name, so it is at the
#: top level of a module.
Measure: TypeAlias = "Callable[[Simulation], Mapping[str, float]]"


@dataclass(frozen=True, kw_only=True, slots=True)
class Effort:
    """Amount of simulation."""

    #: Repetitions of random runs; deterministic runs are made once.
    seeds: int = 5
    #: Limit for all claims in two minutes: fewer cells, shorter runs, two seeds.
    quick: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """One simulation."""

    #: Label for :class:`Results`; repetitions with other seeds share it.
    label: str
    scenario: Scenario
    measure: Measure


@dataclass(frozen=True, slots=True)
class Results:
    """Measurements by label and quantity."""

    measured: Mapping[str, Sequence[Mapping[str, float]]] = field(default_factory=dict)

    def of(self, label: str, quantity: str) -> tuple[float, ...]:
        """Return the quantity in every repetition."""
        return tuple(one[quantity] for one in self.measured[label])

    def mean(self, label: str, quantity: str) -> Mean:
        """Return the mean over the repetitions, with its 95 % interval."""
        return mean(self.of(label, quantity))

    def value(self, label: str, quantity: str) -> float:
        """Return the mean over the repetitions, without the interval."""
        return self.mean(label, quantity).value

    def of_seed(self, number: int, seeds: int) -> Results:
        """Return the results of one seed, from 0; a label that seeds do not divide evenly stays whole.

        An experiment repeats a label once per seed, or a fixed number of consecutive times per seed.
        """

        def own(values: Sequence[Mapping[str, float]]) -> Sequence[Mapping[str, float]]:
            each, rest = divmod(len(values), seeds)
            return values if rest or not each else values[number * each : (number + 1) * each]

        return Results({label: own(values) for label, values in self.measured.items()})


# Student's t, two-sided, 95 %, by degrees of freedom; beyond 30, the normal distribution's value.
_T95: Final = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
_NORMAL95: Final = 1.960


def mean(values: Iterable[float]) -> Mean:
    """Return the mean and its 95 % interval by Student's t; a single value has no interval."""
    known = tuple(values)
    middle = statistics.fmean(known)
    freedom = len(known) - 1
    if freedom == 0:
        return Mean(middle)
    half = (_T95[freedom - 1] if freedom <= len(_T95) else _NORMAL95) * statistics.stdev(known) / sqrt(len(known))
    return Mean(middle, low=middle - half, high=middle + half)


@dataclass(frozen=True, kw_only=True, slots=True)
class Experiment:
    """Experiment for one claim."""

    #: The claim's name, ``"G1"``.
    claim: str
    #: Simulations to run; none if the claim is only calculated.
    runs: Callable[[Effort], Iterable[Run]]
    #: Comparison with the published figures, and the verdict.
    judge: Callable[[Results], Judgement]
    #: Knobs of :class:`~reference_sim.stack.Stack` that the claim studies: a substituted stack keeps them.
    studies: frozenset[str] = frozenset()
    #: A single seed can be judged. False if repetitions differ in more than their seed.
    judges_single_seeds: bool = True
    #: Charts by title: the paper's figure, ours with the published values beside.
    charts: Callable[[Results], Mapping[str, alt.TopLevelMixin]] | None = None
