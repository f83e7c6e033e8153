"""Choices under which a strategy cannot show its paper's effect: one sentence per choice, with its source.

>>> from reference_sim.workloads import published_scenario
>>> scenario = published_scenario("p-http-restart-reset", think=0)
>>> list(contradictions(named_strategy("p-http-restart-reset"), scenario))
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_sim.page import expected
from reference_sim.quantities import nanoseconds, time_text
from reference_sim.stack import Congestion, Nagle
from reference_sim.strategy import Bundling, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from reference_sim.scenario import Browser, Scenario, Server
    from reference_sim.stack import Stack
    from reference_sim.strategy import Strategy

__all__ = ["contradictions"]

_ENSEMBLE: Final = "etcp-"


def contradictions(strategy: Strategy, scenario: Scenario) -> Iterator[str]:
    """Yield the reasons why this scenario hides the effect that the strategy's paper describes."""
    if strategy.protocol is Protocol.FTP or not scenario.servers:
        return
    browser, server = scenario.browsers[0], scenario.servers[0]
    for rule in _RULES:
        found = rule(strategy, browser, server)
        if found is not None:
            yield found


def _delayed_acks_of_ensembles(strategy: Strategy, browser: Browser, server: Server) -> str | None:
    """Check for delayed ACKs under E-TCP: its window grows per ACK and needs immediate ACKs."""
    del server
    acks = browser.stack.acks
    if not str(strategy.server_stack.get("sharing", "")).startswith(_ENSEMBLE) or acks.every <= 1:
        return None
    return (
        f"stack {_named(browser.stack)} delays ACKs, and E-TCP works only with immediate ACKs"
        " (Eggert 1999, section 3.3); use --stack reno-ns"
    )


def _pause_of_restarts(strategy: Strategy, browser: Browser, server: Server) -> str | None:
    """Check that the pause exceeds the RTO: only then is the window idle (RFC 5681, section 4.1)."""
    if "idle_restart" not in strategy.server_stack or strategy.plan is None:
        return None
    least = nanoseconds(server.stack.retransmission.min)
    pause = round(expected(browser.think))
    if pause > least:
        return None
    return (
        f"a pause of {time_text(pause)} does not exceed the minimum RTO"
        f" ({time_text(least)}): no window restarts (Heidemann 1996, section 2.4); use --think 3s"
    )


def _stalls_of_apache(strategy: Strategy, browser: Browser, server: Server) -> str | None:
    """Check for Nagle at the server and delayed ACKs at the client: Heidemann's stalls need both."""
    is_apache = strategy.writes.chunk_bytes is not None
    if not is_apache or "nagle" in strategy.server_stack:
        return None
    acks = browser.stack.acks
    why = None
    if server.stack.nagle is Nagle.OFF:
        why = f"stack {_named(server.stack)} has Nagle's algorithm off"
    elif acks.quick_acks is not None:
        why = f"stack {_named(browser.stack)} acknowledges the first segments at once"
    elif acks.every <= 1:
        why = f"stack {_named(browser.stack)} acknowledges every segment at once"
    if why is None:
        return None
    return (
        f"{why}: the stalls of Nagle's algorithm and delayed ACKs are shorter or missing"
        " (Heidemann 1996, sections 2.2 and 2.3); use --stack sunos-4.1.3"
    )


def _first_windows(strategy: Strategy, browser: Browser, server: Server) -> str | None:
    """Check for slow start: without it, the initial window has no effect."""
    del browser
    if "initial_window" not in strategy.server_stack or server.stack.congestion is not Congestion.FIXED_WINDOW:
        return None
    return (
        f"stack {_named(server.stack)} has no slow start: the strategy's initial window has no effect"
        " (Bhalekar 2003, section 4.2.2; Kruse 2001, section 2.2)"
    )


def _one_object(strategy: Strategy, browser: Browser, server: Server) -> str | None:
    """Check for a page of one object: the numbers of connections and open requests have no effect there."""
    del server
    page = browser.visits[0].page
    differs = strategy.connections != 1 or strategy.pipelining > 1 or strategy.bundling is not Bundling.NONE
    if len(page.objects) > 1 or not differs or strategy.plan is not None:
        return None
    return f"page {page.name} is one object: all strategies are equal (Bhalekar 2003, section 4.4)"


def _compressed_text(strategy: Strategy, browser: Browser, server: Server) -> str | None:
    """Check for a page of images: images are compressed already."""
    del server
    if strategy.encoding is None or any(part.is_text for part in browser.visits[0].page.objects):
        return None
    return "the page has no text, and images are already compressed (Bhalekar 2003, section 3.3)"


def _split_requests(strategy: Strategy, browser: Browser, server: Server) -> str | None:
    """Check for Nagle at the client: the rest of a split request waits for the ACK of its first part."""
    del server
    if strategy.split_request is None or browser.stack.nagle is not Nagle.OFF:
        return None
    return (
        f"stack {_named(browser.stack)} has Nagle's algorithm off: the second part of the request does not wait"
        " (Kruse 2001, section 5.3.2)"
    )


def _named(stack: Stack) -> str:
    """Return the name of the preset, before the strategy changed its fields."""
    return stack.name.partition(" for ")[0]


_RULES: Final[tuple[Callable[[Strategy, Browser, Server], str | None], ...]] = (
    _delayed_acks_of_ensembles,
    _pause_of_restarts,
    _stalls_of_apache,
    _first_windows,
    _one_object,
    _compressed_text,
    _split_requests,
)
