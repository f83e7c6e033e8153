"""Flow, transaction and analysis as a notebook shows them: small tables with escaped text."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, Final

from tcptrace_http.errors import UnknownName
from tcptrace_http.finding_groups import finding_groups
from tcptrace_http.quantity import counted, duration

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import polars as pl

    from tcptrace_http.analysed import Analysed

__all__ = ["FlowView", "TransactionView", "flow_view", "overview", "summary", "transaction_view"]

#: Maximum number of table rows in a notebook. The caption gives the total.
_ROWS_MAX: Final = 10
_TEXT_MAX: Final = 120
_OF_FLOWS: Final = (
    *("flow", "client", "client_port", "server", "server_port", "packets", "client_bytes", "server_bytes"),
    *("initial_rtt", "transactions", "closed_by"),
)
_OF_TRANSACTIONS: Final = (
    *("flow", "index", "method", "target", "host", "status", "response_body_bytes", "start_time", "end_time"),
    *("request_frame", "stream"),
)
_OF_FINDINGS: Final = ("detector", "flow", "transaction", "lost", "confidence", "summary", "remedy")
_OF_DETECTORS: Final = (
    *("detector", "severity", "findings", "lost", "worst flow", "worst transaction"),
    *("summary", "remedy"),
)
_OF_SLOWEST: Final = ("flow", "index", "elapsed", *_OF_TRANSACTIONS[2:7], "request_frame")
_OF_WAITS: Final = ("cause", "start", "end", "first_frame", "last_frame")


@dataclass(frozen=True, slots=True)
class _View:
    """Row of a table with its related rows; the row's columns are attributes too."""

    #: Columns of the row by name; ``schema.TABLES`` describes them.
    fields: Mapping[str, Any]
    #: Related rows of the tables of these names.
    waits: pl.DataFrame
    findings: pl.DataFrame
    _analysis: Analysed

    def __getattr__(self, name: str) -> Any:
        """Return a column of the row."""
        # Copying asks an object for attributes before it has fields.
        fields: Mapping[str, Any] = object.__getattribute__(self, "fields")
        if name in fields:
            return fields[name]
        raise AttributeError(f"{type(self).__name__} has no column {name!r}; it has {', '.join(fields)}")

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *self.fields})

    @property
    def segments(self) -> pl.DataFrame:
        """Return the segments. Unless ``analyze`` made them, the capture is read again."""
        return self._analysis.segments.filter(flow=self.fields["flow"])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _View) and type(self) is type(other) and self.fields == other.fields

    def __hash__(self) -> int:
        return hash((type(self), self.fields["flow"], self.fields.get("index")))


class FlowView(_View):
    """TCP connection: its row, ``segments``, ``transactions``, ``waits`` and ``findings``."""

    __slots__ = ()

    @property
    def transactions(self) -> pl.DataFrame:
        """Return the transactions of the flow."""
        return self._analysis.transactions.filter(flow=self.fields["flow"])

    def __repr__(self) -> str:
        of = self.fields
        ends = f"{of['client']}:{of['client_port']} to {of['server']}:{of['server_port']}"
        return f"<flow {of['flow']}: {ends}, {counted(self.transactions.height, 'transaction')}>"

    def _repr_html_(self) -> str:
        parts = [_heading(repr(self)), _fields(self.fields, _OF_FLOWS)]
        parts += [_table("Findings", self.findings, _OF_FINDINGS)]
        return "".join([*parts, _table("Transactions", self.transactions, _OF_TRANSACTIONS)])


class TransactionView(_View):
    """Request and its response: its row, ``segments`` of its frames, ``waits`` and ``findings``."""

    __slots__ = ()

    @property
    def segments(self) -> pl.DataFrame:
        """Return the segments of the flow, from the first to the last frame of the transaction's waits."""
        own = super().segments
        first, last = self.waits["first_frame"].min(), self.waits["last_frame"].max()
        return own.filter(own["frame"].is_between(first, last)) if self.waits.height else own.clear()

    def __repr__(self) -> str:
        of = self.fields
        what = " ".join(str(of[name]) for name in ("method", "target", "status") if of[name] is not None)
        return f"<transaction {of['flow']}.{of['index']}: {what[:_TEXT_MAX]}>"

    def _repr_html_(self) -> str:
        parts = [_heading(repr(self)), _fields(self.fields, _OF_TRANSACTIONS)]
        parts += [_table("Findings", self.findings, _OF_FINDINGS)]
        return "".join([*parts, _table("Waits", self.waits, _OF_WAITS)])


def flow_view(analysis: Analysed, flow: int) -> FlowView:
    """Return the flow with a number.

    :raises UnknownName: no flow has the number.
    """
    row = analysis.flows.filter(flow=flow)
    if row.is_empty():
        raise UnknownName(f"there is no flow {flow}; there {_are(analysis.flows.height, 'flow')}")
    own = {name: analysis.table(name).filter(flow=flow) for name in ("waits", "findings")}
    return FlowView(row.row(0, named=True), **own, _analysis=analysis)


def transaction_view(analysis: Analysed, flow: int, index: int) -> TransactionView:
    """Return the transaction with a number on a flow.

    :raises UnknownName: no transaction has the number.
    """
    on_flow = analysis.transactions.filter(flow=flow)
    row = on_flow.filter(index=index)
    if row.is_empty():
        there = _are(on_flow.height, "transaction")
        raise UnknownName(f"there is no transaction {index} on flow {flow}; there {there}")
    own = {name: analysis.table(name).filter(flow=flow, transaction=index) for name in ("waits", "findings")}
    return TransactionView(row.row(0, named=True), **own, _analysis=analysis)


def _are(count: int, noun: str) -> str:
    return f"{'is' if count == 1 else 'are'} {counted(count, noun)}, counted from 0"


def summary(analysis: Analysed) -> str:
    """Return an analysis in one line: the counts, and the time that findings lost."""
    from tcptrace_http.verdict import findings_words

    capture = analysis.capture
    counts = (
        counted(capture.packets, "packet"),
        counted(analysis.flows.height, "flow"),
        counted(analysis.transactions.height, "transaction"),
        findings_words(analysis.findings),
    )
    return f"<analysis of {capture.path}: {', '.join(counts)}>"


def _by_detector(findings: pl.DataFrame) -> pl.DataFrame:
    """Return one row per detector and cause: the number of findings, the total loss, and the largest loss."""
    import polars as pl

    rows = []
    for group in finding_groups(findings):
        worst = group.findings.row(0, named=True)
        told = worst["flow"], worst["transaction"], worst["summary"], worst["remedy"]
        rows.append((group.detector, group.severity, group.findings.height, group.lost_ns, *told))
    return pl.DataFrame(rows, schema=_OF_DETECTORS, orient="row", infer_schema_length=None).with_columns(
        pl.col("lost").cast(pl.Duration("ns"))
    )


def overview(analysis: Analysed) -> str:
    """Return an analysis as HTML: the verdict, the findings by detector and the slowest transactions."""
    import polars as pl

    from tcptrace_http.verdict import verdict

    told = verdict(analysis)
    elapsed = (pl.col("end_time") - pl.col("start_time")).alias("elapsed")
    slowest = analysis.transactions.with_columns(elapsed).sort(
        "elapsed", descending=True, nulls_last=True, maintain_order=True
    )
    return "".join(
        [
            _heading(f"{analysis.capture.path}: {told.headline}"),
            f"<p>{escape(summary(analysis))}</p><p>{escape(told.detail)}</p>",
            _table("Detectors, the most time lost first", _by_detector(analysis.findings), _OF_DETECTORS),
            _table("Transactions, the slowest first", slowest, _OF_SLOWEST),
        ]
    )


def _heading(text: str) -> str:
    return f"<p><b>{escape(text)}</b></p>"


def _fields(fields: Mapping[str, Any], names: tuple[str, ...]) -> str:
    rows = "".join(f"<tr><th>{name}</th><td>{_text(fields[name])}</td></tr>" for name in names if name in fields)
    return f"<table>{rows}</table>"


def _table(title: str, frame: pl.DataFrame, names: tuple[str, ...]) -> str:
    """Return the first rows of a table as HTML; for an empty table only a note."""
    if frame.is_empty():
        return f"<p>{title}: none</p>"
    shown = [name for name in names if name in frame.columns]
    more = f", {_ROWS_MAX} of them" if frame.height > _ROWS_MAX else ""
    head = "".join(f"<th>{name}</th>" for name in shown)
    body = "".join(_rows(frame.select(shown).head(_ROWS_MAX)))
    return (
        f"<table><caption>{title} ({frame.height:,}{more})</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def _rows(frame: pl.DataFrame) -> Iterator[str]:
    for row in frame.iter_rows():
        yield f"<tr>{''.join(f'<td>{_text(value)}</td>' for value in row)}</tr>"


def _text(value: object) -> str:
    """Return a value as escaped text: capture content may be arbitrary."""
    from datetime import timedelta

    if value is None:
        return ""
    if isinstance(value, timedelta):
        return duration(round(value / timedelta(microseconds=1)) * 1000)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    text = str(value)
    return escape(text if len(text) <= _TEXT_MAX else f"{text[:_TEXT_MAX]}…")
