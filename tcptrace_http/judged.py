"""Findings of a capture in parts: of each part, and of all parts together."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

    from tcptrace_http.analysis import Analysis
    from tcptrace_http.detectors import Gathered

__all__ = ["Judged"]


class Judged:
    """Collector of capture parts with the same result as one part for the whole capture.

    The collector keeps the findings of the parts, and the flows with flaws.
    """

    def __init__(self) -> None:
        from tcptrace_http.pages import Pages

        self.pages = Pages()
        self._found: list[pl.DataFrame] = []
        self._groups: list[pl.DataFrame] = []
        self._flaws: list[pl.DataFrame] = []
        self._gathered: Gathered | None = None

    def add(self, part: Analysis) -> None:
        """Add the next part. Capture-wide findings come with the last part."""
        from tcptrace_http.detectors import grouped

        self._found.append(part.findings_of_flows)
        self._groups.append(grouped(part.flaws))
        self._flaws.append(part.flaws.filter("has_messages").select("flow", "flaw", "has_messages"))
        part.gather_pages(self.pages)
        self._cut = part.cut
        if part.is_last and part.has_candidates:
            self._gathered = part.gathered

    @cached_property
    def findings(self) -> pl.DataFrame:
        """Return all findings, as in :attr:`Analysis.findings`."""
        import polars as pl

        from tcptrace_http.detectors import findings_of_capture, together

        of_capture = findings_of_capture(pl.concat(self._groups), is_cut="flaws" in self._cut)
        return together([*self._found, self.pages.findings, of_capture], self._gathered)

    @cached_property
    def inconclusive(self) -> pl.DataFrame:
        """Return the missing judgements, as in :attr:`Analysis.inconclusive`."""
        import polars as pl

        from tcptrace_http.detectors import DETECTORS, inconclusive

        return inconclusive(DETECTORS.values(), pl.concat(self._flaws), self.findings)
