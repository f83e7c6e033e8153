"""The pages of a capture, gathered from all its batches: a page may have transactions in any of them.

The core groups them; polars is needed only where a detector of pages may find something.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

from tcptrace_http.schema import TABLES
from tcptrace_http.trace import empty_frame, frame_of, native

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

__all__ = ["PAGE_TABLES", "Pages"]

#: The tables that are made here.
PAGE_TABLES: Final = ("retrievals", "retrieval_transactions", "critical_path")
#: Of what pages are made from, of a whole capture: some 200,000 transactions. To group them takes three times
#: that.
PAGES_BYTES_MAX: Final = 64 << 20
#: Pages without so many transactions on one connection with such a round trip have no ``request-lull``: its
#: least number of lulls, each between two of them, and the document and the first object beside them.
CHAIN_LULLS_MIN: Final = 2
CHAIN_RTT_MIN_NS: Final = 5_000_000


class Pages:
    """Takes what pages are made from, batch by batch, and makes their tables when all is there."""

    def __init__(self, bytes_max: int = PAGES_BYTES_MAX) -> None:
        """There are no pages where all that they are made from takes more memory."""
        self._gathered = native.Pages(bytes_max)

    def add(self, rows: native.Rows, stalled: Sequence[tuple[int, int, str, int, int]]) -> None:
        """Add the rows of a batch. ``stalled`` are the waits of those transactions that have others than the
        core's: flow, transaction, cause, and start and end in nanoseconds, in order.
        """
        self._gathered.add(rows, stalled)

    @property
    def complaint(self) -> str | None:
        """What to say where there was too much to make all pages of it."""
        return self._gathered.complaint() or self.rows.complaint()

    @cached_property
    def rows(self) -> native.PageRows:
        """The tables of pages in the core, made when all is there."""
        return self._gathered.tables()

    def table(self, name: str) -> pl.DataFrame:
        """One of ``PAGE_TABLES``."""
        return frame_of(self.rows.table(name), TABLES[name])

    @property
    def has_candidates(self) -> bool:
        """Whether a detector of pages may find something."""
        return self._gathered.has_chain(self.rows, CHAIN_LULLS_MIN + 2, CHAIN_LULLS_MIN, CHAIN_RTT_MIN_NS)

    @cached_property
    def findings(self) -> pl.DataFrame:
        """What the detectors of pages find."""
        if not self.has_candidates:
            return empty_frame(TABLES["findings"])
        from tcptrace_http.detectors import findings_of_pages

        gathered = {name: self.source(name) for name in ("flows", "transactions", "flaws")}
        return findings_of_pages(gathered | {name: self.table(name) for name in PAGE_TABLES})

    def source(self, name: str) -> pl.DataFrame:
        """What the pages were made from: some columns of flows, transactions or flaws."""
        import polars as pl

        source = self._gathered.source(name)
        only = frozenset(pl.DataFrame(source).columns)
        return frame_of(source, TABLES[name], statistics=False, only=only)
