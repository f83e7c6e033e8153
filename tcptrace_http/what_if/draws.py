"""What else the capture can be of: the figures drawn within their ranges, the same draws for every candidate.

Each draw changes what the path and the hosts are, not who does what. As all candidates get the same
draws, what they save is compared with what is alike (common random numbers).
"""

from __future__ import annotations

import random
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from reference_sim.stack import Heartbeat

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from reference_sim.scenario import Browser, Scenario
    from tcptrace_http.inference.figure import Figure

__all__ = ["DRAWS", "draws"]

#: Beside the figures' own values; 9 runs are enough for a median and a range, and few enough to wait for.
DRAWS: Final = 8
_OF_OBJECT: Final = re.compile(r"(?:visits\[(?P<visit>\d+)\]\.)?objects\[(?P<object>\d+)\]\.processing")


def draws(alike: Sequence[Scenario], figures: Sequence[Figure], count: int = DRAWS) -> tuple[Scenario, ...]:
    """The first scenario itself, and ``count`` more with figures from within their ranges and seeds of their own.

    They take turns among the scenarios that are ``alike``. A figure without bounds, or that is exact, stays.
    The least likely values are the bounds: the law is a triangle with the figure at its top.
    """
    others = (_drawn(alike[number % len(alike)], figures, number) for number in range(1, count + 1))
    return (alike[0], *others)


def _drawn(scenario: Scenario, figures: Sequence[Figure], number: int) -> Scenario:
    made = replace(scenario, seed=(scenario.seed + number) % (1 << 64))
    for figure in figures:
        change = _change_of(figure.name)
        value = None if change is None else _value(figure, number)
        if change is not None and value is not None:
            made = change(made, value)
    return made


def _value(figure: Figure, number: int) -> int | None:
    """A value within the figure's bounds; the same figure and number, the same value."""
    top, low, high = figure.value, figure.low, figure.high
    if not isinstance(top, int):
        return None
    least = min(low, top) if isinstance(low, int) else top
    most = max(high, top) if isinstance(high, int) else top
    if least == most:
        return None
    drawn = random.Random(f"{figure.name} {number}")  # noqa: S311 -- seeded, not secret
    return round(drawn.triangular(least, most, top))


def _change_of(name: str) -> Callable[[Scenario, int], Scenario] | None:
    known: dict[str, Callable[[Scenario, int], Scenario]] = {
        "path.propagation": _with_propagation,
        "path.rate": _with_rate,
        "browser.parse": lambda scenario, value: _with_browsers(scenario, lambda it: replace(it, parse=value)),
        "client.heartbeat_phase": _with_phase,
    }
    if name in known:
        return known[name]
    of_object = _OF_OBJECT.fullmatch(name)
    if of_object is None:
        return None
    visit, number = int(of_object["visit"] or 0), int(of_object["object"])
    return lambda scenario, value: _with_processing(scenario, visit, number, value)


def _with_propagation(scenario: Scenario, value: int) -> Scenario:
    """The round trip's propagation, half of it each way: an inferred path is one link there and one back."""
    return _with_links(scenario, delay=value // 2)


def _with_rate(scenario: Scenario, value: int) -> Scenario:
    return _with_links(scenario, rate=value)


def _with_links(scenario: Scenario, **changes: int) -> Scenario:
    links = tuple(replace(link, **changes) for link in scenario.network.links)  # type: ignore[arg-type]
    return replace(scenario, network=replace(scenario.network, links=links))


def _with_browsers(scenario: Scenario, change: Callable[[Browser], Browser]) -> Scenario:
    return replace(scenario, browsers=tuple(map(change, scenario.browsers)))


def _with_phase(scenario: Scenario, value: int) -> Scenario:
    def beating(browser: Browser) -> Browser:
        acks = browser.stack.acks
        if not isinstance(acks.delay, Heartbeat):
            return browser
        delay = replace(acks.delay, phase=value)
        return replace(browser, stack=replace(browser.stack, acks=replace(acks, delay=delay)))

    return _with_browsers(scenario, beating)


def _with_processing(scenario: Scenario, visit: int, number: int, value: int) -> Scenario:
    """The server's time for one object of one visit of the first browser."""
    first, *others = scenario.browsers
    if visit >= len(first.visits) or number >= len(first.visits[visit].page.objects):
        return scenario
    visits = list(first.visits)
    page = visits[visit].page
    objects = list(page.objects)
    objects[number] = replace(objects[number], processing_ns=value)
    visits[visit] = replace(visits[visit], page=page.with_objects(tuple(objects)))
    return replace(scenario, browsers=(replace(first, visits=tuple(visits)), *others))
