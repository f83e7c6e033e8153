"""Simulate, forget, infer back: how near inferred scenarios are to those that made the captures.

>>> python -m tests.inference.validation --scenarios 100 --seed 0
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Final

import tcptrace_http
from reference_sim.scenario_file import parse
from reference_sim.scenario_writer import toml_of
from reference_sim.simulation import Simulation, simulate
from tcptrace_http.inference import NEEDED_TABLES, Figure, Inference, infer
from tcptrace_http.inference.stacks import first_window
from tests.inference.scenarios import random_scenario, strategy_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from reference_sim.scenario import Scenario

ENDS: Final = ("client", "server")
RTT_WITHIN: Final = 0.02
RATE_WITHIN: Final = 0.10
PAGE_WITHIN: Final = 0.05


@dataclass(frozen=True)
class Outcome:
    """How one capture's inference compares with the scenario that made it."""

    seed: int
    at: str
    #: Part of the truth by which each is off; None: stated to be assumed.
    rtt_off: float | None
    rate_off: float | None
    page_off: float
    #: exact, alike (the truth is among the stated alternatives), assumed, or wrong.
    window: str
    strategy: str
    nagle: str
    restart: str
    #: What is told of it where it is wrong.
    told: str


def outcomes(seeds: Iterable[int]) -> Iterator[Outcome]:
    """Both captures of each seed's scenario."""
    for seed in seeds:
        scenario = random_scenario(seed)
        run = simulate(scenario)
        for at in ENDS:
            yield _outcome(seed, at, scenario, run)


def inference_of(run: Simulation, at: str) -> Inference:
    """What is inferred from the capture at this end, which goes through a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.pcap"
        run.write_pcap(path, at=at)
        return infer(tcptrace_http.analyze(path, tables=NEEDED_TABLES))


def page_time(run: Simulation) -> int:
    """Nanoseconds of the first retrieval."""
    times = run.truth.retrievals
    return int((times["end"] - times["start"]).to_physical()[0])


def _outcome(seed: int, at: str, scenario: Scenario, run: Simulation) -> Outcome:
    found = inference_of(run, at)
    link = scenario.network.links[0]
    stack = scenario.servers[0].stack
    again = simulate(parse(toml_of(found.scenario)))
    strategy = found.figure("browser.strategy")
    judged = {
        "window": _judged(found.figure("server.initial_window"), first_window(stack)),
        "strategy": _judged(strategy, strategy_of(seed)),
        "nagle": _judged(found.figure("server.nagle"), str(stack.nagle)),
        "restart": _judged(found.figure("server.idle_restart"), str(stack.idle_restart)),
    }
    return Outcome(
        seed=seed,
        at=at,
        rtt_off=_off(found.figure("path.propagation"), 2 * int(link.delay)),
        rate_off=_off(found.figure("path.rate"), int(link.rate or 0)),
        page_off=abs(page_time(again) / page_time(run) - 1),
        told=f"{strategy_of(seed)} by {stack.name}, told {strategy.value} by {found.figure('server.stack').value}",
        **judged,
    )


def _off(figure: Figure, truth: int) -> float | None:
    if figure.is_assumed or not isinstance(figure.value, int):
        return None
    return abs(figure.value / truth - 1)


def _judged(figure: Figure, truth: object) -> str:
    if figure.is_assumed:
        return "assumed"
    if figure.value == truth:
        return "exact"
    return "alike" if str(truth) in figure.alternatives else "wrong"


def table(found: list[Outcome]) -> str:
    """What is asked for, and what was measured."""
    rows = [
        ("round trip within 2 %", *_within([each.rtt_off for each in found], RTT_WITHIN)),
        ("rate within 10 %", *_within([each.rate_off for each in found], RATE_WITHIN)),
        *(
            (name, *_counts([getattr(each, name) for each in found]))
            for name in ("window", "strategy", "nagle", "restart")
        ),
    ]
    offs = sorted(each.page_off for each in found)
    near = sum(off <= PAGE_WITHIN for off in offs)
    lines = [f"{name:<24} {told}" for name, told in rows]
    most = f"{offs[int(0.9 * (len(offs) - 1))]:.2%} (90th percentile), {offs[-1]:.1%} (most)"
    lines.append(f"{'page time':<24} off by {median(offs):.4%} (median), {most}; {near} of {len(offs)} within 5 %")
    return "\n".join(lines)


def _within(offs: list[float | None], bound: float) -> tuple[str]:
    known = [off for off in offs if off is not None]
    near = sum(off <= bound for off in known)
    return (f"{near} of {len(known)} seen, {len(offs) - len(known)} stated to be assumed",)


def _counts(words: list[str]) -> tuple[str]:
    return (", ".join(f"{words.count(word)} {word}" for word in ("exact", "alike", "assumed", "wrong")),)


def worst(found: list[Outcome]) -> list[Outcome]:
    """Those with anything beyond what is asked for."""
    return [
        each
        for each in found
        if (each.rtt_off or 0) > RTT_WITHIN
        or (each.rate_off or 0) > RATE_WITHIN
        or each.page_off > PAGE_WITHIN
        or "wrong" in {each.window, each.strategy, each.nagle, each.restart}
    ]


def main() -> None:
    """Print the table, and what is beyond the bounds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scenarios", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    found = list(outcomes(range(options.seed, options.seed + options.scenarios)))
    print(table(found))
    for each in worst(found):
        print(each)


if __name__ == "__main__":
    main()
