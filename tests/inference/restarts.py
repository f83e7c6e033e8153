"""Effect of idle periods on a server's window, inferred from captured sessions: one page does not show it.

>>> python -m tests.inference.restarts --sessions 100 --seed 0
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from reference_sim.page import Page, objects_of
from reference_sim.scenario import Record, Scenario
from reference_sim.stack import IdleRestart
from reference_sim.workloads import retrieval
from tests.inference.sessions import MS, captured_at_both_ends, judgements, print_judgements, random_path

if TYPE_CHECKING:
    from collections.abc import Iterable

STACKS: Final = ("reno", "newreno", "bsd-4.4", "linux-2.0", "linux-6")
STRATEGIES: Final = ("http11", "http10-keep-alive")
POLICIES: Final = (IdleRestart.KEEP, IdleRestart.RESET, IdleRestart.DECAY)
_RATE: Final = (2_000_000, 40_000_000)
_DELAY_MS: Final = (10, 150)
#: Larger than the initial window of any stack.
_DOCUMENT: Final = (30_000, 90_000)
_IMAGE: Final = (5_000, 40_000)
#: Mostly longer than an RTO, the threshold of an idle window.
_IDLE_MS: Final = (800, 4_000)
_MORE_VISITS: Final = (1, 3)


def random_session(seed: int) -> tuple[Scenario, str]:
    """Return a page with revisits on the same connection after idle periods, and the server's policy."""
    draw = random.Random(seed)
    where = random_path(draw, _RATE, _DELAY_MS)
    policy = draw.choice(POLICIES)
    made = retrieval(
        strategy=draw.choice(STRATEGIES),
        page=Page(name="random", objects=objects_of(draw.randint(*_DOCUMENT), draw.randint(*_IMAGE))),
        network=where,
        client_stack=draw.choice(STACKS),
        parse=MS,
        record=Record(),
        seed=seed,
    )
    (server,), (browser,) = made.servers, made.browsers
    (first,) = browser.visits
    kept = replace(first, plan=replace(first.plan, keeps_connections=True))
    idle = [draw.randint(*_IDLE_MS) * MS for _ in range(draw.randint(*_MORE_VISITS))]
    visits = (kept, *(replace(kept, think=pause) for pause in idle))
    made = replace(
        made,
        servers=(replace(server, stack=replace(server.stack, idle_restart=policy)),),
        browsers=(replace(browser, visits=visits),),
    )
    return captured_at_both_ends(made, draw), str(policy)


def judged_policies(seeds: Iterable[int]) -> Counter[str]:
    """Count the judgements of the inferred policies of these sessions."""
    return Counter(how for *_, how in judgements(seeds, random_session, "server.idle_restart"))


if __name__ == "__main__":
    print_judgements(__doc__, random_session, "server.idle_restart")
