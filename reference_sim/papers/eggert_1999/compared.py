"""Tolerances between our times and the paper's ranges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_sim.reproduction.verdict import Comparison, Mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["SHARE", "SHARE_REASON", "compared", "ends", "same"]

#: Relative to the printed gain. The paper prints object sizes only as ranges of whole kilobytes. In slow
#: start, one packet of an object costs an RTT of 0.1 s; the pages take 1 to 3 s.
TOLERANCE: Final = 0.25
#: Tolerance of the shape: the sign and the rough size of a gain.
SHAPE_TOLERANCE: Final = 0.50
#: Gains are printed in whole percent.
ROUNDING: Final = 0.005
#: Ratios and seconds.
RATIO_TOLERANCE: Final = 0.10
RATIO_SHAPE_TOLERANCE: Final = 0.30
#: Tolerance for results that the paper calls identical or unchanged.
SAME_TOLERANCE: Final = 0.02
SAME_SHAPE_TOLERANCE: Final = 0.10
#: Required share of a claim's figures.
SHARE: Final = 0.8
#: Reason for a share below one.
SHARE_REASON: Final = (
    "the place of an object's packets in the queue depends on sizes and positions that are not printed: single"
    " bars differ"
)


def compared(
    what: str, published: float | tuple[float, float], ours: float, *, is_ratio: bool = False
) -> Comparison:
    """Return the comparison of a gain or ratio with the published value or range, with relative tolerances."""
    return Comparison(
        what=what,
        unit="",
        published=published,
        ours=Mean(ours),
        tolerance=RATIO_TOLERANCE if is_ratio else TOLERANCE,
        shape_tolerance=RATIO_SHAPE_TOLERANCE if is_ratio else SHAPE_TOLERANCE,
        neutral=1.0 if is_ratio else 0.0,
        rounding=0.0 if is_ratio else ROUNDING,
    )


def ends(what: str, published: tuple[float, float], ours: Sequence[float]) -> Iterator[Comparison]:
    """Yield the minimum and maximum of several gains, which the paper prints."""
    for end, figure, found in zip(("least", "most"), published, (min(ours), max(ours)), strict=True):
        yield compared(f"{what}, the {end}", figure, found)


def same(what: str, ratio: float) -> Comparison:
    """Return the comparison of two times that the paper calls equal."""
    return Comparison(
        what=what,
        unit="",
        published=1.0,
        ours=Mean(ratio),
        tolerance=SAME_TOLERANCE,
        shape_tolerance=SAME_SHAPE_TOLERANCE,
        absolute=True,
    )
