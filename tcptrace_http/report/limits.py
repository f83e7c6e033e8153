"""Scope of an analysis, and limits of its capture: no finding does not mean no problem."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors import DETECTORS
from tcptrace_http.quantity import counted
from tcptrace_http.schema import ANOMALY_KINDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

    from tcptrace_http.analysis import Analysis

__all__ = ["capture_limits", "search_scope"]

#: Anomaly kinds that a capture finding covers better.
_FINDING_OF_KIND: Final = {
    "mid_stream_start": "mid-stream-start",
    "capture_gap": "capture-gap",
    "truncated_packet": "truncated-payload",
}
#: Anomaly kinds with at most one anomaly per flow, with a count in its detail.
_ONCE_PER_FLOW: Final = frozenset(("duplicate_packets",))
#: Display names of flow protocols.
_PROTOCOLS: Final = {"http": "HTTP", "tls": "TLS", "h2": "HTTP/2"}
_UNKNOWN_PROTOCOL: Final = "unknown_protocol"


def search_scope(analysis: Analysis) -> str:
    """Return the searched pathologies and the number of responses without any."""
    import polars as pl

    responses = analysis.transactions.filter(pl.col("response_first_frame").is_not_null())
    if responses.is_empty():
        return "Nothing to judge: the capture holds no response of HTTP, and none within TLS."
    names = ", ".join(detector.name for detector in DETECTORS.values() if not detector.reads_flaws)
    flows = responses["flow"].n_unique()
    looked = f"Looked in {counted(responses.height, 'response')} of {counted(flows, 'flow')} for {names}."
    if analysis.inconclusive.is_empty():
        return looked
    return f"{looked} Some of them could not be judged in every flow: see below."


def capture_limits(analysis: Analysis) -> Iterator[str]:
    """Yield sentences about the capture's limits, each only if it applies."""
    if analysis.capture.tcp_packets == 0:
        yield "There are no TCP packets in it."
    yield from _not_looked_into(analysis.anomalies)
    if analysis.capture.tcp_packets == 0:
        return
    yield from _of_flows(analysis.flows)
    yield from _of_tls(analysis)
    yield from _unjudged(analysis.inconclusive)
    yield from _of_transactions(analysis.transactions)
    told = set(analysis.findings["detector"])
    for kind, count in analysis.anomalies["kind"].value_counts(sort=True).iter_rows():
        if kind != _UNKNOWN_PROTOCOL and _FINDING_OF_KIND.get(kind) not in told:
            unit = "flow" if kind in _ONCE_PER_FLOW else "time"
            yield f"{kind} ({counted(count, unit)}): {ANOMALY_KINDS[kind]}."


def _not_looked_into(anomalies: pl.DataFrame) -> Iterator[str]:
    """Yield the protocols of packets without TCP, with their packet counts."""
    protocols = anomalies.filter(kind=_UNKNOWN_PROTOCOL)["detail"]
    if not protocols.is_empty():
        yield f"Not looked into: {'; '.join(protocols)}."


def _unjudged(inconclusive: pl.DataFrame) -> Iterator[str]:
    """Yield the missing judgements, merged by missing property."""
    together = inconclusive.group_by("because", "flows", maintain_order=True).agg("detector")
    for because, flows, detectors in together.iter_rows():
        yield f"Not judged in {counted(flows, 'flow')} because of {because}: {', '.join(detectors)}."


def _of_flows(flows: pl.DataFrame) -> Iterator[str]:
    import polars as pl

    judged = flows.filter(pl.col("protocol").is_not_null())
    if judged.is_empty():
        yield "No HTTP/1.x, HTTP/2 or TLS was found; HTTP/3 cannot be read."
    unplaced = judged.filter(pl.col("observation_point") == "unknown")
    protocols = unplaced["protocol"].cast(pl.String).replace(_PROTOCOLS).value_counts().sort("protocol")
    for protocol, count in protocols.iter_rows():
        yield f"Capture point: unknown for {counted(count, f'{protocol} flow')}."


def _of_tls(analysis: Analysis) -> Iterator[str]:
    """Yield the encrypted parts, and the limits that they cause."""
    import polars as pl

    opaque = analysis.transactions.filter(pl.col("protocol") == "tls")["flow"].unique().implode()
    is_opaque = ~pl.col("is_http") | pl.col("flow").is_in(opaque)
    flows = analysis.flows.filter((pl.col("protocol") == "tls") & is_opaque)
    if flows.is_empty():
        return
    handshakes = analysis.tls_handshakes.join(flows, on="flow", how="semi").filter(pl.col("version").is_not_null())
    versions = handshakes["version"].cast(pl.String).value_counts().sort("version", descending=True).iter_rows()
    told = "".join(f", {count:,} of {version}" for version, count in versions)
    carried = int(flows["client_bytes"].sum()) + int(flows["server_bytes"].sum())
    yield (
        f"Not decrypted: {counted(flows.height, 'TLS flow')}{told}; {counted(carried, 'byte')}. Records tell"
        " requests, responses and their times, but no method, URL or status; with --keylog FILE those too, if the"
        " client wrote its keys (SSLKEYLOGFILE)."
    )
    groups = int(analysis.transactions["is_group"].sum())
    if groups:
        yield (
            f"Merged: requests that overlap in TLS, as in HTTP/2 ({counted(groups, 'group')}). Times are"
            " those of the group."
        )


def _of_transactions(transactions: pl.DataFrame) -> Iterator[str]:
    import polars as pl

    incomplete = transactions.filter(~pl.col("complete")).height
    if incomplete:
        yield f"Not complete: {incomplete:,} of {counted(transactions.height, 'transaction')}."
