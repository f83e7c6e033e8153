"""Comparison of analyses with the truth of simulated captures: ``python -m tests.simulator.agreement``.

Each scenario is random (:mod:`tests.simulator.random_scenarios`). It is simulated, and its capture at one end
is analysed. Three things are compared: the transactions (number, messages, bytes, times of both messages'
first and last bytes), the cause of every nanosecond, and the findings of Heidemann's pathologies.

A finding is wrong in a transaction without a loss of time by that pathology. A finding is missing if the loss
is at least 5 ms (for a restart half an RTT in addition, for a small send buffer three RTTs, with their
queues). ``--only N`` runs one scenario and lists both sides of each of its transactions. The exit code is 1
if a result is below the required level.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from .comparison import DETECTORS, OTHERS, Comparison
from .runs import compared_run
from .together import compared_together

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Agreement", "Outcome", "agreement_of", "main"]

#: Required levels for the causes and for the detectors.
SHARE_MIN: Final = 0.99
PRECISION_MIN: Final = 0.99
RECALL_MIN: Final = 0.99
#: Scenarios per capture: few enough hosts that no host's state is evicted.
_TOGETHER: Final = 144


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of one scenario; ``failure`` is the reason of a missing result."""

    number: int
    words: str
    comparison: Comparison
    failure: str = ""


@dataclass(frozen=True, slots=True)
class Agreement:
    """Sums over many scenarios."""

    outcomes: list[Outcome]
    sum: Comparison

    @staticmethod
    def of(outcomes: list[Outcome]) -> Agreement:
        total = Comparison()
        for outcome in outcomes:
            total.add(outcome.comparison)
        return Agreement(outcomes, total)

    @property
    def share(self) -> float:
        """Share of all time with equal causes."""
        return self.sum.agreeing_ns / max(1, self.sum.total_ns)

    @property
    def share_of_the_tellable(self) -> float:
        """``share``, with indistinguishable causes counted as equal."""
        return (self.sum.agreeing_ns + self.sum.indistinguishable_ns) / max(1, self.sum.total_ns)

    def precision(self, detector: str) -> float:
        return self._ratio(detector, is_missed=False)

    def recall(self, detector: str) -> float:
        return self._ratio(detector, is_missed=True)

    def _ratio(self, detector: str, *, is_missed: bool) -> float:
        right = self.sum.right[detector]
        bad = sum(it.detector == detector and it.is_missed == is_missed for it in self.sum.verdicts)
        return right / (right + bad) if right + bad else 1.0

    def shortfalls(self) -> list[str]:
        """Return descriptions of the missed levels."""
        found = [f"scenario {it.number} failed: {it.failure}" for it in self.outcomes if it.failure]
        if self.sum.unequal:
            found.append(f"{len(self.sum.unequal)} transactions differ")
        if self.share < SHARE_MIN:
            found.append(f"causes agree on {self.share:.4f} of the time, not {SHARE_MIN}")
        for name in DETECTORS:
            if self.precision(name) < PRECISION_MIN:
                found.append(f"precision of {name} is {self.precision(name):.3f}")
            if self.recall(name) < RECALL_MIN:
                found.append(f"recall of {name} is {self.recall(name):.3f}")
        return found


def agreement_of(seed: int, numbers: Iterable[int], *, at: str, jobs: int | None = None) -> Agreement:
    """Run and compare the random scenarios of ``seed`` with these numbers."""
    every = list(numbers)
    parts = [every[start : start + _TOGETHER] for start in range(0, len(every), _TOGETHER)]
    tasks = [(seed, part, at) for part in parts]
    if jobs == 1:
        found = [_outcomes(task) for task in tasks]
    else:
        # Spawn: a forked process would deadlock on polars' threads.
        with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
            found = list(pool.map(_outcomes, tasks))
    return Agreement.of(list(itertools.chain.from_iterable(found)))


def _outcomes(task: tuple[int, list[int], str]) -> list[Outcome]:
    seed, numbers, at = task
    try:
        several = compared_together(seed, numbers, at=at)
    except Exception:  # noqa: BLE001 -- which of them it is shows when each runs alone
        return [_outcome(seed, number, at) for number in numbers]
    return [Outcome(number, *found) for number, found in zip(numbers, several, strict=True)]


def _outcome(seed: int, number: int, at: str) -> Outcome:
    try:
        words, comparison = compared_run(seed, number, at=at)
    except Exception as error:  # noqa: BLE001 -- one bad scenario must not hide the others
        return Outcome(number, "", Comparison(), f"{type(error).__name__}: {error}")
    return Outcome(number, words, comparison)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulator.agreement", description=__doc__)
    parser.add_argument("--scenarios", type=int, default=200, metavar="N")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--at", choices=("client", "server"), default="client")
    parser.add_argument("--worst", type=int, default=20, metavar="N")
    parser.add_argument("--only", type=int, metavar="N", help="one scenario, with all its transactions")
    parser.add_argument("--jobs", type=int)
    options = parser.parse_args(arguments)
    if options.only is not None:
        from .random_scenarios import random_scenario
        from .runs import shown_run

        print("\n".join(shown_run(random_scenario(options.seed, options.only), at=options.at)))
        return 0
    started = time.perf_counter()
    agreement = agreement_of(options.seed, range(options.scenarios), at=options.at, jobs=options.jobs)
    print("\n".join(_report(agreement, options)))
    print(f"\n{options.scenarios} scenarios in {time.perf_counter() - started:.1f} s")
    shortfalls = agreement.shortfalls()
    print("\n".join(shortfalls[: options.worst]))
    return 1 if shortfalls else 0


def _report(agreement: Agreement, options: argparse.Namespace) -> Iterator[str]:
    total = agreement.sum
    yield f"transactions: {total.transactions}, equal: {total.transactions - len(total.unequal)}"
    yield f"causes agree on {agreement.share:.5f} of {total.total_ns / 1e9:.1f} s"
    yield f"with the causes that packets do not tell apart: {agreement.share_of_the_tellable:.5f}"
    yield ""
    yield "| true cause | cause of the analysis | s | share |"
    yield "|---|---|---|---|"
    wrong = {pair: length for pair, length in total.confusion.items() if pair[0] != pair[1]}
    for (true, told), length in sorted(wrong.items(), key=lambda it: -it[1])[: 2 * options.worst]:
        yield f"| {true or '-'} | {told or '-'} | {length / 1e9:.3f} | {length / total.total_ns:.5f} |"
    yield ""
    yield "| detector | right | wrong | missed | precision | recall |"
    yield "|---|---|---|---|---|---|"
    for name in (*DETECTORS, *OTHERS):
        missed = [it.is_missed for it in total.verdicts if it.detector == name]
        yield (
            f"| {name} | {total.right[name]} | {missed.count(False)} | {missed.count(True)}"
            f" | {agreement.precision(name):.4f} | {agreement.recall(name):.4f} |"
        )
    yield ""
    yield from _worst(agreement, options)


def _worst(agreement: Agreement, options: argparse.Namespace) -> Iterator[str]:
    def differs(outcome: Outcome) -> int:
        return outcome.comparison.total_ns - outcome.comparison.agreeing_ns

    yield "the most time on which causes differ:"
    for outcome in sorted(agreement.outcomes, key=differs, reverse=True)[: options.worst]:
        if differs(outcome):
            yield f"  {differs(outcome) / 1e9:9.3f} s  {_command(outcome, options)}"
    yield "transactions that differ:"
    unequal = [outcome for outcome in agreement.outcomes if outcome.comparison.unequal]
    for outcome in unequal[: options.worst]:
        key, what = next(iter(outcome.comparison.unequal.items()))
        yield f"  {key}: {'; '.join(what)}  {_command(outcome, options)}"
    yield "findings that are wrong or missing:"
    verdicts = [(outcome, verdict) for outcome in agreement.outcomes for verdict in outcome.comparison.verdicts]
    bad = [(outcome, verdict) for outcome, verdict in verdicts if verdict.detector in DETECTORS]
    for outcome, verdict in sorted(bad, key=lambda it: -it[1].lost_ns)[: 2 * options.worst]:
        word = "missed" if verdict.is_missed else "wrong"
        what = f"{verdict.detector} {word} ({verdict.lost_ns / 1e6:.1f} ms, {verdict.instead}) {verdict.key}"
        yield f"  {what}  {_command(outcome, options)}"


def _command(outcome: Outcome, options: argparse.Namespace) -> str:
    return f"--seed {options.seed} --at {options.at} --only {outcome.number}   # {outcome.words}"


if __name__ == "__main__":
    sys.exit(main())
