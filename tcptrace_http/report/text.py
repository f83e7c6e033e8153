"""Text report: the captures, the problems with their remedies, then the rows."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any, Final

from tcptrace_http.detectors import DETECTORS
from tcptrace_http.documentation import detector_page
from tcptrace_http.finding_groups import claimed, finding_groups
from tcptrace_http.quantity import counted, duration, moment
from tcptrace_http.remedies import settings_for_all
from tcptrace_http.report import limits
from tcptrace_http.report.grid import Heading, grid, printable
from tcptrace_http.report.stream_columns import NOTHING, OF_STREAMS, status_of, target_of
from tcptrace_http.report.time_by_cause import time_by_cause
from tcptrace_http.verdict import findings_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import BinaryIO

    import polars as pl

    from tcptrace_http.analysis import Analysis
    from tcptrace_http.finding_groups import FindingGroup

__all__ = ["write"]

#: Width without a terminal.
_WIDTH: Final = 80
#: Maximum width of prose, for readability; tables may be wider.
_PROSE_WIDTH: Final = 100
_ROWS: Final = 20
_FLOWS_OF_A_FINDING: Final = 5
_INDENT: Final = "    "
_SEVERITY_COLOUR: Final = {"error": "31", "warning": "33", "info": "36"}
_BOLD: Final = "1"
#: Replacement for the URL of a page.
_NO_URL: Final = "TLS without keys"


def write(analyses: Iterable[Analysis], file: BinaryIO, *, width: int | None, colour: bool) -> None:
    """Write a report of each analysis."""
    for number, analysis in enumerate(analyses):
        report = _Report(analysis, width or _WIDTH, colour=colour)
        text = "\n".join(report.lines())
        if number:
            file.write(b"\n\n")
        file.write(text.encode("utf-8", "backslashreplace") + b"\n")


class _Report:
    """Lines of one report, with their common data."""

    def __init__(self, analysis: Analysis, width: int, *, colour: bool) -> None:
        self._analysis = analysis
        self._width = width
        self._colour = colour

    def lines(self) -> Iterator[str]:
        yield from self._capture()
        yield from self._findings()
        yield from self._time_by_cause()
        yield from self._limits()
        yield from self._pages()
        yield from self._transactions()
        yield from self._transfers()
        yield from self._flows()

    def _capture(self) -> Iterator[str]:
        capture = self._analysis.capture
        yield self._painted(printable(capture.path), _BOLD)
        yield (
            f"{_INDENT}{counted(capture.packets, 'packet')}, {capture.tcp_packets:,} of TCP;"
            f" {counted(self._analysis.flows.height, 'flow')},"
            f" {_counted_transactions(self._analysis.transactions)}"
        )
        first, last = capture.first_time_ns, capture.last_time_ns
        if first is not None and last is not None:
            yield f"{_INDENT}from {moment(first)}, for {duration(last - first)}"
        yield f"{_INDENT}{capture.format}, {', '.join(capture.link_types) or 'no link type'}"
        if capture.truncated:
            yield f"{_INDENT}cut short: analysed as far as it goes"

    def _findings(self) -> Iterator[str]:

        findings = self._analysis.findings
        groups = finding_groups(findings)
        told = [group for group in groups if not group.is_note]
        notes = [group for group in groups if group.is_note]
        yield ""
        yield self._painted(findings_words(findings), _BOLD)
        if all(DETECTORS[group.detector].reads_flaws for group in told):
            yield from self._prose(limits.search_scope(self._analysis))
        for group in told:
            yield ""
            yield from self._pathology(group)
        if notes:
            yield ""
        for group in notes:
            yield from self._note(group)

    def _pathology(self, group: FindingGroup) -> Iterator[str]:
        """Yield the findings of one name and cause: the worst in words, then the flows."""
        rows = _plain_rows(group.findings)
        worst = rows[0]
        yield f"{self._name(group)}  {' '.join(filter(None, [_cost(group), _extent(rows)]))}".rstrip()
        if group.cause is not None:
            yield f"{_INDENT}({group.cause})"
        yield from self._prose(_sentence(worst["summary"]))
        yield from self._flows_of(rows)
        yield from self._prose(_sentence(worst["remedy"]), label="Change: ")
        yield from self._prose(_listed(_settings(group)), label="Settings: ")
        yield from self._prose(worst["reference"], label="See: ")
        # The address has its own line: a wrapped address cannot be opened.
        yield f"{_INDENT}  {detector_page(group.detector)}"

    def _note(self, group: FindingGroup) -> Iterator[str]:
        """Yield the informational findings in brief: one of them, and the number."""
        worst = group.findings.row(0, named=True)
        count = group.findings.height
        more = f"{count:,} findings (list them: --format csv --table findings)" if count > 1 else ""
        yield f"{self._name(group)}  {' '.join(filter(None, [_cost(group), more]))}".rstrip()
        yield from self._prose(_sentence(worst["summary"]))
        yield from self._prose(_sentence(worst["remedy"]), label="Change: ")

    def _name(self, group: FindingGroup) -> str:
        severity = self._painted(group.severity, _SEVERITY_COLOUR[group.severity])
        return f"{severity}  {self._painted(group.detector, _BOLD)}"

    def _flows_of(self, rows: list[dict[str, Any]]) -> Iterator[str]:
        by_flow: dict[int | None, list[dict[str, Any]]] = {}
        for row in rows:
            by_flow.setdefault(row["flow"], []).append(row)
        worst_first = sorted(by_flow.items(), key=lambda item: -_lost(item[1]))
        for flow, of_flow in worst_first[:_FLOWS_OF_A_FINDING]:
            yield from self._prose(_places(flow, of_flow), label="- ")
        more = len(by_flow) - _FLOWS_OF_A_FINDING
        if more > 0:
            yield from self._prose(f"… and {counted(more, 'flow')} more: --format csv --table findings")

    def _time_by_cause(self) -> Iterator[str]:
        waits = self._analysis.waits
        if waits.is_empty():
            return
        spent = int((waits["end"] - waits["start"]).to_physical().sum())
        transactions = waits.select("flow", "transaction").n_unique()
        title = f"Where the time went: {duration(spent)} of {counted(transactions, 'transaction')}"
        yield ""
        yield self._painted(title, _BOLD)
        yield from time_by_cause(waits, self._width)
        hops = self._analysis.hops
        if not hops.is_empty():
            served = counted(hops.select("flow", "transaction").n_unique(), "transaction")
            yield from self._prose(f"A proxy asked its upstream server for {served}: --format csv --table hops")

    def _limits(self) -> Iterator[str]:
        sentences = list(limits.capture_limits(self._analysis))
        if sentences:
            yield ""
            yield self._painted("What this capture cannot show", _BOLD)
            for sentence in sentences:
                yield from self._prose(sentence, label="- ")

    def _pages(self) -> Iterator[str]:
        """Yield the retrievals of more than one transaction, each with its dominant cause."""
        import polars as pl

        retrievals = self._analysis.retrievals
        several = retrievals.filter(pl.col("transactions") > 1)
        if several.is_empty():
            return
        longest = _longest(several, "start", "end")
        headings = (
            Heading("flow.no"),
            Heading("page", is_elastic=True),
            Heading("objects", is_number=True),
            Heading("flows", is_number=True),
            Heading("bytes", is_number=True, is_optional=True),
            Heading("time", is_number=True),
            Heading("most of it"),
        )
        are_shown = pl.col("retrieval").is_in(longest["retrieval"].implode())
        most = _most_of_path(self._analysis.critical_path.filter(are_shown))
        cells = [
            (
                f"{row['flow']}.{row['transaction']}",
                row["url"] or _NO_URL,
                f"{row['transactions']:,}",
                f"{row['flows']:,}",
                f"{row['bytes']:,}",
                duration(row["elapsed"]),
                most.get(row["retrieval"], "-"),
            )
            for row in _plain_rows(longest)
        ]
        yield from self._table("retrievals", several.height, headings, cells, title="pages")

    def _transactions(self) -> Iterator[str]:
        frame = self._analysis.transactions
        if frame.is_empty():
            return
        lost, elsewhere = self._lost_by_transaction()
        rows = _plain_rows(_longest(frame, "start_time", "end_time"))
        extra = [column for column in OF_STREAMS if any(column.text(row) != NOTHING for row in rows)]
        headings = (
            Heading("flow.no"),
            *(column.heading for column in extra),
            Heading("method"),
            Heading("target", is_elastic=True),
            Heading("status"),
            Heading("bytes", is_number=True),
            Heading("wait", is_number=True),
            Heading("receive", is_number=True),
            Heading("lost", is_number=True),
        )
        cells = [
            (
                f"{row['flow']}.{row['index']}",
                *(column.text(row) for column in extra),
                row["method"] or NOTHING,
                target_of(row),
                status_of(row),
                "-" if row["response_body_bytes"] is None else f"{row['response_body_bytes']:,}",
                _between(row, "request_last_time", "response_first_time"),
                _between(row, "response_first_time", "response_last_time"),
                duration(lost.get((row["flow"], row["index"]))),
            )
            for row in rows
        ]
        yield from self._table("transactions", frame.height, headings, cells)
        if elsewhere:
            yield from self._prose(f"Findings about several transactions lost {duration(elsewhere)} more.")

    def _lost_by_transaction(self) -> tuple[dict[tuple[int, int], int], int]:
        """Return the lost time by flow and transaction, and the rest that belongs to no single one."""
        findings = self._analysis.findings
        lost: dict[tuple[int, int], int] = {}
        elsewhere = 0
        columns = findings["flow"], findings["transaction"], claimed(findings).to_physical()
        for flow, transaction, nanoseconds in zip(*columns, strict=True):
            if transaction is None:
                elsewhere += nanoseconds
            else:
                lost[flow, transaction] = lost.get((flow, transaction), 0) + nanoseconds
        return lost, elsewhere

    def _transfers(self) -> Iterator[str]:
        frame = self._analysis.transfers
        if frame.is_empty():
            return
        headings = (
            Heading("flow"),
            Heading("client", is_elastic=True),
            Heading("server", is_elastic=True),
            Heading("mode"),
            Heading("file"),
            Heading("bytes", is_number=True),
            Heading("elapsed", is_number=True),
        )
        cells = [
            (
                str(row["flow"]),
                printable(row["client"]),
                printable(row["server"]),
                row["mode"],
                "fetched" if row["to_client"] else "stored",
                f"{row['bytes']:,}",
                duration(row["elapsed"]),
            )
            for row in _plain_rows(_longest(frame, "start", "end"))
        ]
        yield from self._table("flows", frame.height, headings, cells, title="transfers of files")

    def _flows(self) -> Iterator[str]:
        frame = self._analysis.flows
        if frame.is_empty():
            return
        headings = (
            Heading("flow"),
            Heading("client", is_elastic=True),
            Heading("server", is_elastic=True),
            Heading("bytes", is_number=True),
            Heading("resent", is_number=True),
            Heading("rtt", is_number=True),
            Heading("seen at", is_optional=True),
            Heading("closed by", is_optional=True),
        )
        cells = [
            (
                str(row["flow"]),
                _endpoint(row["client"], row["client_port"]),
                _endpoint(row["server"], row["server_port"]),
                f"{row['client_bytes'] + row['server_bytes']:,}",
                f"{row['client_retransmissions'] + row['server_retransmissions']:,}",
                duration(row["initial_rtt"]),
                row["observation_point"],
                row["closed_by"],
            )
            for row in _plain_rows(_longest(frame, "start", "end"))
        ]
        yield from self._table("flows", frame.height, headings, cells)
        yield from self._marks(frame)

    def _marks(self, flows: pl.DataFrame) -> Iterator[str]:
        """Yield the marks of queues and the reductions for them, if there are any."""
        import polars as pl

        kinds = ("ce_packets", "ece_acks", "cwr_segments")
        counts = [(pl.col(f"client_{kind}") + pl.col(f"server_{kind}")).alias(kind) for kind in kinds]
        # Accurate ECN gives the flags another meaning (RFC 9768, section 3.2).
        known = flows.filter(pl.col("ecn_negotiated").fill_null(value=True)).select(counts)
        marked = known.filter(pl.any_horizontal(pl.all() > 0))
        if marked.is_empty():
            return
        packets, echoes, reductions = marked.sum().row(0)
        yield from self._prose(
            f"Queues signal congestion by ECN on {counted(marked.height, 'flow')}:"
            f" {counted(packets, 'marked packet')} (CE), {counted(echoes, 'ACK')} with an echo (ECE),"
            f" {counted(reductions, 'segment')} after a reduction of cwnd (CWR)."
        )

    def _table(
        self,
        name: str,
        height: int,
        headings: Sequence[Heading],
        cells: Sequence[Sequence[str]],
        *,
        title: str | None = None,
    ) -> Iterator[str]:
        called = (title or name).capitalize()
        title = f"{called} ({height:,})"
        if height > len(cells):
            shown = f"the {len(cells)} longest of {height:,}"
            title = f"{called}: {shown}; all: --format csv --table {name}"
        yield ""
        yield self._painted(title, _BOLD)
        yield from grid(headings, cells, self._width)

    def _prose(self, text: str, *, label: str = "") -> list[str]:
        return textwrap.wrap(
            printable(text),
            min(self._width, _PROSE_WIDTH),
            initial_indent=_INDENT + label,
            subsequent_indent=_INDENT + " " * (2 if label else 0),
            break_on_hyphens=False,
        )

    def _painted(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self._colour else text


def _longest(frame: pl.DataFrame, start: str, end: str) -> pl.DataFrame:
    """Return the longest rows in their original order, or all rows if there are few."""
    import polars as pl

    if frame.height <= _ROWS:
        return frame
    elapsed = (pl.col(end) - pl.col(start)).alias("elapsed")
    return (
        frame.with_row_index("row")
        .sort(elapsed, descending=True, nulls_last=True, maintain_order=True)
        .head(_ROWS)
        .sort("row")
        .drop("row")
    )


def _most_of_path(critical_path: pl.DataFrame) -> dict[int, str]:
    """Return the dominant cause of each retrieval's critical path, with its share."""
    import polars as pl

    by_cause = (
        critical_path.group_by("retrieval", "cause", maintain_order=True)
        .agg(pl.col("share").sum())
        .sort("share", descending=True, maintain_order=True)
        .unique("retrieval", keep="first", maintain_order=True)
    )
    return {number: f"{cause} {share:.0%}" for number, cause, share in by_cause.iter_rows()}


def _counted_transactions(transactions: pl.DataFrame) -> str:
    """Return the number of HTTP transactions, and of exchanges that TLS hides."""
    hidden = int((transactions["protocol"] == "tls").sum())
    told = [counted(transactions.height - hidden, "HTTP transaction")] if hidden < transactions.height else []
    if hidden:
        told.append(counted(hidden, "TLS exchange"))
    return ", ".join(told) or "0 HTTP transactions"


def _plain_rows(frame: pl.DataFrame) -> list[dict[str, Any]]:
    """Return the rows with integer nanoseconds for times."""
    import polars.selectors as cs

    return frame.with_columns(cs.temporal().to_physical()).to_dicts()


def _extent(rows: list[dict[str, Any]]) -> str:
    """Return the number of transactions, or of flows without any; empty without a flow."""
    for names, noun in ((("flow", "transaction"), "transaction"), (("flow",), "flow")):
        places = {tuple(row[name] for name in names) for row in rows}
        known = [place for place in places if None not in place]
        if known:
            return f"in {counted(len(known), noun)}"
    return ""


def _places(flow: int | None, of_flow: list[dict[str, Any]]) -> str:
    """Return the place on the flow; for several places the total and the worst."""
    worst = of_flow[0]
    on = "several flows" if flow is None else f"flow {flow}"
    place = ", ".join(_place(worst))
    figures = [duration(worst["lost"])] if worst["lost"] else []
    certainty = ", ".join([*figures, f"confidence {worst['confidence']:.2f}"])
    if len(of_flow) == 1:
        return f"{', '.join(filter(None, [on, place]))}: {certainty}"
    all_lost = f"{duration(_lost(of_flow))} in " if _lost(of_flow) else ""
    worst_place = f"the worst {place}: " if place else "the worst: "
    return f"{on}: {all_lost}{len(of_flow):,} places; {worst_place}{certainty}"


def _place(finding: dict[str, Any]) -> Iterator[str]:
    if finding["transaction"] is not None:
        yield f"transaction {finding['transaction']}"
    if finding["first_frame"] is not None:
        first, last = finding["first_frame"], finding["last_frame"]
        yield f"frame {first}" if last in {first, None} else f"frames {first}-{last}"


def _cost(group: FindingGroup) -> str:
    return f"{duration(group.lost_ns)} lost" if group.lost_ns else ""


def _settings(group: FindingGroup) -> tuple[str, ...]:
    """Return the settings of the captured server software; other servers are too many."""
    software = group.findings["server_software"].drop_nulls()
    return settings_for_all(group.detector, software.unique(maintain_order=True)) if software.len() else ()


def _listed(settings: Iterable[str]) -> str:
    """Return the settings in a row; a setting that ends with a semicolon, such as nginx's, gets no second one."""
    return "; ".join(setting.removesuffix(";") for setting in settings)


def _lost(rows: list[dict[str, Any]]) -> int:
    return sum(row["lost"] for row in rows)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:].removesuffix(".") + "."


def _between(row: dict[str, Any], start: str, end: str) -> str:
    if row[start] is None or row[end] is None:
        return "-"
    length = row[end] - row[start]
    # A server may answer before the end of the request, and a clock may step back.
    return duration(length) if length >= 0 else f"0, {duration(-length)} early"


def _endpoint(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
