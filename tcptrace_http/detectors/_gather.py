"""How detectors that look over several flows keep rows of a capture that comes in parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import polars as pl

__all__ = ["Gather"]


@dataclass(frozen=True, slots=True)
class Gather:
    """What is kept of each part of a capture, for detectors that look over several flows.

    A long capture comes in parts (:func:`tcptrace_http.analysis.analyze_in_batches`). ``rows`` are those
    of one part. ``merged`` drops from the rows of several parts what is beyond a limit: merging parts
    one by one must give what merging all of them at once gives, so that findings do not depend on the
    parts.
    """

    name: str
    rows: Callable[[Mapping[str, pl.DataFrame]], pl.LazyFrame]
    merged: Callable[[pl.LazyFrame], pl.LazyFrame]
    #: The native table that the rows come from: where that lacks some, these do.
    table: str
    #: Several rows may become one; else a row that is not there any more was beyond the limit.
    adds_up: bool = False
