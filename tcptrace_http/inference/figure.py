"""Inferred quantity: its value, its bounds, and its evidence."""

from __future__ import annotations

from dataclasses import dataclass, replace

__all__ = ["Figure", "assumed", "seen"]

#: Value of a figure: a number, a word, or a truth value.
Value = int | float | str | bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Figure:
    """Quantity of a scenario as the capture shows it, or an assumption if the capture does not."""

    #: Place in the scenario: ``path.rtt``, ``server.initial_window``.
    name: str
    value: Value | None
    #: Bounds that the observations allow; None for an unknown bound.
    low: Value | None = None
    high: Value | None = None
    #: ``ns``, ``b/s``, ``B``, ``segments``; empty for words.
    unit: str = ""
    #: Confidence from 0 (assumed) to 1 (the capture allows no other value).
    confidence: float = 0.0
    #: Frames of the capture as evidence; only the first ones if there are many.
    frames: tuple[int, ...] = ()
    #: Method of the inference.
    how: str = ""
    #: True if the capture does not show the figure. ``reason`` names the cause and the substitute.
    is_assumed: bool = False
    reason: str = ""
    #: Other values with which this capture would look the same.
    alternatives: tuple[str, ...] = ()

    def named(self, name: str) -> Figure:
        """Return the same figure under another name."""
        return replace(self, name=name)


#: Maximum number of evidence frames per figure.
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
    """Return a figure that the capture shows; without bounds the value is exact."""
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
    """Return an assumed figure, with the reason."""
    return Figure(name=name, value=value, low=low, high=high, unit=unit, is_assumed=True, reason=reason)
