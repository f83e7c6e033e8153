"""Strategy, presets of both ends and way of writing with the run nearest to a capture."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any, Final

from reference_sim.plan import HttpVersion
from reference_sim.scenario import Writes
from reference_sim.stack import Nagle
from reference_sim.strategy import Strategy
from tcptrace_http.inference.ack_delay import (
    held_acks,
)
from tcptrace_http.inference.figure import seen
from tcptrace_http.inference.stacks import nearest, stack_figure
from tcptrace_http.inference.strategy import signs, strategies_with
from tcptrace_http.inference.streams import order_figure, variants, windows_figures
from tcptrace_http.inference.synthesis import nearest_run
from tcptrace_http.inference.writes import ways_of_writing, writes_figure

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reference_sim.stack import Stack
    from tcptrace_http.inference.figure import Figure
    from tcptrace_http.inference.observed import Observed
    from tcptrace_http.inference.synthesis import Match

from tcptrace_http.inference.parts import Choice, Parts

__all__ = ["NEAR", "Found", "chosen", "otherwise"]

# Number of connections that exceeds any page's objects, as in the simulator's table.
_ALL_AT_ONCE: Final = 100
# Maximum mean distance of a run's packets, as a share of the page time, for a run that explains the capture.
NEAR: Final = 0.01
# Number of the nearest strategies and stacks that are tried with each way of writing.
_LIKELY: Final = 4
_NOTHING: Final[Mapping[str, Any]] = {}
_ONE_WRITE: Final = Writes()


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """Result of the runs, with the distance of the nearest run and its figures."""

    choice: Choice
    writes: Writes
    #: True if no other way of writing was tried.
    keeps_writes: bool
    #: Server knobs that differ from its preset.
    held: Mapping[str, Any]
    off: float
    figures: tuple[Figure, ...]
    #: Server stacks that the runs do not distinguish from the chosen one.
    servers: tuple[Stack, ...]
    #: Nearest choices, best first.
    likely: tuple[Choice, ...]


def chosen(
    parts: Parts,
    *,
    writes: Writes = _ONE_WRITE,
    held: Mapping[str, Any] = _NOTHING,
    keeps_writes: bool = False,
) -> Found:
    """Return the strategy, presets and way of writing with the run nearest to the capture. ``held``: knobs of
    the server.
    """
    match = nearest_run(parts.seen, _choices(parts), partial(parts.scenario, writes=writes, **held))
    best = replace(match.best, server=replace(match.best.server, **held))
    ways = [writes] if keeps_writes else ways_of_writing(parts.seen)
    written = nearest_run(parts.seen, ways, lambda way: parts.scenario(best, writes=way))
    servers = dict.fromkeys(choice.server for choice in match.alike if choice.server != match.best.server)
    return Found(
        choice=best,
        writes=written.best,
        keeps_writes=keeps_writes,
        held=held,
        off=written.off,
        figures=(*_choice_figures(parts, match), *_written_figures(parts, match, written)),
        servers=tuple(servers),
        likely=match.ranked[:_LIKELY],
    )


def otherwise(parts: Parts, usual: Found) -> Found:
    """Return the result with the nearest way of writing and Nagle rule.

    Another strategy or stack is then unnecessary.
    """
    ways = ways_of_writing(parts.seen)
    knobs: tuple[dict[str, Any], ...] = ({}, *({"nagle": rule} for rule in Nagle))
    # Both are varied together: with a wrong way of writing the nearest strategy may be wrong.
    each = [(choice, *pair) for pair in product(ways, knobs) for choice in usual.likely]
    _, way, held = nearest_run(
        parts.seen, each, lambda tried: parts.scenario(tried[0], writes=tried[1], **tried[2])
    ).best
    return chosen(parts, writes=way, held=held)


def _choices(parts: Parts) -> list[Choice]:
    """Return the strategies and presets that the observations allow."""
    rows = strategies_with(signs(parts.seen), shares=parts.shares) or [_as_observed(parts.seen)]
    if parts.most_at_once is not None:
        rows = [_bounded(row, parts.most_at_once) for row in rows]
    clients = nearest(parts.of_client, None, held_acks(parts.seen, parts.reactions()))
    return [
        # Two hosts with the same observations are assumed to be equal.
        Choice(strategy=variant, server=_serving(server, row), client=server if server in clients else clients[0])
        for row in rows
        for variant in (variants(parts.seen, row) if row.http2 else (row,))
        for server in nearest(parts.of_server, parts.window)
    ]


def _serving(stack: Stack, row: Strategy) -> Stack:
    """Return the stack with the usual server knobs of this strategy."""
    return replace(stack, **row.server_stack) if row.http2 else stack


def _bounded(row: Strategy, most: int) -> Strategy:
    """Return the row with at most ``most`` connections."""
    if row.connections is not None and row.connections <= most:
        return row
    return row.but(f"{row.name}, at most {most}", row.about, connections=most)


def _written_figures(parts: Parts, match: Match[Choice], written: Match[Writes]) -> list[Figure]:
    """Return the figures of the server's writes, or of its frames."""
    best = match.best.strategy.http2
    if best is None:
        return [writes_figure(parts.seen, written)]
    streams = [*windows_figures(parts.seen, best), order_figure(parts.seen, best)]
    return [*streams, writes_figure(parts.seen, written)]


def _choice_figures(parts: Parts, match: Match[Choice]) -> list[Figure]:
    best = match.best

    def others(of: str) -> tuple[str, ...]:
        names = dict.fromkeys(getattr(choice, of).name for choice in match.alike)
        return tuple(name for name in names if name != getattr(best, of).name)

    rows = others("strategy")
    how = f"of {match.candidates} runs the nearest: packets {100 * match.off:.3f} % of the page time off"
    if not match.is_conclusive:
        # A poor match proves little: every strategy that requests and connections allow remains possible.
        left = dict.fromkeys(row.name for row in strategies_with(signs(parts.seen), shares=parts.shares))
        rows = tuple(name for name in dict.fromkeys((*rows, *left)) if name != best.strategy.name)
        how = f"{how}, so that another strategy with such requests is also possible"
    strategy = seen(
        "browser.strategy",
        best.strategy.name,
        confidence=max(1 - 5 * match.off, 0.1) / (1 + len(rows)),
        frames=[exchange.request_frame for exchange in parts.seen.exchanges],
        how=how,
        alternatives=rows,
    )
    return [
        strategy,
        stack_figure("server", best.server.name, others("server"), parts.of_server),
        stack_figure("client", best.client.name, others("client"), parts.of_client),
    ]


def _as_observed(what: Observed) -> Strategy:
    """Return a strategy with the observed choices, if no row of the table has them."""
    shown = signs(what)
    return Strategy(
        name="inferred",
        about="as captured",
        version=HttpVersion(shown.version),
        connections=shown.at_once,
        persistent=shown.is_reused or shown.may_persist,
        pipelining=_ALL_AT_ONCE if shown.is_pipelined else 1,
    )
