"""Pages of a capture, gathered from all batches: a page may have transactions in any batch.

The core groups the transactions. Polars is needed only if a page detector may find something.
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

#: Tables made by this module.
PAGE_TABLES: Final = ("retrievals", "retrieval_transactions", "critical_path")
#: Maximum memory for the rows of pages of a whole capture: about 200,000 transactions. Grouping takes three
#: times that.
PAGES_BYTES_MAX: Final = 64 << 20
#: Minimum number of lulls on one connection, and their minimum round trip, for ``request-lull``. Each lull
#: lies between two transactions, besides the document and the first object.
CHAIN_LULLS_MIN: Final = 2
CHAIN_RTT_MIN_NS: Final = 5_000_000


class Pages:
    """Collector of the rows of pages, batch by batch; makes the page tables at the end."""

    def __init__(self, bytes_max: int = PAGES_BYTES_MAX) -> None:
        """Make an empty collector. If the rows need more than ``bytes_max``, the capture gets no pages."""
        self._gathered = native.Pages(bytes_max)

    def add(self, rows: native.Rows, stalled: Sequence[tuple[int, int, str, int, int]]) -> None:
        """Add the rows of a batch.

        ``stalled`` has the waits of transactions whose waits differ from the core's: flow, transaction,
        cause, and start and end in nanoseconds, in order.
        """
        self._gathered.add(rows, stalled)

    @property
    def complaint(self) -> str | None:
        """Return the complaint if the capture was too large for all its pages."""
        return self._gathered.complaint() or self.rows.complaint()

    @cached_property
    def rows(self) -> native.PageRows:
        """Return the page tables in the core, made from all batches."""
        return self._gathered.tables()

    def table(self, name: str) -> pl.DataFrame:
        """Return one of ``PAGE_TABLES``."""
        return frame_of(self.rows.table(name), TABLES[name])

    @property
    def has_candidates(self) -> bool:
        """Return whether a page detector may find something."""
        return self._gathered.has_chain(self.rows, CHAIN_LULLS_MIN + 2, CHAIN_LULLS_MIN, CHAIN_RTT_MIN_NS)

    @cached_property
    def findings(self) -> pl.DataFrame:
        """Return the findings of the page detectors."""
        if not self.has_candidates:
            return empty_frame(TABLES["findings"])
        from tcptrace_http.detectors import findings_of_pages

        gathered = {name: self.source(name) for name in ("flows", "transactions", "flaws")}
        return findings_of_pages(gathered | {name: self.table(name) for name in PAGE_TABLES})

    def source(self, name: str) -> pl.DataFrame:
        """Return the source rows of the pages: certain columns of flows, transactions or flaws."""
        import polars as pl

        source = self._gathered.source(name)
        only = frozenset(pl.DataFrame(source).columns)
        return frame_of(source, TABLES[name], statistics=False, only=only)
