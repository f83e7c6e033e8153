"""Prediction with its output formats."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tcptrace_http.what_if.prediction import Prediction

if TYPE_CHECKING:
    import altair as alt

__all__ = ["WhatIf"]


@dataclass(frozen=True, kw_only=True, slots=True)
class WhatIf(Prediction):
    """Predictions for one capture. Times are nanoseconds of its retrievals together, without pauses."""

    def text(self, *, width: int = 80, every: bool = False) -> str:
        """Return the savings and their causes as text for a reader; with ``every``, all rows."""
        from tcptrace_http.what_if.text import rendered

        return rendered(self, width=width, every=every)

    def json(self) -> str:
        """Return the JSON document: see :mod:`tcptrace_http.what_if.json`."""
        from tcptrace_http.what_if.json import rendered

        return rendered(self)

    def chart(self) -> alt.LayerChart:
        """Return the times of all rows as bars, with their ranges and the baseline.

        :raises NothingToDraw: no rows exist.
        :raises MissingExtra: Altair is not installed.
        """
        from tcptrace_http.charts import needs_altair

        needs_altair()
        from tcptrace_http.charts import predictions

        return predictions.draw(self.table, baseline_ns=self.baseline_ns)
