"""The pages of a capture, gathered from all its batches: a page may have transactions in any of them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

from tcptrace_http.critical_path import critical_path
from tcptrace_http.retrieval import Retrievals, requests, retrievals
from tcptrace_http.schema import TABLES, polars_schema

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

__all__ = ["PAGE_TABLES", "SOURCES", "Pages"]

#: The tables that are made here.
PAGE_TABLES: Final = ("retrievals", "retrieval_transactions", "critical_path")
#: Those that they are made from, and the columns that are kept of each. Detectors of pages have no others.
SOURCES: Final = {
    "flows": (
        "flow",
        "client",
        "server",
        "server_port",
        "start",
        "has_syn",
        "initial_rtt",
        "server_path_rtt",
        "client_path_rtt",
        "initial_window_segments",
        "segment_bytes",
    ),
    "transactions": (
        "flow",
        "index",
        "method",
        "target",
        "host",
        "referer",
        "status",
        "request_frame",
        "response_first_frame",
        "request_time",
        "request_last_time",
        "response_first_time",
        "response_last_time",
        "last_ack_time",
        "start_time",
        "end_time",
        "response_wire_bytes",
        "content_type",
        "location",
        "pipelined",
    ),
    "links": ("flow", "transaction", "time", "url", "base"),
    "waits": ("flow", "transaction", "cause", "start", "end"),
    "flaws": ("flow", "flaw"),
}
#: Of these columns of a whole capture: some 200,000 transactions. To group them takes three times that.
PAGES_BYTES_MAX: Final = 64 << 20


class Pages:
    """Takes what pages are made from, batch by batch, and makes their tables when all is there."""

    def __init__(self, bytes_max: int = PAGES_BYTES_MAX) -> None:
        self._parts: dict[str, list[pl.DataFrame]] = {name: [] for name in SOURCES}
        self._bytes_max = bytes_max
        self._bytes = 0
        self._left_out = 0

    def add(self, tables: Mapping[str, pl.DataFrame]) -> None:
        """Add the rows of a batch: a frame for each of ``SOURCES``.

        Where all of them take too much, there are no pages: those of a part of a capture would be wrong.
        """
        taken = {name: tables[name].select(columns) for name, columns in SOURCES.items()}
        self._bytes += sum(int(frame.estimated_size()) for frame in taken.values())
        if self._bytes > self._bytes_max:
            self._left_out += taken["transactions"].height + self.table("transactions").height
            self._parts = {name: [] for name in SOURCES}
            return
        for name, frame in taken.items():
            self._parts[name].append(frame)

    @property
    def complaint(self) -> str | None:
        """What to say where there are no pages because there were too many."""
        if not self._left_out:
            return None
        return (
            f"pages are not made of {self._left_out} transactions: what is needed of them has reached"
            f" {self._bytes_max >> 20} MiB"
        )

    def table(self, name: str) -> pl.DataFrame:
        """A table that was gathered."""
        import polars as pl

        schema = polars_schema(TABLES[name], statistics=False)
        empty = pl.DataFrame(schema={column: schema[column] for column in SOURCES[name]})
        return pl.concat([empty, *self._parts[name]])

    @cached_property
    def _found(self) -> Retrievals:
        return retrievals(requests(self.table("transactions"), self.table("flows")), self.table("links"))

    @property
    def retrievals(self) -> pl.DataFrame:
        """The table ``retrievals``."""
        return self._found.retrievals

    @property
    def retrieval_transactions(self) -> pl.DataFrame:
        """The table ``retrieval_transactions``."""
        return self._found.transactions

    @cached_property
    def critical_path(self) -> pl.DataFrame:
        """The table ``critical_path``."""
        return critical_path(self.retrievals, self.retrieval_transactions, self.table("waits"))

    @cached_property
    def findings(self) -> pl.DataFrame:
        """What the detectors of pages find."""
        from tcptrace_http.detectors import findings_of_pages

        gathered = {name: self.table(name) for name in ("flows", "transactions", "flaws")}
        return findings_of_pages(gathered | {name: getattr(self, name) for name in PAGE_TABLES})
