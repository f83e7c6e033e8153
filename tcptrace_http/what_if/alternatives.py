"""Alternative hosts that the capture does not distinguish; a prediction can depend on them.

The inference names one stack and one way of writing, and the alternatives with equally near runs. A fix can
help one alternative and not another. For example, 4.4BSD copies a write in steps of 2048 bytes and sends
after each step, which shows only when nothing else holds the data.
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
from tcptrace_http.what_if.strategies import unmodified

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from reference_sim.scenario import Scenario
    from tcptrace_http.inference.figure import Figure

__all__ = ["alike", "undetermined"]

#: Maximum distance of a retrieval whose hosts also explain the capture.
_ALIKE: Final = 0.01
#: Stack properties that SYNs and windows show.
_SEEN: Final = ("mss", "window_scale", "timestamps", "sack", "receive_buffer", "initial_window")
_OPEN: Final = ("server.stack", "server.writes", "server.nagle", "server.idle_restart")
_CHUNK: Final = re.compile(r"(\d+) B per write")
_GAP: Final = re.compile(r"([\d.]+ \w+) between writes")


def alike(scenario: Scenario, figures: Sequence[Figure]) -> tuple[Scenario, ...]:
    """Return the scenario and its alternatives, fewest unobserved behaviours first.

    :raises ScenarioError: the scenario does not finish.
    """
    by_name = {figure.name: figure for figure in figures}
    took = elapsed_of(unmodified(scenario))
    found = [scenario]
    for other in _others(scenario, by_name):
        if other not in found and abs(elapsed_of(unmodified(other)) - took) <= _ALIKE * took:
            found.append(other)
    return tuple(sorted(found, key=_peculiarities))


def undetermined(figures: Sequence[Figure]) -> dict[str, tuple[str, ...]]:
    """Return the server figures for which the capture allows several values."""
    return {
        figure.name: (str(figure.value), *figure.alternatives)
        for figure in figures
        if figure.name in _OPEN and figure.alternatives
    }


def _peculiarities(scenario: Scenario) -> int:
    """Return the number of a stack's behaviours that such a capture does not show; they are no basis for a
    prediction.
    """
    return sum(server.stack.write_step_bytes is not None for server in scenario.servers)


def _others(scenario: Scenario, figures: dict[str, Figure]) -> Iterator[Scenario]:
    """Yield every combination of the open values, the inferred choice first."""
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
        # Also without the preset's behaviours that the capture need not show.
        yield replace(
            made,
            servers=tuple(
                replace(server, stack=replace(server.stack, write_step_bytes=None)) for server in made.servers
            ),
        )


def _alternatives(figures: dict[str, Figure], name: str) -> tuple[str, ...]:
    return figures[name].alternatives if name in figures else ()


def _with_stack(scenario: Scenario, figures: dict[str, Figure], name: str) -> Scenario:
    """Return the scenario with this stack at both ends if both allow it: similar hosts are assumed equal."""
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
    """Return another stack with all captured properties of the inferred one."""
    preset = PRESETS[str(inferred.value)].stack
    told = [
        field.name
        for field in fields(Stack)
        if field.name in _SEEN or getattr(stack, field.name) != getattr(preset, field.name)
    ]
    return replace(PRESETS[name].stack, **{field: getattr(stack, field) for field in told})


def _writes(words: str) -> Writes:
    """Return the way of writing that the figure's words describe."""
    chunk, gap = _CHUNK.search(words), _GAP.search(words)
    return Writes(
        head_alone="head alone" in words,
        chunk_bytes=int(chunk[1]) if chunk else None,
        gap=nanoseconds(gap[1]) if gap else 0,
    )
