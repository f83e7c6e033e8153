"""One inferred quantity: its value, how far it can be off, and what it was read from."""

from __future__ import annotations

from dataclasses import dataclass, replace

__all__ = ["Figure", "assumed", "seen"]

#: What a figure can be: a number, a word, or whether something is so.
Value = int | float | str | bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Figure:
    """A quantity of a scenario as a capture shows it, or an assumption where it shows none."""

    #: Its place in the scenario: ``path.rtt``, ``server.initial_window``.
    name: str
    value: Value | None
    #: The least and the most that it can be by what was seen; None: no bound is known.
    low: Value | None = None
    high: Value | None = None
    #: ``ns``, ``b/s``, ``B``, ``segments``; empty for words.
    unit: str = ""
    #: 0 to 1. 0: assumed, 1: the capture leaves no choice.
    confidence: float = 0.0
    #: Frames of the capture that it came from; the first few where there are many.
    frames: tuple[int, ...] = ()
    #: By what method it was found.
    how: str = ""
    #: The capture does not show it: ``reason`` says why, and what stands for it.
    is_assumed: bool = False
    reason: str = ""
    #: Other values that this capture would look the same with.
    alternatives: tuple[str, ...] = ()

    def named(self, name: str) -> Figure:
        """The same figure under another name."""
        return replace(self, name=name)


#: So many frames show where a figure is from; more would be a table of its own.
_FRAMES_SHOWN = 8


def seen(  # noqa: PLR0913 -- the parts of a figure
    name: str,
    value: Value,
    *,
    how: str,
    frames: tuple[int, ...] | list[int],
    confidence: float,
    low: Value | None = None,
    high: Value | None = None,
    unit: str = "",
    alternatives: tuple[str, ...] = (),
) -> Figure:
    """What the capture shows; without bounds, exactly the value."""
    return Figure(
        name=name,
        value=value,
        low=value if low is None else low,
        high=value if high is None else high,
        unit=unit,
        confidence=round(min(max(confidence, 0.0), 1.0), 3),
        frames=tuple(frames)[:_FRAMES_SHOWN],
        how=how,
        alternatives=alternatives,
    )


def assumed(
    name: str,
    value: Value | None,
    *,
    reason: str,
    low: Value | None = None,
    high: Value | None = None,
    unit: str = "",
) -> Figure:
    """What the capture does not show, and why."""
    return Figure(name=name, value=value, low=low, high=high, unit=unit, is_assumed=True, reason=reason)
