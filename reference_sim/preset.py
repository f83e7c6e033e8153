"""Stack with the source of each of its knobs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reference_sim.stack import Stack

__all__ = ["Preset"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Preset:
    """Stack, the implementation that it models, and the source of each knob."""

    stack: Stack
    about: str
    #: Field of :class:`~reference_sim.stack.Stack` to the source of its value; ``*``: all other fields.
    source: Mapping[str, str]

    def source_of(self, knob: str) -> str:
        """Return the source of this knob's value."""
        return self.source.get(knob, self.source["*"])

    def but(self, name: str, about: str, source: Mapping[str, str], **knobs: Any) -> Preset:
        """Return a derived preset with other knobs, each with its own source."""
        missing = knobs.keys() - source.keys()
        if missing:
            raise ValueError(f"{name}: no source for {', '.join(sorted(missing))}")
        return Preset(stack=replace(self.stack, name=name, **knobs), about=about, source={**self.source, **source})
