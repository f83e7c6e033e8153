"""Fix: a named change of a scenario that an operator could make."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_sim.scenario import Scenario

__all__ = ["Fix", "Side", "changed", "together"]


class Side(StrEnum):
    """Party that must change something."""

    SERVER = "server"
    CLIENT = "client"
    BOTH = "both"
    PATH = "path"


@dataclass(frozen=True, kw_only=True, slots=True)
class Fix:
    """Change of a scenario; a second application has no effect."""

    #: Stable name in kebab-case.
    name: str
    about: str
    #: Source of the fix.
    source: str
    side: Side
    #: Function that returns the fixed scenario, or None without a change; ``unneeded`` then gives the reason.
    apply: Callable[[Scenario], Scenario | None]
    unneeded: str
    #: Detectors whose findings the fix removes.
    fixed_findings: tuple[str, ...] = ()
    #: True for a practical fix; False for a bound of the possible gain.
    is_practical: bool = True


def changed(before: Scenario, after: Scenario) -> Scenario | None:
    """Return the second scenario if it differs."""
    return None if after == before else after


def together(fixes: tuple[Fix, ...]) -> Callable[[Scenario], Scenario | None]:
    """Return the applicable fixes as one, in order."""

    def apply(scenario: Scenario) -> Scenario | None:
        fixed = scenario
        for fix in fixes:
            fixed = fix.apply(fixed) or fixed
        return changed(scenario, fixed)

    return apply
