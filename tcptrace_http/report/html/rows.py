"""Tables of a report: findings by kind, and rows for the interactive tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tcptrace_http.finding_groups import finding_groups
from tcptrace_http.quantity import counted
from tcptrace_http.remedies import settings_for_all
from tcptrace_http.report.html.interactive import table_of

if TYPE_CHECKING:
    import polars as pl

    from tcptrace_http.analysis import Analysis
    from tcptrace_http.finding_groups import FindingGroup

__all__ = ["Kind", "kinds", "tables"]


@dataclass(frozen=True, slots=True)
class Kind:
    """Findings of one detector and cause: their number, their loss, and the worst of them."""

    detector: str
    severity: str
    count: str
    lost_ns: int
    summary: str
    place: str
    remedy: str
    settings: tuple[str, ...]
    reference: str


def kinds(analysis: Analysis) -> list[Kind]:
    """Return the findings by detector and cause, largest loss first, notes last."""
    return [_kind(group) for group in finding_groups(analysis.findings)]


def _kind(group: FindingGroup) -> Kind:
    worst = group.findings.row(0, named=True)
    frames = f"frames {worst['first_frame']} to {worst['last_frame']}" if worst["first_frame"] is not None else ""
    flow = f"flow {worst['flow']}" if worst["flow"] is not None else ""
    return Kind(
        detector=group.detector,
        severity=group.severity,
        count=counted(group.findings.height, "note" if group.is_note else "finding"),
        lost_ns=group.lost_ns,
        summary=worst["summary"],
        place=", ".join(filter(None, (flow, frames))),
        remedy=worst["remedy"],
        settings=settings_for_all(group.detector, group.findings["server_software"].unique(maintain_order=True)),
        reference=worst["reference"],
    )


def tables(analysis: Analysis) -> dict[str, Any]:
    """Return, by name: title, columns (name, unit) and rows of plain values."""
    key = ("flow", "transaction")
    return {
        "transactions": table_of("Transactions", _transactions(analysis), selected_by=key),
        "findings": table_of("Findings", _findings(analysis), selected_by=key),
        "connections": table_of("Connections", _flows(analysis)),
    }


def _milliseconds(expression: pl.Expr) -> pl.Expr:
    return (expression.dt.total_nanoseconds() / 1e6).round(3)


def _transactions(analysis: Analysis) -> pl.DataFrame:
    import polars as pl

    from tcptrace_http.rollups import har_timings, tls_timings

    key = ["flow", "transaction"]
    length = pl.col("end") - pl.col("start")
    stalled = (
        analysis.waits.filter(pl.col("cause").cast(pl.String).str.starts_with("stall."))
        .group_by(key)
        .agg(_milliseconds(length.sum()).alias("stalled (ms)"))
    )
    phases = har_timings(analysis.waits).select(
        *key, *(_milliseconds(pl.col(name)).alias(f"{name} (ms)") for name in ("connect", "wait", "receive"))
    )
    handshakes = tls_timings(analysis.waits).select(*key, _milliseconds(pl.col("ssl")).alias("TLS (ms)"))
    of_tls = [] if handshakes.is_empty() else ["TLS (ms)"]
    of_h2 = ("stream", "grpc_status", "grpc_request_messages", "grpc_response_messages", "reset_code")
    streams = [name for name in of_h2 if analysis.transactions[name].count()]
    return (
        analysis.transactions.rename({"index": "transaction"})
        .join(phases, on=key, how="left", maintain_order="left")
        .join(handshakes, on=key, how="left", maintain_order="left")
        .join(stalled, on=key, how="left", maintain_order="left")
        .select(
            *key,
            *streams,
            "method",
            pl.col("target").str.slice(0, 200),
            "host",
            "status",
            pl.col("response_body_bytes").alias("body (bytes)"),
            _milliseconds(pl.col("end_time") - pl.col("start_time")).alias("elapsed (ms)"),
            pl.col("stalled (ms)").fill_null(0.0),
            pl.when(~pl.col("reused_connection")).then("connect (ms)").alias("connect (ms)"),
            *of_tls,
            "wait (ms)",
            "receive (ms)",
            pl.col("request_frame").alias("frame"),
        )
    )


def _findings(analysis: Analysis) -> pl.DataFrame:
    import polars as pl

    return analysis.findings.select(
        pl.col("detector").cast(pl.String),
        pl.col("severity").cast(pl.String),
        "flow",
        "transaction",
        _milliseconds(pl.col("lost")).alias("lost (ms)"),
        pl.col("confidence").round(2),
        "summary",
        "first_frame",
        "last_frame",
    )


def _flows(analysis: Analysis) -> pl.DataFrame:
    import polars as pl

    return analysis.flows.select(
        "flow",
        pl.format("{}:{}", "client", "client_port").alias("client"),
        pl.format("{}:{}", "server", "server_port").alias("server"),
        "packets",
        "client_bytes",
        "server_bytes",
        pl.col("transactions"),
        _milliseconds(pl.col("initial_rtt")).alias("initial RTT (ms)"),
        (pl.col("client_retransmissions") + pl.col("server_retransmissions")).alias("retransmissions"),
        pl.col("observation_point").cast(pl.String).alias("captured at"),
        pl.col("closed_by").cast(pl.String),
    )
