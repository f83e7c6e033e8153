"""Other hosts that the capture looks the same with: of which of them it is, a prediction can depend.

The inference names one stack and one way of writing, and beside them those whose runs are as near to the
capture. A fix can help the one and not the other: 4.4BSD copies a write in steps of 2048 bytes and sends
after each, which shows only when nothing else holds the data.
"""

from __future__ import annotations

import re
from dataclasses import fields, replace
from itertools import product
from typing import TYPE_CHECKING, Any, Final

from reference_sim.quantities import nanoseconds
from reference_sim.scenario import Writes
from reference_sim.stack import IdleRestart, Nagle, Stack
from reference_sim.stacks import PRESETS
from tcptrace_http.what_if.outcome import elapsed_of
from tcptrace_http.what_if.strategies import as_it_is

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from reference_sim.scenario import Scenario
    from tcptrace_http.inference.figure import Figure

__all__ = ["alike", "left_open"]

#: Hosts whose retrieval is no further off than this explain the capture as well.
_ALIKE: Final = 0.01
#: What SYNs and windows show of a stack, whatever its name is.
_SEEN: Final = ("mss", "window_scale", "timestamps", "sack", "receive_buffer", "initial_window")
_OPEN: Final = ("server.stack", "server.writes", "server.nagle", "server.idle_restart")
_CHUNK: Final = re.compile(r"(\d+) B a write")
_GAP: Final = re.compile(r"([\d.]+ \w+) between writes")


def alike(scenario: Scenario, figures: Sequence[Figure]) -> tuple[Scenario, ...]:
    """The scenario and its like, those with the fewest peculiarities that the capture does not show first.

    :raises ScenarioError: the scenario does not come to its end.
    """
    by_name = {figure.name: figure for figure in figures}
    took = elapsed_of(as_it_is(scenario))
    found = [scenario]
    for other in _others(scenario, by_name):
        if other not in found and abs(elapsed_of(as_it_is(other)) - took) <= _ALIKE * took:
            found.append(other)
    return tuple(sorted(found, key=_peculiarities))


def left_open(figures: Sequence[Figure]) -> dict[str, tuple[str, ...]]:
    """The figures of the server of which the capture shows no more than that it is one of these."""
    return {
        figure.name: (str(figure.value), *figure.alternatives)
        for figure in figures
        if figure.name in _OPEN and figure.alternatives
    }


def _peculiarities(scenario: Scenario) -> int:
    """What a stack does that no capture of this kind shows, and is no ground for a prediction."""
    return sum(server.stack.write_step_bytes is not None for server in scenario.servers)


def _others(scenario: Scenario, figures: dict[str, Figure]) -> Iterator[Scenario]:
    """Every combination of what the capture leaves open, the inferred choice first."""
    for stack, way, nagle, restart in product(*((None, *_alternatives(figures, name)) for name in _OPEN)):
        knobs: dict[str, Any] = {}
        if nagle is not None:
            knobs["nagle"] = Nagle(nagle)
        if restart is not None:
            knobs["idle_restart"] = IdleRestart(restart)
        made = scenario if stack is None else _with_stack(scenario, figures, stack)
        if way is not None:
            made = replace(made, servers=tuple(replace(it, writes=_writes(way)) for it in made.servers))
        if knobs:
            servers = (replace(it, stack=replace(it.stack, **knobs)) for it in made.servers)
            made = replace(made, servers=tuple(servers))
        yield made


def _alternatives(figures: dict[str, Figure], name: str) -> tuple[str, ...]:
    return figures[name].alternatives if name in figures else ()


def _with_stack(scenario: Scenario, figures: dict[str, Figure], name: str) -> Scenario:
    """Both ends with this stack where both can have it: hosts that look alike are taken to be."""
    made = replace(
        scenario,
        servers=tuple(replace(it, stack=_as(it.stack, figures["server.stack"], name)) for it in scenario.servers),
    )
    client = figures.get("client.stack")
    if client is None or name not in client.alternatives:
        return made
    return replace(
        made, browsers=tuple(replace(it, stack=_as(it.stack, client, name)) for it in scenario.browsers)
    )


def _as(stack: Stack, inferred: Figure, name: str) -> Stack:
    """Another stack with all that the capture showed of the inferred one."""
    preset = PRESETS[str(inferred.value)].stack
    told = [
        field.name
        for field in fields(Stack)
        if field.name in _SEEN or getattr(stack, field.name) != getattr(preset, field.name)
    ]
    return replace(PRESETS[name].stack, **{field: getattr(stack, field) for field in told})


def _writes(words: str) -> Writes:
    """The way of writing that the figure's words tell."""
    chunk, gap = _CHUNK.search(words), _GAP.search(words)
    return Writes(
        head_alone="head alone" in words,
        chunk_bytes=int(chunk[1]) if chunk else None,
        gap=nanoseconds(gap[1]) if gap else 0,
    )
