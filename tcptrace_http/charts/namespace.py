"""``frame.tcp.plot``: charts of any polars frame with rows of the table ``segments``.

The namespace exists once tcptrace_http has made a table. For frames from other sources (a Parquet file),
import this module.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from tcptrace_http.errors import NothingToDraw
from tcptrace_http.schema import TABLES, polars_schema

if TYPE_CHECKING:
    import altair as alt

__all__ = ["SegmentPlots", "TcpNamespace"]


@pl.api.register_dataframe_namespace("tcp")
class TcpNamespace:
    """Operations on a frame of segments.

    >>> import tcptrace_http
    >>> segments = tcptrace_http.analyze("sample_traces/lan_hdrsep_small.pcap").segments
    >>> segments.tcp.plot.window(flow=0).to_dict()["title"]["text"]
    'Bytes in flight of flow 0, server to client'
    """

    def __init__(self, frame: pl.DataFrame) -> None:
        self._frame = frame

    @property
    def plot(self) -> SegmentPlots:
        """Return the charts of the frame.

        :raises NothingToDraw: the rows are no segments.
        :raises MissingExtra: Altair is not installed.
        """
        from tcptrace_http.charts import needs_altair

        needs_altair()
        missing = [name for name in polars_schema(TABLES["segments"]) if name not in self._frame.columns]
        if missing:
            raise NothingToDraw(f"these rows are no segments: they lack {', '.join(missing[:3])}")
        return SegmentPlots(self._frame)


class SegmentPlots:
    """Charts of segments alone. ``flow`` is optional if there is only one flow."""

    def __init__(self, segments: pl.DataFrame) -> None:
        self._segments = segments

    def time_sequence(self, *, flow: int | None = None, direction: str = "server_to_client") -> alt.LayerChart:
        """Return segments, SACK blocks, ACK line and window line of a flow."""
        from tcptrace_http.charts import time_sequence

        waits, findings = (pl.DataFrame(schema=polars_schema(TABLES[name])) for name in ("waits", "findings"))
        flow = self._flow(flow)
        return time_sequence.draw(self._segments, waits, findings, flow=flow, direction=direction)

    def window(self, *, flow: int | None = None, direction: str = "server_to_client") -> alt.LayerChart:
        """Return the bytes in flight of a flow, and the receive window."""
        from tcptrace_http.charts import window

        return window.draw(self._segments, flow=self._flow(flow), direction=direction)

    def rtt(self, *, flow: int | None = None) -> alt.LayerChart:
        """Return the time from each segment of a flow to its ACK."""
        from tcptrace_http.charts import rtt

        return rtt.draw(self._segments, flow=self._flow(flow))

    def throughput(self, *, flow: int | None = None) -> alt.LayerChart:
        """Return the payload per second, of a flow or of all flows."""
        from tcptrace_http.charts import throughput

        return throughput.draw(self._segments, flow=flow)

    def _flow(self, flow: int | None) -> int:
        if flow is not None:
            return flow
        flows = self._segments["flow"].unique()
        if flows.len() != 1:
            raise NothingToDraw(f"there are {flows.len()} flows: name one, flow=…")
        return int(flows[0])
