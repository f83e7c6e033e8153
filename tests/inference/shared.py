"""Inference of hosts that share path state: T/TCP, S-TCB and E-TCP, from captured sessions.

>>> python -m tests.inference.shared --sessions 100 --seed 0
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from reference_sim.networks import path
from reference_sim.page import Constant, Page, objects_of
from reference_sim.scenario import Record, Scenario
from reference_sim.simulation import simulate
from reference_sim.workloads import retrieval, tap_at
from tests.inference.validation import ENDS, inference_of, judged

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

STRATEGIES: Final = (
    "http10-ttcp",
    "http10-s-tcb-temporal",
    "http10-s-tcb-ensemble",
    "http10-etcp-fair",
    "http10-etcp-content-dependent",
    "http10-etcp-ticket-decay",
    "http10-etcp-html-pre",
)
STACKS: Final = ("reno", "newreno", "bsd-4.4", "netbsd-1.2.1", "linux-2.0")
_MS: Final = 10**6
_CLOCK: Final = 10**9
_RATE: Final = (500_000, 20_000_000)
_DELAY_MS: Final = (5, 200)
_DOCUMENT: Final = (3_000, 40_000)
_IMAGE: Final = (1_000, 30_000)
_IMAGES: Final = (2, 9)
_PAUSE_MS: Final = (500, 5_000)


def random_session(seed: int) -> tuple[Scenario, str]:
    """Return a page and its second visit by one of the strategies, captured at both ends; the strategy."""
    draw = random.Random(seed)
    where = path("random", rate=draw.randint(*_RATE), delay=draw.randint(*_DELAY_MS) * _MS)
    name = draw.choice(STRATEGIES)
    sizes = [draw.randint(*_IMAGE) for _ in range(draw.randint(*_IMAGES))]
    is_etcp = "etcp" in name
    made = retrieval(
        # For E-TCP, only the first access has its own row.
        strategy=f"{name}-again" if is_etcp and draw.random() < 0.5 else name,
        page=Page(name="random", objects=objects_of(draw.randint(*_DOCUMENT), *sizes)),
        network=where,
        client_stack=draw.choice(STACKS),
        processing=Constant(value=draw.choice((0, draw.randint(1, 30) * _MS))),
        parse=draw.choice((0, draw.randint(1, 4) * _MS)),
        think=Constant(value=draw.randint(*_PAUSE_MS) * _MS),
        record=Record(),
        seed=seed,
    )
    (browser,) = made.browsers
    return replace(
        made,
        browsers=(replace(browser, start=draw.randint(0, _CLOCK)),),
        taps=(tap_at(where, "client"), tap_at(where, "server")),
    ), name


def told(seeds: Iterable[int]) -> Iterator[tuple[int, str, str, str]]:
    """Yield seed, end, true strategy and outcome: exact, alike, assumed or wrong."""
    for seed in seeds:
        scenario, name = random_session(seed)
        run = simulate(scenario)
        for at in ENDS:
            figure = inference_of(run, at, session=True).figure("browser.strategy")
            yield seed, at, name, judged(figure, name)


def main() -> None:
    """Print the counts of each outcome, and the wrong inferences."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    found = list(told(range(options.seed, options.seed + options.sessions)))
    for each in found:
        if each[-1] == "wrong":
            print(*each)
    print(dict(Counter(how for *_, how in found)))


if __name__ == "__main__":
    main()
