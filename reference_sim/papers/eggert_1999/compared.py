"""How far apart a time of ours and a range of the paper may be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_sim.reproduction.verdict import Comparison, Mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["SHARE", "SHARE_REASON", "compared", "ends", "same"]

#: Of the printed gain. Of the objects' sizes only ranges of whole kilobytes are printed, and one packet of an
#: object more or less costs a round trip of 0.1 s in slow start, of 1 to 3 s that the pages take.
TOLERANCE: Final = 0.25
#: Still the shape: the sign and the rough size of a gain.
SHAPE_TOLERANCE: Final = 0.50
#: Gains are printed in whole per cent.
ROUNDING: Final = 0.005
#: Ratios and seconds.
RATIO_TOLERANCE: Final = 0.10
RATIO_SHAPE_TOLERANCE: Final = 0.30
#: What the paper calls identical or unchanged.
SAME_TOLERANCE: Final = 0.02
SAME_SHAPE_TOLERANCE: Final = 0.10
#: So many of a claim's figures must hold.
SHARE: Final = 0.8
#: Why not all.
SHARE_REASON: Final = (
    "where in the queue the packets of one object stand among those of the others depends on sizes and positions "
    "that are not printed: single bars differ"
)


def compared(
    what: str, published: float | tuple[float, float], ours: float, *, is_ratio: bool = False
) -> Comparison:
    """Return a gain beside the published one, or its range; or a ratio. Tolerances are shares of the published."""
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
    """Yield the least and the most of several gains, which the paper prints."""
    for end, figure, found in zip(("least", "most"), published, (min(ours), max(ours)), strict=True):
        yield compared(f"{what}, the {end}", figure, found)


def same(what: str, ratio: float) -> Comparison:
    """Return the ratio of two times that the paper says are the same."""
    return Comparison(
        what=what,
        unit="",
        published=1.0,
        ours=Mean(ratio),
        tolerance=SAME_TOLERANCE,
        shape_tolerance=SAME_SHAPE_TOLERANCE,
        absolute=True,
    )
