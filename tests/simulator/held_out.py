"""Judgement of the analysis by unseen scenarios: ``python -m tests.simulator.held_out``.

Each run uses new seeds. The output is summed by stratum of the server's stack (today's Linux, other stacks
with a window per connection, stacks with a shared window), by loss and by end. It gives the share of time
with the right cause, and the results of Heidemann's detectors. ``--confusion N`` adds the most frequent
confusions of causes. No single scenario is shown, so that no rule is made for one. ``--seed S --only N``
shows a scenario of a used seed. A scenario has loss if the network may lose packets, or if a queue
overflowed. The exit code is 1 if a floor is missed or a scenario failed.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import os
import sys
import time
from collections import Counter, defaultdict
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from .agreement import Agreement, Outcome
from .comparison import DETECTORS
from .random_scenarios import STRATA, held_out_scenario, stratum_of
from .runs import shown_run
from .together import comparisons_of, simulated_together

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["FLOORS", "Group", "Held", "Measured", "main", "measured"]

_ENDS: Final = ("client", "server")
#: Minimum share of time with the right cause, by stratum and loss.
FLOORS: Final = {
    ("linux", False): 0.985,
    ("linux", True): 0.97,
    ("other", False): 0.98,
    ("other", True): 0.96,
    ("shared", False): 0.93,
    ("shared", True): 0.93,
}
#: Minimum precision and recall of each detector.
DETECTOR_FLOORS: Final = {("linux", False): 0.985}
#: Scenarios per capture.
_TOGETHER: Final = 100


class Group(NamedTuple):
    """Sums of a stratum."""

    stratum: str
    has_loss: bool
    at: str

    @property
    def cells(self) -> str:
        return f"{self.stratum} | {'loss' if self.has_loss else 'no loss'} | {self.at}"


@dataclass(frozen=True, slots=True)
class Held:
    """Result of one held-out scenario at one end."""

    seed: int
    group: Group
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Measured:
    """Results of many held-out scenarios, and the error kinds of failed scenarios."""

    held: list[Held]
    failures: list[str]

    @staticmethod
    def of(parts: Sequence[Measured]) -> Measured:
        held = itertools.chain.from_iterable(part.held for part in parts)
        return Measured(list(held), [kind for part in parts for kind in part.failures])

    def groups(self) -> dict[Group, Agreement]:
        return {
            group: Agreement.of([it.outcome for it in self.held if it.group == group])
            for group in sorted({it.group for it in self.held}, key=_order)
        }

    def share(self, seed: int, group: Group) -> float:
        """Return the share of time with the right cause, over one seed's scenarios."""
        return Agreement.of([it.outcome for it in self.held if (it.seed, it.group) == (seed, group)]).share


def measured(seeds: Sequence[int], scenarios: int, ends: Sequence[str], *, jobs: int | None = None) -> Measured:
    """Analyse this many held-out scenarios of each seed, and compare with the truth."""
    starts = range(0, scenarios, _TOGETHER)
    parts = [list(range(start, min(start + _TOGETHER, scenarios))) for start in starts]
    tasks = [(seed, part, tuple(ends)) for seed in seeds for part in parts]
    with _workers(jobs) as pool:
        return Measured.of(list(pool.map(_measured, tasks)))


def _workers(jobs: int | None) -> ProcessPoolExecutor:
    # Spawn: a forked process would deadlock on polars' threads.
    return ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn"))


def _measured(task: tuple[int, list[int], tuple[str, ...]]) -> Measured:
    seed, numbers, ends = task
    try:
        return Measured(list(_held(seed, numbers, ends)), [])
    except Exception as error:  # noqa: BLE001 -- one bad scenario must not hide the others
        if len(numbers) == 1:
            return Measured([], [type(error).__name__])
        return Measured.of([_measured((seed, [number], ends)) for number in numbers])


def _held(seed: int, numbers: list[int], ends: tuple[str, ...]) -> Iterator[Held]:
    members = simulated_together(seed, numbers, draw=held_out_scenario)
    for at in ends:
        for number, member, found in zip(numbers, members, comparisons_of(members, at=at), strict=True):
            stratum = stratum_of(member.made.scenario.servers[0].stack)
            yield Held(seed, Group(stratum, member.has_loss, at), Outcome(number, member.made.words, found))


def _shown(seed: int, number: int, at: str) -> list[str]:
    return list(shown_run(held_out_scenario(seed, number), at=at))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulator.held_out", description=__doc__)
    parser.add_argument("--seeds", type=int, default=3, metavar="N", help="how many new seeds")
    parser.add_argument("--scenarios", type=int, default=1200, metavar="N", help="of each seed")
    parser.add_argument("--seed", type=int, help="this one, no new ones")
    parser.add_argument("--at", choices=(*_ENDS, "both"), default="both")
    parser.add_argument("--confusion", type=int, default=0, metavar="N", help="so many pairs of each stratum")
    parser.add_argument("--only", type=int, metavar="N", help="one scenario of --seed, with all its transactions")
    parser.add_argument("--jobs", type=int)
    options = parser.parse_args(arguments)
    ends = _ENDS if options.at == "both" else (options.at,)
    if options.only is not None:
        if options.seed is None:
            parser.error("--only is for a --seed that is named")
        with _workers(1) as pool:
            for at in ends:
                print("\n".join([at, *pool.submit(_shown, options.seed, options.only, at).result()]))
        return 0
    seeds = [_new_seed() for _ in range(options.seeds)] if options.seed is None else [options.seed]
    print(f"seeds: {' '.join(map(str, seeds))}\n")
    started = time.perf_counter()
    found = measured(seeds, options.scenarios, ends, jobs=options.jobs)
    print("\n".join(_report(found, seeds, options.confusion)))
    print(f"\n{options.scenarios} scenarios of each seed in {time.perf_counter() - started:.1f} s")
    shortfalls = list(_shortfalls(found))
    print("\n".join(shortfalls))
    return 1 if shortfalls else 0


def _new_seed() -> int:
    return int.from_bytes(os.urandom(4))


def _order(group: Group) -> tuple[int, bool, str]:
    return STRATA.index(group.stratum), group.has_loss, group.at


def _report(found: Measured, seeds: Sequence[int], confusion: int) -> Iterator[str]:
    groups = found.groups()
    yield "| stratum | loss | at | scenarios | s | right | floor | by seed | transactions | differ |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for group, sums in groups.items():
        by_seed = " ".join(f"{found.share(seed, group):.4f}" for seed in seeds)
        differ = sum(len(outcome.comparison.unequal) for outcome in sums.outcomes)
        yield (
            f"| {group.cells} | {len(sums.outcomes)} | {sums.sum.total_ns / 1e9:.1f} | {sums.share:.4f}"
            f" | {FLOORS[group[:2]]:.3f} | {by_seed} | {sums.sum.transactions} | {differ} |"
        )
    yield ""
    yield "| stratum | loss | at | detector | right | wrong | missed | precision | recall | floor |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for group, sums in groups.items():
        for name in DETECTORS:
            missed = [it.is_missed for it in sums.sum.verdicts if it.detector == name]
            yield (
                f"| {group.cells} | {name} | {sums.sum.right[name]} | {missed.count(False)} | {missed.count(True)}"
                f" | {sums.precision(name):.4f} | {sums.recall(name):.4f} | {DETECTOR_FLOORS.get(group[:2], '')} |"
            )
    if confusion:
        yield from _confusion(groups, confusion)


def _confusion(groups: dict[Group, Agreement], most: int) -> Iterator[str]:
    yield ""
    yield "| stratum | at | true cause | cause of the analysis | s | share |"
    yield "|---|---|---|---|---|---|"
    strata: dict[tuple[str, str], Counter[tuple[str, str]]] = defaultdict(Counter)
    for group, sums in groups.items():
        strata[group.stratum, group.at].update(sums.sum.confusion)
    for (stratum, at), pairs in strata.items():
        wrong = [(pair, length) for pair, length in pairs.most_common() if pair[0] != pair[1]]
        for (true, told), length in wrong[:most]:
            share = length / pairs.total()
            yield f"| {stratum} | {at} | {true or '-'} | {told or '-'} | {length / 1e9:.3f} | {share:.5f} |"


def _shortfalls(found: Measured) -> Iterator[str]:
    """Yield descriptions of the missed floors."""
    for kind, many in Counter(found.failures).items():
        yield f"{many} scenarios failed: {kind}"
    for group, sums in found.groups().items():
        cells, floor = group.cells, FLOORS[group[:2]]
        if sums.share < floor:
            yield f"| {cells} | causes are right for {sums.share:.4f} of the time, not {floor}"
        for name in DETECTORS:
            least = DETECTOR_FLOORS.get(group[:2], 0.0)
            for what, ratio in (("precision", sums.precision(name)), ("recall", sums.recall(name))):
                if ratio < least:
                    yield f"| {cells} | {what} of {name} is {ratio:.4f}, not {least}"


if __name__ == "__main__":
    sys.exit(main())
