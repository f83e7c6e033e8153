"""Inference of hosts that share path state: T/TCP, S-TCB and E-TCP, from captured sessions.

>>> python -m tests.inference.shared --sessions 100 --seed 0
"""

from __future__ import annotations

import random
from typing import Final

from reference_sim.page import Constant, Page, objects_of
from reference_sim.scenario import Record, Scenario
from reference_sim.workloads import retrieval
from tests.inference.sessions import MS, captured_at_both_ends, print_judgements, random_path

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
_RATE: Final = (500_000, 20_000_000)
_DELAY_MS: Final = (5, 200)
_DOCUMENT: Final = (3_000, 40_000)
_IMAGE: Final = (1_000, 30_000)
_IMAGES: Final = (2, 9)
_PAUSE_MS: Final = (500, 5_000)


def random_session(seed: int) -> tuple[Scenario, str]:
    """Return a page and its second visit by one of the strategies, captured at both ends; the strategy."""
    draw = random.Random(seed)
    where = random_path(draw, _RATE, _DELAY_MS)
    name = draw.choice(STRATEGIES)
    sizes = [draw.randint(*_IMAGE) for _ in range(draw.randint(*_IMAGES))]
    is_etcp = "etcp" in name
    made = retrieval(
        # For E-TCP, only the first access has its own row.
        strategy=f"{name}-again" if is_etcp and draw.random() < 0.5 else name,
        page=Page(name="random", objects=objects_of(draw.randint(*_DOCUMENT), *sizes)),
        network=where,
        client_stack=draw.choice(STACKS),
        processing=Constant(value=draw.choice((0, draw.randint(1, 30) * MS))),
        parse=draw.choice((0, draw.randint(1, 4) * MS)),
        think=Constant(value=draw.randint(*_PAUSE_MS) * MS),
        record=Record(),
        seed=seed,
    )
    return captured_at_both_ends(made, draw), name


if __name__ == "__main__":
    print_judgements(__doc__, random_session, "browser.strategy")
