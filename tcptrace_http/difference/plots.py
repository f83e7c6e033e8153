"""Altair charts of a difference: ``difference.plot``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import polars as pl

from tcptrace_http.errors import NothingToDraw

if TYPE_CHECKING:
    import altair as alt

    from tcptrace_http.difference.compared import Compared

__all__ = ["CHARTS", "DifferencePlots"]

#: Charts with their descriptions.
CHARTS: Final = {
    "causes": "from the left side's time to the right one's, cause by cause: the bars sum exactly",
    "transactions": "the transactions of a retrieval on both sides, by wait cause",
    "sequence": "the data of the compared flows' servers, and the divergences",
}


class DifferencePlots:
    """Charts of one difference; a notebook shows the returned objects.

    >>> import tcptrace_http
    >>> slow, fixed = "sample_traces/lan_hdrsep_small.pcap", "sample_traces/lan_hdrsep_small_nodelay.pcap"
    >>> tcptrace_http.diff(slow, fixed).plot.causes().to_dict()["title"]["text"]
    'From the left side to the right one'
    """

    def __init__(self, difference: Compared) -> None:
        from tcptrace_http.charts import needs_altair

        needs_altair()
        self._of = difference

    def causes(self) -> alt.LayerChart:
        """Return the waterfall from the left side's time to the right side's, cause by cause.

        :raises NothingToDraw: no retrieval of both sides took time.
        """
        from tcptrace_http.charts import difference_causes

        of = self._of
        return difference_causes.draw(of.causes, left=Path(of.left.name).name, right=Path(of.right.name).name)

    def transactions(self, *, pair: int | None = None) -> alt.LayerChart:
        """Return the transactions of a pair of ``retrievals``, by default of the pair that differs most.

        :raises NothingToDraw: the pair is unknown, or took no time.
        """
        from tcptrace_http.charts import difference_transactions

        of = self._of
        chosen = of.aligned_retrievals.sort(pl.col("difference").abs(), descending=True, maintain_order=True)
        if pair is not None:
            chosen = chosen.filter(pair=pair)
        if chosen.is_empty():
            raise NothingToDraw("no such retrieval is on both sides")
        one = chosen.row(0, named=True)
        members = of.transactions.filter(
            (pl.col("left_retrieval") == one["left_retrieval"])
            | (pl.col("right_retrieval") == one["right_retrieval"])
        )
        return difference_transactions.draw(members, of.left.analysis.waits, of.right.analysis.waits)

    def sequence(self) -> alt.LayerChart:
        """Return the data of the compared flows' servers, and the divergences.

        :raises NothingToDraw: no flows were compared, or nothing was sent.
        """
        from tcptrace_http.charts import difference_sequence

        of = self._of
        if of.flows is None:
            raise NothingToDraw("no flow of one side has a counterpart on the other side")
        places = [(it.kind, it.left_frame, it.right_frame) for it in of.divergences]
        return difference_sequence.draw(
            of.left.analysis.segments, of.right.analysis.segments, places, flows=of.flows
        )

    def chart(self, name: str) -> alt.LayerChart:
        """Return a chart of :data:`CHARTS` by name."""
        drawn: alt.LayerChart = getattr(self, name)()
        return drawn
