"""A fix: a change of a scenario that somebody could make, by its name."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_sim.scenario import Scenario

__all__ = ["Fix", "Side", "changed", "together"]


class Side(StrEnum):
    """Who has to change something."""

    SERVER = "server"
    CLIENT = "client"
    BOTH = "both"
    PATH = "path"


@dataclass(frozen=True, kw_only=True, slots=True)
class Fix:
    """One change; applied twice it is the same as once."""

    #: Stable, in kebab-case.
    name: str
    about: str
    #: Where it is from.
    source: str
    side: Side
    #: The scenario with the fix; None: it changes nothing, for the reason in ``unneeded``.
    apply: Callable[[Scenario], Scenario | None]
    unneeded: str
    #: The detectors whose findings it mends.
    mends: tuple[str, ...] = ()
    #: It can be put into practice as it is; else it is the bound of what could be gained.
    is_practical: bool = True


def changed(before: Scenario, after: Scenario) -> Scenario | None:
    """The second one, where it is another."""
    return None if after == before else after


def together(fixes: tuple[Fix, ...]) -> Callable[[Scenario], Scenario | None]:
    """One fix after the other, those that apply."""

    def apply(scenario: Scenario) -> Scenario | None:
        fixed = scenario
        for fix in fixes:
            fixed = fix.apply(fixed) or fixed
        return changed(scenario, fixed)

    return apply
