"""The detectors: one file a pathology, and here the one list of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors import (
    competing_bundle,
    connection_per_request,
    idle_timeout_race,
    initial_window,
    keep_alive_refused,
    lost_pipelined_requests,
    odd_short_final_segment,
    parallel_connection_burst,
    refused_connection,
    repeated_slow_start,
    reset_in_response,
    short_initial_segment,
    slow_start_restart,
    truncated_response,
)
from tcptrace_http.detectors._detector import Detector, as_findings, detector
from tcptrace_http.schema import TABLES, polars_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import polars as pl

__all__ = [
    "DETECTORS",
    "Detector",
    "Gathered",
    "findings_of_waits",
    "findings_over_flows",
    "in_order",
    "shaping_findings",
]

DETECTORS: Final = {
    found.name: found
    for found in map(
        detector,
        (
            short_initial_segment,
            odd_short_final_segment,
            slow_start_restart,
            connection_per_request,
            keep_alive_refused,
            parallel_connection_burst,
            competing_bundle,
            repeated_slow_start,
            initial_window,
            idle_timeout_race,
            lost_pipelined_requests,
            refused_connection,
            reset_in_response,
            truncated_response,
        ),
    )
}

_OF_FLOWS: Final = tuple(each for each in DETECTORS.values() if not each.is_of_capture)
#: What the detectors of the whole capture gather; several may gather the same.
_GATHERS: Final = tuple({gather.name: gather for each in DETECTORS.values() for gather in each.gathers}.values())


def shaping_findings(tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """What those detectors find that judge from the native tables; the waits take their stalls from it.

    ``tables`` holds ``flows``, ``transactions`` and what the detectors read. A detector is passed over
    where all that it reads is empty. The result has the columns of ``schema.TABLES["findings"]``.
    """
    return _findings(tables, (each for each in _OF_FLOWS if not each.reads_waits))


def findings_of_waits(tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """What those detectors find that read the finished ``waits``; else as :func:`shaping_findings`."""
    return _findings(tables, (each for each in _OF_FLOWS if each.reads_waits))


def findings_over_flows(gathered: Gathered) -> pl.DataFrame:
    """What those detectors find that look over all flows of a capture; else as :func:`shaping_findings`."""
    return _findings(gathered.tables, (each for each in DETECTORS.values() if each.is_of_capture))


class Gathered:
    """What is kept of the parts of a capture for the detectors that look over all of it.

    Memory is that of what :attr:`Gather.merged` lets through, and does not grow with the capture.
    """

    def __init__(self) -> None:
        self.tables: dict[str, pl.DataFrame] = {}

    def add(self, tables: Mapping[str, pl.DataFrame]) -> None:
        """Takes the next part of the capture, given as to :func:`shaping_findings`."""
        import polars as pl

        parts = pl.collect_all([each.rows(tables) for each in _GATHERS])
        for each, part in zip(_GATHERS, parts, strict=True):
            known = self.tables.get(each.name)
            rows = part if known is None else pl.concat([known, part])
            self.tables[each.name] = each.merged(rows.lazy()).collect()


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
