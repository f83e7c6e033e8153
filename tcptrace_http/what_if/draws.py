"""Draws of the figures within their ranges, equal for every candidate.

Each draw changes the path and the hosts, not the actions of the programs. All candidates get the same draws,
so their savings are compared under equal conditions (common random numbers).
"""

from __future__ import annotations

import random
import re
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Final

from reference_sim.stack import Heartbeat
from tcptrace_http.what_if.outcome import elapsed_of
from tcptrace_http.what_if.strategies import unmodified

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from reference_sim.scenario import Browser, Scenario
    from tcptrace_http.inference.figure import Figure

__all__ = ["DRAWS", "draws"]

#: Number of draws besides the inferred figures. 9 runs suffice for a median and a range, and finish soon.
DRAWS: Final = 8
#: Tried shares of the figures' ranges, and the maximum deviation of a draw's time from the inferred figures'
#: time: the maximum deviation of a trusted model.
_SPREADS: Final = (1.0, 0.5, 0.25, 0.125)
_NEAR: Final = 0.1
_OF_OBJECT: Final = re.compile(r"objects\[(\d+)\]\.processing")


def draws(alike: Sequence[Scenario], figures: Sequence[Figure], more: int = DRAWS) -> tuple[Scenario, ...]:
    """Return the first scenario, and ``more`` others with figures from their ranges and with separate seeds.

    The draws alternate among the scenarios in ``alike``. A figure without bounds, or an exact one, stays. The
    distribution is a triangle with the figure at its peak and the bounds at its ends. A draw that does not
    reproduce the capture is moved nearer to the figures.

    :raises ScenarioError: a scenario does not finish.
    """
    took = elapsed_of(unmodified(alike[0]))
    others = (_retelling(alike[number % len(alike)], figures, number, took) for number in range(1, more + 1))
    return (alike[0], *others)


def _retelling(scenario: Scenario, figures: Sequence[Figure], number: int, took: int) -> Scenario:
    """Return the widest draw with about the same time; its losses may differ."""
    tried = (_drawn(scenario, figures, number, spread) for spread in _SPREADS)
    near = (made for made in tried if abs(elapsed_of(unmodified(made)) - took) <= _NEAR * took)
    return replace(next(near, scenario), seed=(scenario.seed + number) % (1 << 64))


def _drawn(scenario: Scenario, figures: Sequence[Figure], number: int, spread: float) -> Scenario:
    made = scenario
    processing: dict[int, int] = {}
    for figure in figures:
        of_object = _OF_OBJECT.fullmatch(figure.name)
        change = _CHANGES.get(figure.name)
        value = None if of_object is None and change is None else _value(figure, number, spread)
        if value is None:
            continue
        if change is not None:
            made = change(made, value)
        elif of_object is not None:
            processing[int(of_object[1])] = value
    return _with_processing(made, processing) if processing else made


def _value(figure: Figure, number: int, spread: float) -> int | None:
    """Return a value within this share of the figure's bounds; equal figures and numbers give equal values."""
    top, low, high = figure.value, figure.low, figure.high
    if not isinstance(top, int):
        return None
    least = min(low, top) if isinstance(low, int) else top
    most = max(high, top) if isinstance(high, int) else top
    if least == most:
        return None
    drawn = random.Random(f"{figure.name} {number}")  # noqa: S311 -- seeded, not secret
    return round(top + spread * (drawn.triangular(least, most, top) - top))


def _with_propagation(scenario: Scenario, value: int) -> Scenario:
    """Return the scenario with this round-trip propagation, half in each direction: an inferred path has one
    link each way.
    """
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
    """Return the scenario with these server times for the objects of the first browser's visits, numbered across
    visits.
    """
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
