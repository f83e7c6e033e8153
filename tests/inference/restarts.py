"""Effect of idle periods on a server's window, inferred from captured sessions: one page does not show it.

>>> python -m tests.inference.restarts --sessions 100 --seed 0
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from reference_sim.networks import path
from reference_sim.page import Page, objects_of
from reference_sim.scenario import Record, Scenario
from reference_sim.simulation import simulate
from reference_sim.stack import IdleRestart
from reference_sim.workloads import retrieval, tap_at
from tests.inference.validation import ENDS, inference_of, judged

if TYPE_CHECKING:
    from collections.abc import Iterable

STACKS: Final = ("reno", "newreno", "bsd-4.4", "linux-2.0", "linux-6")
STRATEGIES: Final = ("http11", "http10-keep-alive")
POLICIES: Final = (IdleRestart.KEEP, IdleRestart.RESET, IdleRestart.DECAY)
_MS: Final = 10**6
_CLOCK: Final = 10**9
_RATE: Final = (2_000_000, 40_000_000)
_DELAY_MS: Final = (10, 150)
#: Larger than the initial window of any stack.
_DOCUMENT: Final = (30_000, 90_000)
_IMAGE: Final = (5_000, 40_000)
#: Mostly longer than an RTO, the threshold of an idle window.
_IDLE_MS: Final = (800, 4_000)
_MORE_VISITS: Final = (1, 3)


def random_session(seed: int) -> tuple[Scenario, IdleRestart]:
    """Return a page with revisits on the same connection after idle periods, and the server's policy."""
    draw = random.Random(seed)
    where = path("random", rate=draw.randint(*_RATE), delay=draw.randint(*_DELAY_MS) * _MS)
    policy = draw.choice(POLICIES)
    made = retrieval(
        strategy=draw.choice(STRATEGIES),
        page=Page(name="random", objects=objects_of(draw.randint(*_DOCUMENT), draw.randint(*_IMAGE))),
        network=where,
        client_stack=draw.choice(STACKS),
        parse=_MS,
        record=Record(),
        seed=seed,
    )
    (server,), (browser,) = made.servers, made.browsers
    (first,) = browser.visits
    kept = replace(first, plan=replace(first.plan, keeps_connections=True))
    idle = [draw.randint(*_IDLE_MS) * _MS for _ in range(draw.randint(*_MORE_VISITS))]
    visits = (kept, *(replace(kept, think=pause) for pause in idle))
    return replace(
        made,
        servers=(replace(server, stack=replace(server.stack, idle_restart=policy)),),
        browsers=(replace(browser, visits=visits, start=draw.randint(0, _CLOCK)),),
        taps=(tap_at(where, "client"), tap_at(where, "server")),
    ), policy


def policies_told(seeds: Iterable[int]) -> Counter[str]:
    """Return the inferred policy at both ends of each session: exact, alike, assumed or wrong."""
    found: Counter[str] = Counter()
    for seed in seeds:
        scenario, policy = random_session(seed)
        run = simulate(scenario)
        for at in ENDS:
            figure = inference_of(run, at, session=True).figure("server.idle_restart")
            found[judged(figure, str(policy))] += 1
    return found


def main() -> None:
    """Print the counts of each outcome."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print(dict(policies_told(range(options.seed, options.seed + options.sessions))))


if __name__ == "__main__":
    main()
