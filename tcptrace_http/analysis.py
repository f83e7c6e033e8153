"""The analysis of one capture: its tables, made when they are asked for.

The core makes the rows in one pass over the capture. Findings come from ``CANDIDATE_TABLES``, from long
waits, from several flows of two hosts, and from pages with a chain of requests: of a capture without any
of these there are none, and polars need not be imported at all. That import would cost more than the
analysis of a hundred thousand packets.
"""

from __future__ import annotations

import sys
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from tcptrace_http.candidates import (
    CANDIDATE_TABLES,
    CANDIDATE_WAITS_NS,
    GATHERED_COLUMNS,
    HOP_COLUMNS,
    JUDGED_COLUMNS,
    OF_OBJECTS,
)
from tcptrace_http.capture import ROWS_IN_A_BATCH, anomalies_of, batches, decode
from tcptrace_http.schema import ON_REQUEST, TABLES
from tcptrace_http.trace import empty_frame, frame_of

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
    from collections.abc import Set as AbstractSet

    import polars as pl

    from tcptrace_http.capture import Decoded
    from tcptrace_http.capture_stream import CaptureStream, Source
    from tcptrace_http.captured_frame import CapturedFrame
    from tcptrace_http.charts import Plots
    from tcptrace_http.detectors import Gathered
    from tcptrace_http.packet_lists import Packets
    from tcptrace_http.pages import Pages
    from tcptrace_http.trace import Provenance
    from tcptrace_http.views import FlowView, TransactionView

__all__ = ["Analysis", "analyze", "analyze_in_batches", "in_parts"]


class Analysis:
    """The tables of one capture as polars frames; ``schema.TABLES`` says what their columns mean."""

    def __init__(
        self,
        decoded: Decoded,
        selected: Mapping[str, pl.DataFrame] | None = None,
        *,
        gathered: Gathered | None = None,
    ) -> None:
        """``gathered`` is what was kept of all parts of the capture, this one included, if it comes in parts."""
        self._decoded = decoded
        self._selected = selected
        self._parts = gathered

    @property
    def capture(self) -> Provenance:
        """Where the rows come from."""
        return self._decoded.provenance

    @property
    def decoded(self) -> Decoded | None:
        """The core with all rows in it; None where only some rows were selected."""
        return None if self._selected is not None else self._decoded

    @cached_property
    def packets(self) -> pl.DataFrame:
        """One row a record. Unless ``analyze`` was asked for these rows, the capture is read again."""
        return self._native("packets")

    @cached_property
    def segments(self) -> pl.DataFrame:
        """One row a TCP segment. Unless ``analyze`` was asked for these rows, the capture is read again."""
        return self._native("segments")

    @cached_property
    def flows(self) -> pl.DataFrame:
        """One row a TCP connection; its statistics are there unless ``analyze`` was told to leave them out."""
        return self._native("flows")

    @cached_property
    def transactions(self) -> pl.DataFrame:
        """One row an HTTP request and its response."""
        return self._native("transactions")

    @cached_property
    def tls_handshakes(self) -> pl.DataFrame:
        """One row per flow that carries TLS and whose handshake was seen."""
        return self._native("tls_handshakes")

    @cached_property
    def tls_records(self) -> pl.DataFrame:
        """One row per TLS record. Unless ``analyze`` was asked for these rows, the capture is read again."""
        return self._native("tls_records")

    @cached_property
    def h2_connections(self) -> pl.DataFrame:
        """One row per flow that carries HTTP/2."""
        return self._native("h2_connections")

    @cached_property
    def h2_windows(self) -> pl.DataFrame:
        """One row per event of HTTP/2 flow control. Unless ``analyze`` was asked for these rows, the capture is
        read again.
        """
        return self._native("h2_windows")

    @cached_property
    def links(self) -> pl.DataFrame:
        """One row a link of an HTML document."""
        return self._native("links")

    @cached_property
    def profiles(self) -> pl.DataFrame:
        """One row per flow and direction: what was learnt of its sender and its path."""
        return self._native("profiles")

    @cached_property
    def endings(self) -> pl.DataFrame:
        """One row a flow that let its client down."""
        return self._native("endings")

    @cached_property
    def segmentation(self) -> pl.DataFrame:
        """One row a message that was cut into segments in a notable way."""
        return self._native("segmentation")

    @cached_property
    def bodies(self) -> pl.DataFrame:
        """One row a body that was fetched before, or that a coder would have made smaller."""
        return self._native("bodies")

    @cached_property
    def redirects(self) -> pl.DataFrame:
        """One row a redirect that the client followed."""
        return self._native("redirects")

    @cached_property
    def expectations(self) -> pl.DataFrame:
        """One row a request whose body waited for 100 (Continue)."""
        return self._native("expectations")

    @cached_property
    def flaws(self) -> pl.DataFrame:
        """One row a flow and a way in which its capture falls short of what was on the wire."""
        return self._native("flaws")

    @cached_property
    def recoveries(self) -> pl.DataFrame:
        """One row a time that a stream was held up: losses, reordering, closed windows."""
        return self._native("recoveries")

    @cached_property
    def queues(self) -> pl.DataFrame:
        """One row a response whose packets stood in a queue."""
        return self._native("queues")

    @cached_property
    def anomalies(self) -> pl.DataFrame:
        """One row a piece of strange traffic, or of a strange file."""
        return self._chosen("anomalies", lambda: anomalies_of(self._decoded))

    @property
    def has_candidates(self) -> bool:
        """Whether there is any row that a detector could judge; several flows are judged together."""
        rows = self._decoded.rows
        has_rows = any(map(rows.count, CANDIDATE_TABLES)) or bool(self._waiting_flows)
        return self._parts is not None or has_rows or rows.has_bundle()

    @cached_property
    def _waiting_flows(self) -> set[int]:
        """The flows whose waits may be findings by themselves, or the time in a pipeline."""
        rows = self._decoded.rows
        return rows.flows_that_waited(CANDIDATE_WAITS_NS) | rows.flows_of("transactions", "pipelined")

    @cached_property
    def findings(self) -> pl.DataFrame:
        """One row a named pathology, the most time lost first."""
        return self._chosen("findings", self._judge)

    @cached_property
    def inconclusive(self) -> pl.DataFrame:
        """One row a detector and a flaw of the capture that kept it from judging flows."""
        return self._chosen("inconclusive", self._judge_the_unjudged)

    @cached_property
    def may_have_hops(self) -> bool:
        """Whether any server of the capture is a client, too, as a proxy is."""
        return self._decoded.rows.has_proxy()

    @cached_property
    def hops(self) -> pl.DataFrame:
        """One row a transaction that a proxy served by a request to its upstream server."""
        return self._chosen("hops", self._find_hops)

    def _find_hops(self) -> pl.DataFrame:
        if not self.may_have_hops:
            return empty_frame(TABLES["hops"])
        from tcptrace_http.hops import find_hops

        return find_hops(*(self._part(name, HOP_COLUMNS[name]) for name in ("transactions", "flows")))

    @cached_property
    def transfers(self) -> pl.DataFrame:
        """One row per file by FTP: no table of the schema, but told by ``flows``."""
        from tcptrace_http.transfers import find_transfers

        return find_transfers(self.flows)

    @cached_property
    def waits(self) -> pl.DataFrame:
        """One row per interval of a transaction with one cause; they sum to its elapsed time."""
        waits = self._native("waits")
        return waits if "waits" in (self._selected or ()) else self._for_upstream(waits)

    def _for_upstream(self, waits: pl.DataFrame) -> pl.DataFrame:
        """The waits with those for upstream in their place."""
        if not self.may_have_hops or self.hops.is_empty():
            return waits
        from tcptrace_http.upstream_waits import with_upstream

        return with_upstream(waits, self.hops, self._part("transactions", HOP_COLUMNS["transactions"]))

    @cached_property
    def _finished_waits(self) -> pl.DataFrame:
        """The waits of the flows that are judged and of the legs of hops."""
        if self._selected is not None:
            return self.waits
        legs = (set(self.hops[name]) for name in ("flow", "upstream_flow") if self.may_have_hops)
        judged = self.judged_flows if self.has_candidates else set()
        return self._for_upstream(self._part("waits", None, judged.union(*legs)))

    @cached_property
    def changed_waits(self) -> pl.DataFrame:
        """The waits of those transactions that have others than the core has: those that waited for upstream."""
        if not self.may_have_hops:
            return empty_frame(TABLES["waits"])
        key = ["flow", "transaction"]
        return self._finished_waits.join(self.hops, on=key, how="semi", maintain_order="left")

    @cached_property
    def retrievals(self) -> pl.DataFrame:
        """One row a page."""
        return self._chosen("retrievals", lambda: self.pages.table("retrievals"))

    @cached_property
    def retrieval_transactions(self) -> pl.DataFrame:
        """One row a transaction of a page."""
        return self._chosen("retrieval_transactions", lambda: self.pages.table("retrieval_transactions"))

    @cached_property
    def critical_path(self) -> pl.DataFrame:
        """One row an interval of a page's time, with the transaction and the wait that it was spent on."""
        return self._chosen("critical_path", lambda: self.pages.table("critical_path"))

    @property
    def may_have_findings(self) -> bool:
        """Whether there is any row or page that a detector could judge."""
        return self.has_candidates or self.pages.has_candidates

    @cached_property
    def pages(self) -> Pages:
        """The pages of these rows."""
        from tcptrace_http.pages import Pages

        pages = Pages(bytes_max=sys.maxsize)
        self.gather_pages(pages)
        return pages

    def gather_pages(self, pages: Pages) -> None:
        """Add what there is of pages in these rows."""
        pages.add(self._decoded.rows, self._changed() if self.may_have_hops else ())

    def _changed(self) -> list[tuple[int, int, str, int, int]]:
        import polars as pl

        columns = ("flow", "transaction", pl.col("cause").cast(pl.String), pl.col("start", "end").to_physical())
        return self.changed_waits.select(*columns).rows()

    @cached_property
    def findings_of_flows(self) -> pl.DataFrame:
        """Those of the findings that are about neither pages nor the capture, which need all of it."""
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

    @property
    def is_last(self) -> bool:
        """Whether these rows are the last of the capture, or all."""
        return self._decoded.is_last

    @property
    def cut(self) -> list[str]:
        """The tables that lack rows of the capture so far, for a limit was reached."""
        return self._decoded.rows.cut()

    @cached_property
    def gathered(self) -> Gathered:
        """What the detectors of the whole capture keep of all its parts so far."""
        if self._parts is not None:
            return self._parts
        from tcptrace_http.detectors import Gathered

        gathered = Gathered()
        self.gather_in(gathered)
        return gathered

    def gather_in(self, gathered: Gathered) -> None:
        """Adds what the detectors of the whole capture keep of these rows."""
        facts = {name: self._part(name, GATHERED_COLUMNS[name]) for name in GATHERED_COLUMNS}
        gathered.add(self._judged_tables | facts, self.cut)

    def _judge(self) -> pl.DataFrame:
        if not self.may_have_findings:
            return empty_frame(TABLES["findings"])
        from tcptrace_http.detectors import findings_of_capture, together

        of_capture = findings_of_capture(self.flaws, is_cut="flaws" in self.cut)
        gathered = self.gathered if self.has_candidates else None
        return together([self.findings_of_flows, self.pages.findings, of_capture], gathered)

    def _judge_the_unjudged(self) -> pl.DataFrame:
        if not self.has_candidates or self.flaws.is_empty():
            return empty_frame(TABLES["inconclusive"])
        from tcptrace_http.detectors import DETECTORS, inconclusive

        return inconclusive(DETECTORS.values(), self.flaws, self.findings)

    @cached_property
    def _judged_tables(self) -> dict[str, pl.DataFrame]:
        """What detectors of flows are given: of facts the part that they may read, and the waits of
        ``judged_flows``.
        """
        import polars as pl

        flows = self.judged_flows
        facts = {name: self._part(name, columns, flows) for name, columns in JUDGED_COLUMNS.items()}
        waits = self._finished_waits.filter(pl.col("flow").is_in(flows))
        return {name: self.table(name) for name in CANDIDATE_TABLES} | facts | {"waits": waits}

    @cached_property
    def judged_flows(self) -> set[int]:
        """The flows that may have findings which read waits."""
        names = (name for name in CANDIDATE_TABLES if name not in OF_OBJECTS)
        return self._waiting_flows.union(*map(self._decoded.rows.flows_of, names))

    def _part(
        self, name: str, only: AbstractSet[str] | None, flows: AbstractSet[int] | None = None
    ) -> pl.DataFrame:
        """Some columns of a native table, and the rows of some flows: all those of one that was selected from."""
        if self._selected is not None:
            return self.table(name)
        decoded = self._decoded
        native = decoded.rows.table(name, only, flows)
        return frame_of(native, TABLES[name], statistics=decoded.statistics, only=only)

    def _native(self, name: str) -> pl.DataFrame:
        # Its frames have the namespace ``tcp``; polars is imported by now, or is about to be.
        import tcptrace_http.charts.namespace  # noqa: F401

        decoded = self._again if name in ON_REQUEST - self._decoded.on_request else self._decoded
        return self._chosen(
            name, lambda: frame_of(decoded.rows.table(name), TABLES[name], statistics=decoded.statistics)
        )

    @cached_property
    def _again(self) -> Decoded:
        """The capture decoded once more, with the tables that are made only on request."""
        self._must_be_readable_again(f"these tables: analyze(path, tables={sorted(ON_REQUEST)})")
        source = self._decoded.source
        return decode(source, on_request=ON_REQUEST, statistics=False, keylog=self._decoded.keylog)

    def _must_be_readable_again(self, what: str) -> None:
        source = self._decoded.source
        if not isinstance(source, bytes) and not Path(source).is_file():
            raise KeyError(f"{self.capture.path} cannot be read a second time for {what}")

    def _chosen(self, name: str, make: Callable[[], pl.DataFrame]) -> pl.DataFrame:
        if self._selected is not None and name in self._selected:
            return self._selected[name]
        return make()

    def table(self, name: str) -> pl.DataFrame:
        """The table of that name."""
        frame: pl.DataFrame = getattr(self, TABLES[name].name)
        return frame

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
