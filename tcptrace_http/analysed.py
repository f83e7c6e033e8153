"""What has the tables of an analysis: all that charts, views and the verdict need to know of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import polars as pl

    from tcptrace_http.trace import Provenance

__all__ = ["Analysed"]


class Analysed(Protocol):
    """The tables by their names; ``schema.TABLES`` says what their columns mean."""

    @property
    def capture(self) -> Provenance:
        """Where the rows come from."""

    @property
    def segments(self) -> pl.DataFrame:
        """One row a TCP segment."""

    @property
    def flows(self) -> pl.DataFrame:
        """One row a TCP connection."""

    @property
    def transactions(self) -> pl.DataFrame:
        """One row an HTTP request and its response."""

    @property
    def waits(self) -> pl.DataFrame:
        """One row an interval of a transaction with one cause."""

    @property
    def findings(self) -> pl.DataFrame:
        """One row a named pathology."""

    @property
    def retrieval_transactions(self) -> pl.DataFrame:
        """One row a transaction of a page."""

    @property
    def critical_path(self) -> pl.DataFrame:
        """One row an interval of a page's time."""

    def table(self, name: str) -> pl.DataFrame:
        """The table of that name."""
