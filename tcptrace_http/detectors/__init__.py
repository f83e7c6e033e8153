"""The detectors: one file a pathology, and here the one list of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors import (
    odd_short_final_segment,
    short_initial_segment,
    slow_start_restart,
)
from tcptrace_http.detectors._detector import Detector, as_findings, detector

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import polars as pl

__all__ = ["DETECTORS", "Detector", "findings", "in_order"]

DETECTORS: Final = {
    found.name: found
    for found in map(detector, (short_initial_segment, odd_short_final_segment, slow_start_restart))
}


def findings(tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """What all detectors find, the greatest loss first.

    ``tables`` holds the frames ``flows``, ``transactions``, ``pauses`` and ``flights``; the result
    has the columns of ``schema.TABLES["findings", "in_order"]``.
    """
    return in_order([as_findings(each, tables).collect() for each in DETECTORS.values()])


def in_order(found: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """All these findings, the greatest loss first."""
    import polars as pl

    order = ["lost", "flow", "transaction", "first_frame"]
    return pl.concat(found).sort(order, descending=[True, False, False, False], maintain_order=True)
