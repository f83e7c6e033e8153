"""Rows that detectors of several flows keep of a capture that arrives in parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import polars as pl

__all__ = ["Gather"]


@dataclass(frozen=True, slots=True)
class Gather:
    """Rows kept from each part of a capture for detectors that compare several flows.

    A long capture arrives in parts (:func:`tcptrace_http.analysis.analyze_in_batches`). ``rows`` selects the
    rows of one part. ``merged`` drops the rows of several parts that exceed a limit. Merging part by part
    must give the same result as one merge of all parts. Findings then do not depend on the parts.
    """

    name: str
    rows: Callable[[Mapping[str, pl.DataFrame]], pl.LazyFrame]
    merged: Callable[[pl.LazyFrame], pl.LazyFrame]
    #: Native table of the rows. If the core cut rows of that table, the gathered rows are incomplete too.
    table: str
    #: True if several rows may become one. Otherwise a missing row was cut at a limit.
    adds_up: bool = False
