"""Captures of a unit: small ones are judged together, the others separately."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from tcptrace_http.corpus.rows import labelled, tables_of
from tcptrace_http.corpus.together import Together, UnnamedHost, is_simple

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

    from tcptrace_http.analysis import Analysis

    Tables = dict[str, pl.DataFrame]

__all__ = ["Group"]


class Group:
    """Collector of captures that returns their rows in large groups."""

    def __init__(self, unit: str) -> None:
        self._unit = unit
        self._simple: list[tuple[Analysis, str, int]] = []
        self._together = Together()

    def tables_of(self, parts: Iterator[Analysis], label: str, number: int) -> Iterator[Tables]:
        """Yield rows, and take a capture with the name ``label`` and a ``number`` of 64 bits."""
        first = next(parts)
        if not first.is_last or not is_simple(first):
            yield from self._alone(chain([first], parts), label, number)
            return
        # The capture is complete: this call lets the reader record its end.
        next(parts, None)
        self._simple.append((first, label, number))
        self._together.add(first)
        if self._together.is_full:
            yield from self.rest()

    def rest(self) -> Iterator[Tables]:
        """Yield the rows of the captures that are still pending."""
        simple, together = self._simple, self._together
        self._simple, self._together = [], Together()
        if len(simple) > 1:
            try:
                tables = together.tables()
            except UnnamedHost:
                # A finding about several flows may belong to any capture, so each is judged separately.
                pass
            else:
                yield {
                    name: labelled(frame, self._unit, [(label, number) for _, label, number in simple])
                    for name, frame in tables.items()
                    if not frame.is_empty()
                }
                return
        for analysis, label, number in simple:
            yield from self._alone(iter([analysis]), label, number)

    def _alone(self, parts: Iterator[Analysis], label: str, number: int) -> Iterator[Tables]:
        for tables in tables_of(parts):
            yield {
                name: labelled(frame, self._unit, [(label, number)])
                for name, frame in tables.items()
                if not frame.is_empty()
            }
