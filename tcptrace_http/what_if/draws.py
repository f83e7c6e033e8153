"""What else the capture can be of: the figures drawn within their ranges, the same draws for every candidate.

Each draw changes what the path and the hosts are, not who does what. As all candidates get the same
draws, what they save is compared with what is alike (common random numbers).
"""

from __future__ import annotations

import random
import re
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Final

from reference_sim.stack import Heartbeat

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from reference_sim.scenario import Browser, Scenario
    from tcptrace_http.inference.figure import Figure

__all__ = ["DRAWS", "draws"]

#: Beside the figures' own values; 9 runs are enough for a median and a range, and few enough to wait for.
DRAWS: Final = 8
_OF_OBJECT: Final = re.compile(r"objects\[(\d+)\]\.processing")


def draws(alike: Sequence[Scenario], figures: Sequence[Figure], more: int = DRAWS) -> tuple[Scenario, ...]:
    """The first scenario itself, and ``more`` others with figures from within their ranges and seeds of their own.

    They take turns among the scenarios that are ``alike``. A figure without bounds, or that is exact, stays.
    The least likely values are the bounds: the law is a triangle with the figure at its top.
    """
    others = (_drawn(alike[number % len(alike)], figures, number) for number in range(1, more + 1))
    return (alike[0], *others)


def _drawn(scenario: Scenario, figures: Sequence[Figure], number: int) -> Scenario:
    made = replace(scenario, seed=(scenario.seed + number) % (1 << 64))
    processing: dict[int, int] = {}
    for figure in figures:
        of_object = _OF_OBJECT.fullmatch(figure.name)
        change = _CHANGES.get(figure.name)
        value = None if of_object is None and change is None else _value(figure, number)
        if value is None:
            continue
        if change is not None:
            made = change(made, value)
        elif of_object is not None:
            processing[int(of_object[1])] = value
    return _with_processing(made, processing) if processing else made


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


def _with_parse(scenario: Scenario, value: int) -> Scenario:
    return _with_browsers(scenario, lambda browser: replace(browser, parse=value))


def _with_processing(scenario: Scenario, times: dict[int, int]) -> Scenario:
    """The server's times for objects of the first browser's visits; they are numbered through."""
    first, *others = scenario.browsers
    numbers = count()
    visits = []
    for visit in first.visits:
        objects = tuple(
            replace(part, processing_ns=times.get(next(numbers), part.processing_ns))
            for part in visit.page.objects
        )
        visits.append(replace(visit, page=visit.page.with_objects(objects)))
    return replace(scenario, browsers=(replace(first, visits=tuple(visits)), *others))


_CHANGES: Final[dict[str, Callable[[Scenario, int], Scenario]]] = {
    "path.propagation": _with_propagation,
    "path.rate": _with_rate,
    "browser.parse": _with_parse,
    "client.heartbeat_phase": _with_phase,
}
