"""The findings of a capture that comes in parts: those of each part, and those of all of them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

    from tcptrace_http.analysis import Analysis
    from tcptrace_http.detectors import Gathered

__all__ = ["Judged"]


class Judged:
    """Takes the parts of a capture, and tells what one part with all of it would.

    Of the parts it keeps their findings, and which flows have flaws.
    """

    def __init__(self) -> None:
        from tcptrace_http.pages import Pages

        self.pages = Pages()
        self._found: list[pl.DataFrame] = []
        self._groups: list[pl.DataFrame] = []
        self._flaws: list[pl.DataFrame] = []
        self._gathered: Gathered | None = None

    def add(self, part: Analysis) -> None:
        """Takes the next part; what is found over several flows comes with the last."""
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
        """All findings, as :attr:`Analysis.findings` has them."""
        import polars as pl

        from tcptrace_http.detectors import findings_of_capture, together

        of_capture = findings_of_capture(pl.concat(self._groups), is_cut="flaws" in self._cut)
        return together([*self._found, self.pages.findings, of_capture], self._gathered)

    @cached_property
    def inconclusive(self) -> pl.DataFrame:
        """What could not be judged, as :attr:`Analysis.inconclusive` has it."""
        import polars as pl

        from tcptrace_http.detectors import DETECTORS, inconclusive

        return inconclusive(DETECTORS.values(), pl.concat(self._flaws), self.findings)
