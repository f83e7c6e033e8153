"""The analysis of one capture: its tables, its charts, and what belongs to one flow, transaction or frame."""

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
    """The tables of one capture as polars frames; ``schema.TABLES`` says what their columns mean."""

    def flow(self, number: int) -> FlowView:
        """One flow: its row, with its segments, transactions, waits and findings.

        >>> import tcptrace_http
        >>> analysis = tcptrace_http.analyze("sample_traces/lan_hdrsep_small.pcap")
        >>> analysis.flow(0).closed_by
        'client'

        :raises UnknownName: there is no such flow.
        """
        from tcptrace_http.views import flow_view

        return flow_view(self, number)

    def transaction(self, flow: int, index: int) -> TransactionView:
        """One transaction: its row, with its segments, waits and findings.

        >>> import tcptrace_http
        >>> analysis = tcptrace_http.analyze("sample_traces/lan_hdrsep_small.pcap")
        >>> analysis.transaction(0, 11).findings["detector"].to_list()
        ['short-initial-segment']

        :raises UnknownName: there is no such transaction.
        """
        from tcptrace_http.views import transaction_view

        return transaction_view(self, flow, index)

    def packet(self, frame: int) -> CapturedFrame:
        """One frame with its bytes, also as a packet of scapy or dpkt; the capture is read again up to it.

        >>> import tcptrace_http
        >>> analysis = tcptrace_http.analyze("sample_traces/lan_hdrsep_small.pcap")
        >>> analysis.packet(4).data[66:69]
        b'GET'
        >>> analysis.packet(4).scapy().sport == analysis.flow(0).client_port
        True

        :raises UnknownName: there is no such frame.
        """
        from tcptrace_http.captured_frame import captured_frame

        source = self._decoded.source
        self._must_be_readable_again("one of its packets")
        return captured_frame(source, frame)

    def __repr__(self) -> str:
        from tcptrace_http.views import summary

        return summary(self)

    def _repr_html_(self) -> str:
        from tcptrace_http.views import overview

        return overview(self)

    @property
    def plot(self) -> Plots:
        """Its charts; see :class:`tcptrace_http.charts.Plots`.

        :raises MissingExtra: Altair is not installed.
        """
        from tcptrace_http.charts import Plots

        return Plots(self)

    def where(self, expression: str, *, table: str = "transactions") -> Analysis:
        """The rows of ``table`` for which an SQL expression is true, and what belongs to them.

        A finding or wait belongs to its transaction, or only to its flow where it has none; a transaction
        to its flow, and a retrieval to all of its transactions. Rows that belong to no flow are kept, unless
        it is them that are selected from: those of ``packets`` and ``anomalies``, and findings about several
        flows. Findings about the capture itself, and what was ``inconclusive``, are those of the flows that
        are left.

        >>> import tcptrace_http
        >>> analysis = tcptrace_http.analyze("sample_traces/objects_nginx_curl.pcap")
        >>> analysis.where("status = 404").transactions.height < analysis.transactions.height
        True

        Durations are written as ``'40 ms'``; of transactions ``elapsed``, ``wait`` (the end of the request to the
        first byte of the response) and ``receive`` can be asked for.

        >>> analysis.where("elapsed > '40 ms'").transactions.height < analysis.transactions.height
        True

        :raises FilterError: the expression does not fit the table.
        """
        from tcptrace_http.selection import selected

        absent = ON_REQUEST - self._decoded.on_request
        made = selected(self, expression, table, absent=absent, is_cut="flaws" in self.cut)
        return Analysis(self._decoded, made)

    def redacted(self) -> Analysis:
        """The same without query values, Referer, Location and users of URLs in any text.

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
    """Analyse a capture: a file by its path, ``-`` for standard input, bytes, as of a simulation, or packets.

    Packets are scapy's (a ``PacketList``, what ``sniff`` gives, a ``PcapReader``), a reader of dpkt, or pairs of
    (time, bytes of an Ethernet frame): times are integer nanoseconds, or seconds as ``float`` or ``Decimal``.
    All of them are held in memory. :meth:`Analysis.packet` gives one back.

    ``tables`` names those of ``schema.ON_REQUEST`` that are wanted; all others are always there.
    ``jobs`` is the number of threads for a large capture, by default one for each core: one reads ahead,
    the others share the flows. The rows are the same for any number. Without ``statistics``, which cost
    some time, ``flows`` lacks the columns that are statistics (``schema.Column.is_statistic``).

    ``keylog`` is a file with the secrets of TLS connections (RFC 9850), as what SSLKEYLOGFILE names: what they
    open is read as if it had come in clear. A pcapng file may have such secrets itself (editcap --inject-secrets);
    in a pipe and in a packed file they open only what comes behind them.

    >>> import tcptrace_http
    >>> analysis = tcptrace_http.analyze("sample_traces/lan_hdrsep_small.pcap")
    >>> analysis.findings.select("detector", "transaction", "first_frame").row(0)
    ('short-initial-segment', 11, 61)

    What is simulated needs no file:

    >>> from reference_sim import retrieval, simulate
    >>> simulation = simulate(retrieval(strategy="http10-serial", page="heidemann", network="lan"))
    >>> tcptrace_http.analyze(simulation.pcap(at="client")).transactions["status"].unique().to_list()
    [200]

    :raises CaptureError: the file is no capture, or it or the key log cannot be read.
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
    """Analyse a capture of any length in bounded memory: each analysis has the flows that were finished
    since the one before, with their findings, and the transactions of which nothing more is to be
    judged; the last one has the rest, and what is found over several flows. No row is in two of them.
    So are ``bodies``, ``redirects`` and ``expectations``, though the flows they are about may have left before.
    Of ``hops``, and of the waits for upstream, there are those whose legs and flows are in one analysis.

    A small capture comes in one piece, as :func:`analyze` gives it. With ``follows`` the first
    transactions of a connection come as soon as they are acknowledged; what they waited for is then told
    by what was seen so far, where else it is told by what the next ones show of their path, too.
    """
    parts = batches(
        source, jobs=jobs, progress=progress, rows_in_a_batch=rows_in_a_batch, follows=follows, keylog=keylog
    )
    return in_parts(parts)


def in_parts(parts: Iterable[Decoded]) -> Iterator[Analysis]:
    """The analyses of the parts of one capture; see :func:`analyze_in_batches`."""
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
        # The next part is made while this one may go.
        del analysis, decoded
