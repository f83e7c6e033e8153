"""Predictions of analytic models for the aligned retrievals, beside the measured times.

A model applies if its assumptions hold in the capture; otherwise the row names the failed one. The same
capture gives the path and stack parameters: minimum round trip, pace of full segments, first flight, and ACK
frequency. The residual is the unmodelled time: host time and stalls.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from reference_sim.models import Path
    from tcptrace_http.analysis import Analysis

__all__ = ["RESIDUALS", "residuals"]

_TIME: Final = pl.Duration("ns")
RESIDUALS: Final = {
    "pair": pl.UInt32(),
    "side": pl.Enum(("left", "right")),
    "model": pl.String(),
    #: Failed assumption; null if all hold.
    "fails": pl.String(),
    "elapsed": _TIME,
    "predicted": _TIME,
    "residual": _TIME,
}
#: Minimum segments per round trip for the models' assumption of long round trips. The unmodelled transmission
#: time of a flight is then below a fifth.
_LONG_ROUND_TRIP_SEGMENTS: Final = 5
#: Header bytes of IPv4 and TCP without options.
_HEADER_BYTES: Final = 40
#: Maximum ACKs per data segment with delayed ACKs. One ACK per second segment is 0.5, one per segment is 1.
_ACKS_OF_EACH: Final = 0.75
_BITS: Final = 8
_NANOSECONDS: Final = 10**9


@dataclass(frozen=True, slots=True)
class _Page:
    """Retrieval as the models see it."""

    path: Path
    sizes: Sequence[int]
    #: Mean bytes per request.
    request: int
    flows: int
    initial: int
    delayed_acks: bool
    is_pipelined: bool
    is_sequential: bool


_NO_LOSS: Final = "packets were lost or reordered"
_SECURED: Final = "no model has a TLS handshake"
_MULTIPLEXED: Final = "no model has streams of HTTP/2"
_NO_HANDSHAKE: Final = "a connection was already open"
_NO_WINDOW: Final = "the first response did not fill its window: the window is unknown"
_NO_BOTTLENECK: Final = "the bottleneck limits the transfer: the model has no bottleneck"
_NO_RATE: Final = "no repeated back-to-back packets: the rate is unknown"
_SHORT_ROUND_TRIP: Final = (
    "the round trip is short against the serialization time of a segment: the model ignores the hosts' time"
)


def residuals(left: Analysis, right: Analysis, retrievals: pl.DataFrame) -> pl.DataFrame:
    """Return prediction and residual per aligned retrieval, side and applicable model."""
    rows: list[dict[str, Any]] = []
    for side, analysis in (("left", left), ("right", right)):
        numbers = retrievals.select(f"{side}_retrieval", "pair", pl.col(f"{side}_elapsed").to_physical()).rows()
        facts = _Facts(analysis)
        for number, pair, elapsed in numbers:
            rows += [{"pair": pair, "side": side, "elapsed": elapsed, **row} for row in _of_page(facts, number)]
    frame = pl.DataFrame(rows, schema={name: dtype for name, dtype in RESIDUALS.items() if name != "residual"})
    return frame.with_columns(residual=pl.col("elapsed") - pl.col("predicted")).sort("pair", "side", "model")


def _of_page(facts: _Facts, number: int) -> Iterator[dict[str, Any]]:
    page = facts.page(number)
    if isinstance(page, str):
        yield {"model": "all", "fails": page, "predicted": None}
        return
    segment = page.path.sending_ns(page.path.mss)
    short = None if page.path.rtt_ns >= _LONG_ROUND_TRIP_SEGMENTS * segment else _SHORT_ROUND_TRIP
    fills = _NO_BOTTLENECK if page.path.sending_ns(sum(page.sizes)) > page.path.rtt_ns else None
    for name, model in _models_of(page):
        yield {"model": name, "fails": short or (fills if model is _cardwell else None), "predicted": model(page)}


def _models_of(page: _Page) -> Iterator[tuple[str, Callable[[_Page], int]]]:
    """Yield the models for this kind of retrieval."""
    if len(page.sizes) == 1:
        yield "Cardwell 2000", _cardwell
    if page.flows == 1 and not page.is_pipelined:
        yield "Heidemann 1997, P-HTTP", _persistent
    if page.flows == len(page.sizes) > 1 and page.is_sequential:
        yield "Heidemann 1997, HTTP", _serial
    if page.flows == 1 and page.is_pipelined:
        yield "Kruse 2001, pipelined", _pipelined
    if page.flows > 1 and not page.is_sequential:
        yield "Kruse 2001, parallel", _parallel


def _cardwell(page: _Page) -> int:
    """Return handshake plus transfer: the request's way replaces the way of its last ACK."""
    from reference_sim.models import cardwell
    from reference_sim.models.pftk import Connection

    acked = 2 if page.delayed_acks else 1
    # Without loss no timeout occurs; the minimum in use (RFC 6298, section 2.4) is the placeholder.
    connection = Connection(rtt_ns=page.path.rtt_ns, timeout_ns=_NANOSECONDS, acked=acked)
    transfer = cardwell.transfer_latency(page.path.segments(page.sizes[0]), 0.0, connection, initial=page.initial)
    return cardwell.handshake_time(0.0, 0.0, rtt_ns=page.path.rtt_ns) + transfer


def _persistent(page: _Page) -> int:
    from reference_sim.models.heidemann import persistent_http_time

    return persistent_http_time(page.sizes, request=page.request, **_in_common(page))


def _serial(page: _Page) -> int:
    from reference_sim.models.heidemann import http_time

    return http_time(page.sizes, request=page.request, **_in_common(page))


def _pipelined(page: _Page) -> int:
    from reference_sim.models.kruse import pipelined_page_time

    return pipelined_page_time(page.sizes, **_in_common(page))


def _parallel(page: _Page) -> int:
    from reference_sim.models.kruse import page_time

    return page_time(page.sizes, connections=page.flows, **_in_common(page))


def _in_common(page: _Page) -> dict[str, Any]:
    """Return the common parameters of the page models."""
    return {"path": page.path, "initial": page.initial, "delayed_acks": page.delayed_acks}


class _Facts:
    """Parameters of a capture for the models, by retrieval and flow."""

    def __init__(self, analysis: Analysis) -> None:
        columns = ("flow", "transaction", "retrieval")
        request = pl.col("request_header_bytes").fill_null(0) + pl.col("request_body_bytes").fill_null(0)
        sizes = analysis.transactions.select(
            "flow",
            pl.col("index").alias("transaction"),
            "response_wire_bytes",
            "protocol",
            "pipelined",
            "reused_connection",
            "complete",
            request.alias("request"),
            pl.col("request_time", "response_last_time").to_physical(),
        )
        members = analysis.retrieval_transactions.select(*columns).join(sizes, on=["flow", "transaction"])
        self._members = defaultdict[int, list[dict[str, Any]]](list)
        for row in members.sort("request_time").iter_rows(named=True):
            self._members[row["retrieval"]].append(row)
        self._flows = {row["flow"]: row for row in _flow_facts(analysis).iter_rows(named=True)}
        of_servers = analysis.profiles.filter(pl.col("direction") == "server_to_client")
        self._paces = dict(_paces(of_servers).rows())
        windows = of_servers.filter(pl.col("initial_window_segments").is_not_null())
        self._windows: dict[int, int] = dict(windows.select("flow", "initial_window_segments").rows())
        self._disturbed = set(analysis.recoveries["flow"].to_list())
        self._secured = set(analysis.tls_handshakes["flow"].to_list())

    def page(self, number: int) -> _Page | str:
        """Return the retrieval, or the failed assumption common to all models."""
        rows = self._members[number]
        flows = {row["flow"] for row in rows}
        if flows & self._disturbed or not all(row["complete"] for row in rows):
            return _NO_LOSS
        if flows & self._secured:
            return _SECURED
        if any(row["protocol"] == "h2" for row in rows):
            return _MULTIPLEXED
        opened = {row["flow"] for row in rows if not row["reused_connection"]}
        known = [self._flows[flow] for flow in flows]
        if opened != flows or any(flow["initial_rtt"] is None for flow in known):
            return _NO_HANDSHAKE
        paces = [self._paces[flow] for flow in flows if flow in self._paces]
        if not paces:
            return _NO_RATE
        window = self._window(flows, rows)
        if not window and min(flow["initial_rtt"] for flow in known) <= min(paces):
            # The first ACK returns before the next segment is sent, so any window suffices.
            window = 1
        return _page(rows, known, min(paces), window) if window else _NO_WINDOW

    def _window(self, flows: set[int], rows: Sequence[dict[str, Any]]) -> int:
        """Return the segments of the first flight if the window ended it; 0 if the ending window is
        unknown.
        """
        seen = [self._windows[flow] for flow in flows if flow in self._windows]
        if seen:
            return max(1, *seen)
        if len(rows) > len(flows):
            return 0
        # With one response per connection, each in one flight, all fit their windows.
        full = {flow: int(self._flows[flow]["segment_bytes"]) for flow in flows}
        return max(1, *(-(-int(row["response_wire_bytes"]) // full[row["flow"]]) for row in rows))


def _page(rows: Sequence[dict[str, Any]], flows: Sequence[dict[str, Any]], pace: float, initial: int) -> _Page:
    from reference_sim.models import Path

    mss = flows[0]["segment_bytes"]
    acks = sum(flow["client_pure_acks"] for flow in flows)
    segments = sum(flow["server_data_segments"] for flow in flows)
    ends = [row["response_last_time"] for row in rows]
    return _Page(
        path=Path(
            rtt_ns=min(flow["initial_rtt"] for flow in flows),
            rate_bps=round(mss * _BITS * _NANOSECONDS / pace),
            mss=mss,
        ),
        sizes=[row["response_wire_bytes"] for row in rows],
        request=sum(row["request"] for row in rows) // len(rows),
        flows=len(flows),
        initial=initial,
        delayed_acks=acks < _ACKS_OF_EACH * segments,
        is_pipelined=any(row["pipelined"] for row in rows),
        is_sequential=all(end <= row["request_time"] for end, row in zip(ends, rows[1:], strict=False)),
    )


def _flow_facts(analysis: Analysis) -> pl.DataFrame:
    return analysis.flows.select(
        "flow",
        "segment_bytes",
        "client_pure_acks",
        "server_data_segments",
        pl.col("initial_rtt").to_physical(),
    )


def _paces(profiles: pl.DataFrame) -> pl.DataFrame:
    """Return the bottleneck's serialization time of a full server segment in nanoseconds, by flow."""
    bits = (pl.col("mss") + _HEADER_BYTES).cast(pl.Float64) * _BITS
    return profiles.filter(pl.col("link_rate") > 0).select("flow", gap=bits * _NANOSECONDS / pl.col("link_rate"))
