"""Rules per detector: where a finding is required, where permitted, and where wrong.

Each family has a file (``rules_*``), whose docstring states the rules in words. The rules were written before
the detectors, from the sidecars and the packets alone. ``Rule.opinion`` names debatable parts of a rule. A
sidecar may state the truth of its capture itself, under ``truth``. This replaces the rule, and ``judged``
lists the detectors that the capture covers (all others are skipped).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from . import (
    rules_connections,
    rules_limits,
    rules_losses,
    rules_objects,
    rules_quality,
    rules_requests,
    rules_segments,
)
from .scene import ANYWHERE, Place, Truth

if TYPE_CHECKING:
    from .scene import Rule, Scene

__all__ = ["RULES", "truth_by_detector"]

_FAMILIES: Final = (
    rules_segments,
    rules_connections,
    rules_requests,
    rules_objects,
    rules_losses,
    rules_limits,
    rules_quality,
)
RULES: Final[dict[str, Rule]] = {name: rule for family in _FAMILIES for name, rule in family.RULES.items()}


def truth_by_detector(scene: Scene) -> dict[str, Truth]:
    """Return each rule's verdict on a capture; the sidecar's own truth has priority."""
    said: dict[str, Any] | None = scene.sidecar.get("truth")
    if said is None:
        return {name: rule.judge(scene) for name, rule in RULES.items()}
    judged = scene.sidecar.get("judged", list(said))
    told = {name: _said(said.get(name, {})) for name in judged}
    return {name: told.get(name, ANYWHERE) for name in RULES}


def _said(words: dict[str, Any]) -> Truth:
    """Return places from ``{"must": [[{"client_port": 1}]], "may": [{}]}``; ``{}`` is the whole capture."""
    return Truth(
        tuple(tuple(Place(**place) for place in places) for places in words.get("must", [])),
        tuple(Place(**place) for place in words.get("may", [])),
    )
