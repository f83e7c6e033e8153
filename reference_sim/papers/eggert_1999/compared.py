"""How far apart a time of ours and a range of the paper may be."""

from __future__ import annotations

from typing import Final

from reference_sim.reproduction.verdict import Comparison, Mean

__all__ = ["SHARE", "SHARE_REASON", "compared", "same"]

#: Gains are shares of a page's time. 5 points: one round trip of 0.1 s, which one more or less packet
#: of an object costs in slow start, is about so much of the 1 to 3 s that the pages take, and of the
#: objects' sizes only ranges of whole kilobytes are printed.
TOLERANCE: Final = 0.05
#: Still the shape: the sign and the rough size of a gain.
SHAPE_TOLERANCE: Final = 0.15
#: Ratios and seconds, relative.
RELATIVE_TOLERANCE: Final = 0.10
RELATIVE_SHAPE_TOLERANCE: Final = 0.30
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
    what: str, published: float | tuple[float, float], ours: float, *, relative: bool = False
) -> Comparison:
    """A gain beside the published one, or its range; or a ratio."""
    return Comparison(
        what=what,
        unit="",
        published=published,
        ours=Mean(ours),
        tolerance=RELATIVE_TOLERANCE if relative else TOLERANCE,
        shape_tolerance=RELATIVE_SHAPE_TOLERANCE if relative else SHAPE_TOLERANCE,
        absolute=not relative,
    )


def same(what: str, ratio: float) -> Comparison:
    """The ratio of two times that the paper says are the same."""
    return Comparison(
        what=what,
        unit="",
        published=1.0,
        ours=Mean(ratio),
        tolerance=SAME_TOLERANCE,
        shape_tolerance=SAME_SHAPE_TOLERANCE,
        absolute=True,
    )
