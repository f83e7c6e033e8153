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
    from collections.abc import Mapping

    import polars as pl

__all__ = ["DETECTORS", "Detector", "findings"]

DETECTORS: Final = {
    found.name: found
    for found in map(detector, (short_initial_segment, odd_short_final_segment, slow_start_restart))
}


def findings(tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """What all detectors find, the greatest loss first.

    ``tables`` holds the frames ``flows``, ``transactions``, ``pauses`` and ``flights``; the result
    has the columns of ``schema.TABLES["findings"]``.
    """
    import polars as pl

    found = [as_findings(each, tables) for each in DETECTORS.values()]
    order = ["lost", "flow", "transaction", "first_frame"]
    return pl.concat(found).sort(order, descending=[True, False, False, False]).collect()
