"""Sessions of random scenarios, captured at both ends, and the success rate of an inferred figure.

The commands of :mod:`tests.inference.restarts` and :mod:`tests.inference.shared` print the rate for one
figure each.
"""

from __future__ import annotations

import argparse
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from reference_sim.networks import path
from reference_sim.simulation import simulate
from reference_sim.workloads import tap_at
from tests.inference.validation import ENDS, inference_of, judged

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterable, Iterator

    from reference_sim.scenario import Scenario
    from reference_sim.topology import Network

MS: Final = 10**6
_SECOND: Final = 10**9


def random_path(draw: random.Random, rate: tuple[int, int], delay_ms: tuple[int, int]) -> Network:
    """Return a path of random rate and delay within these bounds."""
    return path("random", rate=draw.randint(*rate), delay=draw.randint(*delay_ms) * MS)


def captured_at_both_ends(scenario: Scenario, draw: random.Random) -> Scenario:
    """Return the scenario with taps at both ends, whose browser starts within the first second."""
    (browser,) = scenario.browsers
    return replace(
        scenario,
        browsers=(replace(browser, start=draw.randint(0, _SECOND)),),
        taps=tuple(tap_at(scenario.network, end) for end in ENDS),
    )


def judgements(
    seeds: Iterable[int], session: Callable[[int], tuple[Scenario, str]], figure: str
) -> Iterator[tuple[int, str, str, str]]:
    """Judge the figure from both ends of each session: seed, end, true word; exact, alike, assumed or wrong."""
    for seed in seeds:
        scenario, truth = session(seed)
        run = simulate(scenario)
        for at in ENDS:
            yield seed, at, truth, judged(inference_of(run, at, session=True).figure(figure), truth)


def print_judgements(about: str, session: Callable[[int], tuple[Scenario, str]], figure: str) -> None:
    """Print each wrong judgement, and the count of each kind, for the seeds of the command line."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--sessions", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    found = list(judgements(range(options.seed, options.seed + options.sessions), session, figure))
    for each in found:
        if each[-1] == "wrong":
            print(*each)
    print(dict(Counter(how for *_, how in found)))
