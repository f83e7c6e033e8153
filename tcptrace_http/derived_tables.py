"""Tables of one capture derived from the core's: findings, hops, waits for upstream, and pages.

Findings come from ``CANDIDATE_TABLES``, from long waits, from several flows of two hosts, and from pages with
a chain of requests. A capture without any of these has no findings, and polars is not imported. That import
would cost more than the analysis of a hundred thousand packets.
"""

from __future__ import annotations

import sys
from functools import cached_property
from typing import TYPE_CHECKING

from tcptrace_http.candidates import (
    CANDIDATE_TABLES,
    CANDIDATE_WAITS_NS,
    GATHERED_COLUMNS,
    HOP_COLUMNS,
    JUDGED_COLUMNS,
    OF_OBJECTS,
)
from tcptrace_http.native_tables import NativeTables
from tcptrace_http.schema import TABLES
from tcptrace_http.trace import empty_frame

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from tcptrace_http.capture import Decoded
    from tcptrace_http.detectors import Gathered
    from tcptrace_http.pages import Pages

__all__ = ["DerivedTables"]


class DerivedTables(NativeTables):
    """Tables that Python derives from the core's tables on demand."""

    def __init__(
        self,
        decoded: Decoded,
        selected: Mapping[str, pl.DataFrame] | None = None,
        *,
        gathered: Gathered | None = None,
    ) -> None:
        """Make an analysis. ``gathered`` has the kept rows of all parts, including this one, if the capture
        comes in parts.
        """
        super().__init__(decoded, selected)
        self._parts = gathered

    @property
    def has_candidates(self) -> bool:
        """Return whether any row may become a finding; several flows are judged together."""
        rows = self._decoded.rows
        has_rows = any(map(rows.count, CANDIDATE_TABLES)) or bool(self._waiting_flows)
        return self._parts is not None or has_rows or rows.has_bundle()

    @cached_property
    def _waiting_flows(self) -> set[int]:
        """Return the flows whose waits may be findings by themselves, or the time in a pipeline."""
        rows = self._decoded.rows
        return rows.flows_that_waited(CANDIDATE_WAITS_NS) | rows.flows_of("transactions", "pipelined")

    @cached_property
    def findings(self) -> pl.DataFrame:
        """Return one row per finding, largest loss first."""
        return self._chosen("findings", self._judge)

    @cached_property
    def inconclusive(self) -> pl.DataFrame:
        """Return one row per detector and capture flaw that prevented judgements."""
        return self._chosen("inconclusive", self._judge_rest)

    @cached_property
    def may_have_hops(self) -> bool:
        """Return whether any server of the capture is also a client, as a proxy is."""
        return self._decoded.rows.has_proxy()

    @cached_property
    def hops(self) -> pl.DataFrame:
        """Return one row per transaction that a proxy served with an upstream request."""
        return self._chosen("hops", self._find_hops)

    def _find_hops(self) -> pl.DataFrame:
        if not self.may_have_hops:
            return empty_frame(TABLES["hops"])
        from tcptrace_http.hops import find_hops

        return find_hops(*(self._part(name, HOP_COLUMNS[name]) for name in ("transactions", "flows")))

    @cached_property
    def transfers(self) -> pl.DataFrame:
        """Return one row per FTP file, derived from ``flows``; the schema has no such table."""
        from tcptrace_http.transfers import find_transfers

        return find_transfers(self.flows)

    @cached_property
    def waits(self) -> pl.DataFrame:
        """Return one row per interval of a transaction with one cause; the intervals sum to its elapsed time."""
        waits = self._native("waits")
        return waits if "waits" in (self._selected or ()) else self._for_upstream(waits)

    def _for_upstream(self, waits: pl.DataFrame) -> pl.DataFrame:
        """Return the waits with waits for upstream inserted."""
        if not self.may_have_hops or self.hops.is_empty():
            return waits
        from tcptrace_http.upstream_waits import with_upstream

        return with_upstream(waits, self.hops, self._part("transactions", HOP_COLUMNS["transactions"]))

    @cached_property
    def _finished_waits(self) -> pl.DataFrame:
        """Return the waits of the judged flows and of the legs of hops."""
        if self._selected is not None:
            return self.waits
        legs = (set(self.hops[name]) for name in ("flow", "upstream_flow") if self.may_have_hops)
        judged = self.judged_flows if self.has_candidates else set()
        return self._for_upstream(self._part("waits", None, judged.union(*legs)))

    @cached_property
    def changed_waits(self) -> pl.DataFrame:
        """Return the waits of the transactions that differ from the core's: those that waited for upstream."""
        if not self.may_have_hops:
            return empty_frame(TABLES["waits"])
        key = ["flow", "transaction"]
        return self._finished_waits.join(self.hops, on=key, how="semi", maintain_order="left")

    @cached_property
    def retrievals(self) -> pl.DataFrame:
        """Return one row per page."""
        return self._chosen("retrievals", lambda: self.pages.table("retrievals"))

    @cached_property
    def retrieval_transactions(self) -> pl.DataFrame:
        """Return one row per transaction of a page."""
        return self._chosen("retrieval_transactions", lambda: self.pages.table("retrieval_transactions"))

    @cached_property
    def critical_path(self) -> pl.DataFrame:
        """Return one row per interval of a page's time, with its transaction and wait."""
        return self._chosen("critical_path", lambda: self.pages.table("critical_path"))

    @property
    def may_have_findings(self) -> bool:
        """Return whether any row or page may become a finding."""
        return self.has_candidates or self.pages.has_candidates

    @cached_property
    def pages(self) -> Pages:
        """Return the pages of these rows."""
        from tcptrace_http.pages import Pages

        pages = Pages(bytes_max=sys.maxsize)
        self.gather_pages(pages)
        return pages

    def gather_pages(self, pages: Pages) -> None:
        """Add the page rows of these rows."""
        pages.add(self._decoded.rows, self._changed() if self.may_have_hops else ())

    def _changed(self) -> list[tuple[int, int, str, int, int]]:
        import polars as pl

        columns = ("flow", "transaction", pl.col("cause").cast(pl.String), pl.col("start", "end").to_physical())
        return self.changed_waits.select(*columns).rows()

    @cached_property
    def findings_of_flows(self) -> pl.DataFrame:
        """Return the findings except those about pages and the capture, which need the whole capture."""
        if not self.has_candidates:
            return empty_frame(TABLES["findings"])
        from tcptrace_http.counterfactual import with_counterfactual
        from tcptrace_http.detectors import findings_of_flows, findings_over_flows, in_order

        tables = self._judged_tables
        found = [with_counterfactual(findings_of_flows(tables), tables["waits"], tables["transactions"])]
        if self.is_last:
            # Their transactions may have left with an earlier part of the capture.
            found.append(findings_over_flows(self.gathered))
        return in_order(found)

    @cached_property
    def gathered(self) -> Gathered:
        """Return the rows that the capture-wide detectors keep of all parts so far."""
        if self._parts is not None:
            return self._parts
        from tcptrace_http.detectors import Gathered

        gathered = Gathered()
        self.gather_in(gathered)
        return gathered

    def gather_in(self, gathered: Gathered) -> None:
        """Add the rows that the capture-wide detectors keep of this part."""
        facts = {name: self._part(name, GATHERED_COLUMNS[name]) for name in GATHERED_COLUMNS}
        gathered.add(self._judged_tables | facts, self.cut)

    def _judge(self) -> pl.DataFrame:
        if not self.may_have_findings:
            return empty_frame(TABLES["findings"])
        from tcptrace_http.detectors import findings_of_capture, together

        of_capture = findings_of_capture(self.flaws, is_cut="flaws" in self.cut)
        gathered = self.gathered if self.has_candidates else None
        return together([self.findings_of_flows, self.pages.findings, of_capture], gathered)

    def _judge_rest(self) -> pl.DataFrame:
        if not self.has_candidates or self.flaws.is_empty():
            return empty_frame(TABLES["inconclusive"])
        from tcptrace_http.detectors import DETECTORS, inconclusive

        return inconclusive(DETECTORS.values(), self.flaws, self.findings)

    @cached_property
    def _judged_tables(self) -> dict[str, pl.DataFrame]:
        """Return the input of the flow detectors: the readable columns of the facts, and the waits of
        ``judged_flows``.
        """
        import polars as pl

        flows = self.judged_flows
        facts = {name: self._part(name, columns, flows) for name, columns in JUDGED_COLUMNS.items()}
        waits = self._finished_waits.filter(pl.col("flow").is_in(flows))
        return {name: self.table(name) for name in CANDIDATE_TABLES} | facts | {"waits": waits}

    @cached_property
    def judged_flows(self) -> set[int]:
        """Return the flows whose findings may read waits."""
        names = (name for name in CANDIDATE_TABLES if name not in OF_OBJECTS)
        return self._waiting_flows.union(*map(self._decoded.rows.flows_of, names))
