"""Altair charts of an analysis: one module per chart, each with ``draw`` for plain polars frames.

``analysis.plot`` (:class:`Plots`) passes the tables. All charts have units on their axes, frame numbers in
their tooltips, and colours for every kind of colour vision. Too much data is aggregated, and the subtitle
describes the aggregation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tcptrace_http.errors import MissingExtra

if TYPE_CHECKING:
    import altair as alt

    from tcptrace_http.analysed import Analysed

__all__ = ["CHARTS", "Plots", "needs_altair"]

#: Charts with their descriptions.
CHARTS: Final = {
    "time-sequence": "segments, ACKs and windows of a flow, with stalls shaded and labelled",
    "window": "bytes in flight of a flow, and the receive window",
    "rtt": "time from each segment of a flow to its ACK",
    "throughput": "payload per second",
    "waterfall": "the transactions of a retrieval by wait cause, with the critical path",
    "waits": "wait causes of each transaction",
    "wait-distribution": "wait times of transactions, by cause",
    "comparison": "wait causes of transactions in several captures",
}


class Plots:
    """Charts of one analysis.

    >>> import tcptrace_http
    >>> analysis = tcptrace_http.analyze("sample_traces/lan_hdrsep_small.pcap")
    >>> analysis.plot.time_sequence(flow=0).to_dict()["title"]["text"]
    'Time-sequence graph of flow 0, server to client'
    """

    def __init__(self, analysis: Analysed) -> None:
        needs_altair()
        self._of = analysis

    def time_sequence(self, *, flow: int = 0, direction: str = "server_to_client") -> alt.LayerChart:
        """Return segments, ACK line and window line of a flow, with its waits and findings."""
        from tcptrace_http.charts import time_sequence

        of = self._of
        return time_sequence.draw(of.segments, of.waits, of.findings, flow=flow, direction=direction)

    def window(self, *, flow: int = 0, direction: str = "server_to_client") -> alt.LayerChart:
        """Return the bytes in flight of a flow, and the receive window."""
        from tcptrace_http.charts import window

        return window.draw(self._of.segments, flow=flow, direction=direction)

    def rtt(self, *, flow: int = 0) -> alt.LayerChart:
        """Return the time from each segment of a flow to its ACK."""
        from tcptrace_http.charts import rtt

        return rtt.draw(self._of.segments, flow=flow)

    def throughput(self, *, flow: int | None = None) -> alt.LayerChart:
        """Return the payload per second, of a flow or of all flows."""
        from tcptrace_http.charts import throughput

        return throughput.draw(self._of.segments, flow=flow)

    def waterfall(self, *, retrieval: int = 0) -> alt.LayerChart:
        """Return the transactions of a retrieval by wait cause, with the critical path."""
        from tcptrace_http.charts import waterfall

        of = self._of
        return waterfall.draw(
            of.retrieval_transactions, of.transactions, of.waits, of.critical_path, retrieval=retrieval
        )

    def waits(self) -> alt.LayerChart:
        """Return the wait causes of each transaction."""
        from tcptrace_http.charts import waits

        return waits.draw(self._of.transactions, self._of.waits)

    def wait_distribution(self) -> alt.LayerChart:
        """Return the distribution of wait times, by cause."""
        from tcptrace_http.charts import wait_distribution

        return wait_distribution.draw(self._of.waits)

    def comparison(self, **others: Analysed) -> alt.LayerChart:
        """Return the wait causes of transactions here (``this``) and in up to three other analyses, by the given
        names.
        """
        from tcptrace_http.charts import comparison

        return comparison.draw({"this": self._of.waits} | {name: each.waits for name, each in others.items()})

    def chart(self, name: str, **options: Any) -> alt.LayerChart:
        """Return a chart of :data:`CHARTS` by name."""
        drawn: alt.LayerChart = getattr(self, name.replace("-", "_"))(**options)
        return drawn


def needs_altair() -> None:
    """Check that Altair is installed.

    :raises MissingExtra: Altair is not installed.
    """
    from importlib.util import find_spec

    if find_spec("altair") is None:
        raise MissingExtra("charts need Altair", "charts")
