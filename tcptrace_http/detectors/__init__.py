"""The detectors: one file a pathology, and here the one list of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors import (
    head_of_line_blocking,
    odd_short_final_segment,
    request_lull,
    short_initial_segment,
    slow_start_restart,
)
from tcptrace_http.detectors._detector import Detector, as_findings, detector
from tcptrace_http.schema import TABLES, polars_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import polars as pl

__all__ = ["DETECTORS", "Detector", "findings_of_pages", "findings_of_waits", "in_order", "shaping_findings"]

DETECTORS: Final = {
    found.name: found
    for found in map(
        detector,
        (short_initial_segment, odd_short_final_segment, slow_start_restart, request_lull, head_of_line_blocking),
    )
}


def shaping_findings(tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """What those detectors find that judge from the native tables; the waits take their stalls from it.

    ``tables`` holds ``flows``, ``transactions`` and what the detectors read. A detector is passed over
    where all that it reads is empty. The result has the columns of ``schema.TABLES["findings"]``.
    """
    return _findings(
        tables, (each for each in DETECTORS.values() if not each.reads_waits and not each.reads_pages)
    )


def findings_of_waits(tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """What those detectors find that read the finished ``waits``; else as :func:`shaping_findings`."""
    return _findings(tables, (each for each in DETECTORS.values() if each.reads_waits and not each.reads_pages))


def findings_of_pages(tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """What those detectors find that read the tables of pages; else as :func:`shaping_findings`."""
    return _findings(tables, (each for each in DETECTORS.values() if each.reads_pages))


def _findings(tables: Mapping[str, pl.DataFrame], detectors: Iterable[Detector]) -> pl.DataFrame:
    import polars as pl

    has_rows = {name for name, frame in tables.items() if not frame.is_empty()}
    found = [as_findings(each, tables) for each in detectors if has_rows.intersection(each.reads)]
    if not found:
        return pl.DataFrame(schema=polars_schema(TABLES["findings"]))
    return in_order(pl.collect_all(found))


def in_order(found: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """All these findings, the greatest loss first."""
    import polars as pl

    order = ["lost", "flow", "transaction", "first_frame", "detector"]
    descending = [True, False, False, False, False]
    return pl.concat(found).sort(order, descending=descending, nulls_last=True, maintain_order=True)
