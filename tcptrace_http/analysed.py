"""Tables of an analysis, as charts, views and the verdict need them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import polars as pl

    from tcptrace_http.trace import Provenance

__all__ = ["Analysed"]


class Analysed(Protocol):
    """Tables by name; ``schema.TABLES`` describes their columns."""

    @property
    def capture(self) -> Provenance:
        """Return the origin of the rows."""

    @property
    def segments(self) -> pl.DataFrame:
        """Return one row per TCP segment."""

    @property
    def flows(self) -> pl.DataFrame:
        """Return one row per TCP connection."""

    @property
    def transactions(self) -> pl.DataFrame:
        """Return one row per HTTP request and its response."""

    @property
    def waits(self) -> pl.DataFrame:
        """Return one row per interval of a transaction with one cause."""

    @property
    def findings(self) -> pl.DataFrame:
        """Return one row per finding."""

    @property
    def retrieval_transactions(self) -> pl.DataFrame:
        """Return one row per transaction of a page."""

    @property
    def critical_path(self) -> pl.DataFrame:
        """Return one row per interval of a page's time."""

    def table(self, name: str) -> pl.DataFrame:
        """Return the table of that name."""
