"""For every detector the rule that says where it must find something, where it may, and where not.

One file a family (``rules_*``); its docstring has the rules in words. They were written before the detectors were,
from the sidecars and the packets alone. Where a rule is a matter of opinion, ``Rule.opinion`` says what of it.
A sidecar may say the truth of its capture itself, under ``truth``: it then stands instead of the rule, and
``judged`` lists the detectors that the capture is about (all others are passed over).
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
    """What each rule says of a capture; the sidecar's own word goes first."""
    said: dict[str, Any] | None = scene.sidecar.get("truth")
    if said is None:
        return {name: rule.judge(scene) for name, rule in RULES.items()}
    judged = scene.sidecar.get("judged", list(said))
    told = {name: _said(said.get(name, {})) for name in judged}
    return {name: told.get(name, ANYWHERE) for name in RULES}


def _said(words: dict[str, Any]) -> Truth:
    """``{"must": [[{"client_port": 1}]], "may": [{}]}``; an empty place is the whole capture."""
    return Truth(
        tuple(tuple(Place(**place) for place in places) for places in words.get("must", [])),
        tuple(Place(**place) for place in words.get("may", [])),
    )
