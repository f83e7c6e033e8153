"""What an analysis did not look for, and what its capture cannot show: silence is not a clean bill."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tcptrace_http.detectors import DETECTORS
from tcptrace_http.report.quantity import counted
from tcptrace_http.schema import ANOMALY_KINDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

    from tcptrace_http.analysis import Analysis

__all__ = ["what_cannot_be_seen", "what_was_looked_for"]


def what_was_looked_for(analysis: Analysis) -> str:
    """Of which pathologies, and in how many responses, none was found."""
    import polars as pl

    transactions = analysis.transactions
    responses = transactions.filter(pl.col("response_first_frame").is_not_null()).height
    if responses == 0:
        return "There was nothing to look at: the capture holds no HTTP/1.x response."
    names = ", ".join(DETECTORS)
    flows = transactions["flow"].n_unique()
    return (
        f"Looked in {counted(responses, 'response')} of {counted(flows, 'flow')} for {names}."
        " Other reasons to be slow, such as the server's own time, loss or a small window, are not judged."
    )


def what_cannot_be_seen(analysis: Analysis) -> Iterator[str]:
    """Sentences on what the capture lacks, each only where it applies."""
    if analysis.capture.tcp_packets == 0:
        yield "There are no TCP packets in it."
        return
    yield from _of_flows(analysis.flows)
    yield from _of_transactions(analysis.transactions)
    for kind, count in analysis.anomalies["kind"].value_counts(sort=True).iter_rows():
        yield f"{kind} ({counted(count, 'time')}): {ANOMALY_KINDS[kind]}."


def _of_flows(flows: pl.DataFrame) -> Iterator[str]:
    import polars as pl

    http = flows.filter("is_http")
    if http.is_empty():
        yield "No HTTP/1.x was found: TLS, HTTP/2 and HTTP/3 cannot be read."
    one_way = flows.filter((pl.col("client_packets") == 0) | (pl.col("server_packets") == 0)).height
    if one_way:
        yield f"Only one direction was captured of {counted(one_way, 'flow')}: nothing can be judged there."
    joined = http.filter(~pl.col("has_syn") & ~pl.col("has_syn_ack")).height
    if joined:
        yield f"Without a handshake: {counted(joined, 'HTTP flow')}; round trips are known less well."
    unplaced = http.filter(pl.col("observation_point") == "unknown").height
    if unplaced:
        yield f"Taken at the client or at the server? Unknown for {counted(unplaced, 'HTTP flow')}."
    gaps = http.filter((pl.col("client_gap_bytes") > 0) | (pl.col("server_gap_bytes") > 0))
    if not gaps.is_empty():
        lacking = int(gaps["client_gap_bytes"].sum()) + int(gaps["server_gap_bytes"].sum())
        yield f"Never captured: {counted(lacking, 'byte')} of {counted(gaps.height, 'HTTP flow')}."
    merged = http.filter(pl.col("super_segments") > 0).height
    if merged:
        yield (
            f"Packets merged by offload in {counted(merged, 'HTTP flow')}: segments inside them have no time"
            " of their own (to see them: ethtool -K INTERFACE gro off tso off gso off)."
        )


def _of_transactions(transactions: pl.DataFrame) -> Iterator[str]:
    import polars as pl

    incomplete = transactions.filter(~pl.col("complete")).height
    if incomplete:
        yield f"Not complete: {incomplete:,} of {counted(transactions.height, 'transaction')}."
