"""Analysis of one capture: its tables, its charts, and views of one flow, transaction or frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tcptrace_http.capture import ROWS_IN_A_BATCH, batches, decode
from tcptrace_http.derived_tables import DerivedTables
from tcptrace_http.schema import ON_REQUEST, TABLES

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Collection, Iterable, Iterator

    from tcptrace_http.capture import Decoded
    from tcptrace_http.capture_stream import CaptureStream, Source
    from tcptrace_http.captured_frame import CapturedFrame
    from tcptrace_http.charts import Plots
    from tcptrace_http.detectors import Gathered
    from tcptrace_http.packet_lists import Packets
    from tcptrace_http.views import FlowView, TransactionView

__all__ = ["Analysis", "analyze", "analyze_in_batches", "in_parts"]


class Analysis(DerivedTables):
    """Tables of one capture as polars frames; ``schema.TABLES`` describes their columns."""

    def flow(self, number: int) -> FlowView:
        """Return one flow: its row, with its segments, transactions, waits and findings.

        >>> import tcptrace_http
        >>> analysis = tcptrace_http.analyze("sample_traces/lan_hdrsep_small.pcap")
        >>> analysis.flow(0).closed_by
        'client'

        :raises UnknownName: the flow is unknown.
        """
        from tcptrace_http.views import flow_view

        return flow_view(self, number)

    def transaction(self, flow: int, index: int) -> TransactionView:
        """Return one transaction: its row, with its segments, waits and findings.

        >>> import tcptrace_http
        >>> analysis = tcptrace_http.analyze("sample_traces/lan_hdrsep_small.pcap")
        >>> analysis.transaction(0, 11).findings["detector"].to_list()
        ['short-initial-segment']

        :raises UnknownName: the transaction is unknown.
        """
        from tcptrace_http.views import transaction_view

        return transaction_view(self, flow, index)

    def packet(self, frame: int) -> CapturedFrame:
        """Return one frame with its bytes, also as a packet of scapy or dpkt; the capture is read again up to
        the frame.

        >>> import tcptrace_http
        >>> analysis = tcptrace_http.analyze("sample_traces/lan_hdrsep_small.pcap")
        >>> analysis.packet(4).data[66:69]
        b'GET'
        >>> analysis.packet(4).scapy().sport == analysis.flow(0).client_port
        True

        :raises UnknownName: the frame is unknown.
        """
        from tcptrace_http.captured_frame import captured_frame

        source = self._decoded.source
        self._check_rereadable("one of its packets")
        return captured_frame(source, frame)

    def __repr__(self) -> str:
        from tcptrace_http.views import summary

        return summary(self)

    def _repr_html_(self) -> str:
        from tcptrace_http.views import overview

        return overview(self)

    @property
    def plot(self) -> Plots:
        """Return the charts; see :class:`tcptrace_http.charts.Plots`.

        :raises MissingExtra: Altair is not installed.
        """
        from tcptrace_http.charts import Plots

        return Plots(self)

    def where(self, expression: str, *, table: str = "transactions") -> Analysis:
        """Return the rows of ``table`` for which an SQL expression is true, with their related rows.

        A finding or wait belongs to its transaction, or to its flow without one. A transaction belongs to its
        flow, and a retrieval to all of its transactions. Rows without a flow are kept, unless the selection
        is from them: those of ``packets`` and ``anomalies``, and findings about several flows. Findings about
        the capture itself, and ``inconclusive`` rows, cover the remaining flows.

        >>> import tcptrace_http
        >>> analysis = tcptrace_http.analyze("sample_traces/objects_nginx_curl.pcap")
        >>> analysis.where("status = 404").transactions.height < analysis.transactions.height
        True

        Durations are written as ``'40 ms'``; transactions also have ``elapsed``, ``wait`` (the end of the
        request to the first byte of the response) and ``receive``.

        >>> analysis.where("elapsed > '40 ms'").transactions.height < analysis.transactions.height
        True

        :raises FilterError: the expression does not fit the table.
        """
        from tcptrace_http.selection import selected

        absent = ON_REQUEST - self._decoded.on_request
        made = selected(self, expression, table, absent=absent, is_cut="flaws" in self.cut)
        return Analysis(self._decoded, made)

    def redacted(self) -> Analysis:
        """Return the analysis without query values, Referer, Location and URL users in any text.

        >>> import tcptrace_http
        >>> analysis = tcptrace_http.analyze("sample_traces/objects_nginx_curl.pcap").redacted()
        >>> analysis.transactions["target"].str.contains(r"=[^R]").any()
        False
        """
        from tcptrace_http.redaction import redacted_frame

        names = TABLES.keys() - (ON_REQUEST - self._decoded.on_request)
        return Analysis(self._decoded, {name: redacted_frame(self.table(name)) for name in names})


def analyze(
    source: Packets,
    *,
    tables: Collection[str] = (),
    statistics: bool = True,
    jobs: int | None = None,
    progress: Callable[[CaptureStream], None] | None = None,
    keylog: str | os.PathLike[str] | None = None,
) -> Analysis:
    """Analyse a capture: a path, ``-`` for standard input, bytes (such as a simulation's), or packets.

    Packets are scapy's (a ``PacketList``, the result of ``sniff``, a ``PcapReader``), a reader of dpkt, or
    pairs of (time, bytes of an Ethernet frame): times are integer nanoseconds, or seconds as ``float`` or
    ``Decimal``. Memory holds all of them. :meth:`Analysis.packet` returns a single one.

    ``tables`` names the requested tables of ``schema.ON_REQUEST``; all others are always present. ``jobs`` is
    the number of threads for a large capture, by default one per core: one reads ahead, the others share the
    flows. The rows are equal for any number. Without ``statistics``, which take time, ``flows`` lacks the
    statistics columns (``schema.Column.is_statistic``).

    ``keylog`` is a file with TLS secrets (RFC 9850), such as the file of SSLKEYLOGFILE. Decrypted data is
    analysed like clear text. A pcapng file may contain secrets (editcap --inject-secrets); in a pipe or a
    packed file they apply only to the packets behind them.

    >>> import tcptrace_http
    >>> analysis = tcptrace_http.analyze("sample_traces/lan_hdrsep_small.pcap")
    >>> analysis.findings.select("detector", "transaction", "first_frame").row(0)
    ('short-initial-segment', 11, 61)

    A simulation needs no file:

    >>> from reference_sim import retrieval, simulate
    >>> simulation = simulate(retrieval(strategy="http10-serial", page="heidemann", network="lan"))
    >>> tcptrace_http.analyze(simulation.pcap(at="client")).transactions["status"].unique().to_list()
    [200]

    :raises CaptureError: the file is not a capture, or the file or the key log is unreadable.
    """
    from tcptrace_http.packet_lists import as_source

    on_request = ON_REQUEST.intersection(tables)
    decoded = decode(
        as_source(source),
        on_request=on_request,
        statistics=statistics,
        jobs=jobs,
        progress=progress,
        keylog=keylog,
    )
    return Analysis(decoded)


def analyze_in_batches(
    source: Source,
    *,
    jobs: int | None = None,
    progress: Callable[[CaptureStream], None] | None = None,
    rows_in_a_batch: int = ROWS_IN_A_BATCH,
    follows: bool = False,
    keylog: str | os.PathLike[str] | None = None,
) -> Iterator[Analysis]:
    """Analyse a capture of any length in bounded memory.

    Each analysis has the flows that ended since the previous one, with their findings, and the transactions
    that need no more judgement. The last analysis has the rest, and the findings about several flows. No row
    is in two analyses. The last one also has ``bodies``, ``redirects`` and ``expectations``, although their
    flows may have come earlier. ``hops`` and waits for upstream are complete only if their legs and flows are
    in one analysis.

    A small capture comes in one piece, as from :func:`analyze`. With ``follows`` the first transactions of a
    connection come once they are acknowledged. Their waits then rest on the packets so far; otherwise later
    transactions also contribute evidence about their path.
    """
    parts = batches(
        source, jobs=jobs, progress=progress, rows_in_a_batch=rows_in_a_batch, follows=follows, keylog=keylog
    )
    return in_parts(parts)


def in_parts(parts: Iterable[Decoded]) -> Iterator[Analysis]:
    """Yield the analyses of the parts of one capture; see :func:`analyze_in_batches`."""
    gathered: Gathered | None = None
    for decoded in parts:
        if gathered is None and decoded.is_last:
            yield Analysis(decoded)
            return
        if gathered is None:
            from tcptrace_http.detectors import Gathered

            gathered = Gathered()
        analysis = Analysis(decoded, gathered=gathered)
        analysis.gather_in(gathered)
        yield analysis
        # The next part is made while this one is released.
        del analysis, decoded
