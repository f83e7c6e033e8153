"""HTTP/2 of a capture: windows and frames as captured, and the requests and order that only runs reveal.

The client's SETTINGS and WINDOW_UPDATEs give its windows, and the order of frames gives the server's order.
The time at which the client knew its objects, and its outstanding requests, are visible nowhere, so each is
run. For TLS streams without keys only lengths are visible. Unlimited windows and the initial windows of RFC
9113 are run as well.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any, Final

from reference_sim.http2 import FIRST_WINDOW, Http2, WriteOrder
from reference_sim.quantities import bytes_of
from reference_sim.strategies import STRATEGIES
from reference_sim.strategy import Discovery
from tcptrace_http.inference.figure import assumed, seen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reference_sim.strategy import Strategy
    from tcptrace_http.inference.figure import Figure
    from tcptrace_http.inference.observed import Observed

__all__ = ["most_outstanding", "order_figure", "terms_of", "variants", "windows_figures"]

_WIDE: Final = STRATEGIES["http2"].http2 or Http2()
#: Default urgency of a request (RFC 9218, section 4.1).
_URGENCY: Final = 3
_WAITS: Final = "client.h2_waits_for_settings"
_UNKNOWN: Final = "the frames are encrypted, and the capture has no keys"


def terms_of(observed: Observed) -> Http2 | None:
    """Return the windows and frames of the capture; None without streams."""
    row = next((row for _, row in sorted(observed.h2_connections.items())), None)
    if row is None:
        return None
    sent = [-event["bytes"] for event in observed.h2_windows if event["event"] == "data"]
    return Http2(
        stream_window=max(_first_window(observed, row), 1),
        connection_window=max(row["client_connection_window"] or FIRST_WINDOW, FIRST_WINDOW),
        frame_bytes=max(sent, default=bytes_of(_WIDE.frame_bytes)) or 1,
        waits_for_settings=_waits_for_settings(observed, row),
        update_bytes=_update_bytes(observed),
    )


def _update_bytes(observed: Observed) -> int | None:
    """Return the minimum increment of a WINDOW_UPDATE after the first DATA; None without one."""
    has_data = set()
    given = []
    for event in observed.h2_windows:
        if event["event"] == "data":
            has_data.add(event["flow"])
        elif event["event"] == "window_update" and event["flow"] in has_data:
            given.append(event["bytes"])
    return min(given) if given else None


def _first_window(observed: Observed, row: dict[str, Any]) -> int:
    """Return the usual window of a stream before its first DATA: SETTINGS and WINDOW_UPDATE both open it."""
    found: dict[tuple[int, int], int] = {}
    for event in observed.h2_windows:
        if event["event"] == "data" and event["stream_window"] is not None:
            found.setdefault((event["flow"], event["stream"]), event["stream_window"] - event["bytes"])
    usual = Counter(found.values()).most_common(1)
    return usual[0][0] if usual else row["client_initial_window"] or FIRST_WINDOW


def _waits_for_settings(observed: Observed, row: dict[str, Any]) -> bool:
    """Return whether the first request left behind the server's SETTINGS, not with the preface.

    Under TLS a server may send its SETTINGS before any request, so its order proves nothing.
    """
    if observed.handshakes:
        return False
    requested = min(each.request_frame for each in observed.exchanges if each.flow == row["flow"])
    frames = row["client_settings_frame"], row["server_settings_frame"]
    return None not in frames and frames[0] < requested and frames[1] < requested


def most_outstanding(observed: Observed) -> int:
    """Return the maximum number of incomplete requests of a connection at any time."""
    most = 0
    for visit in observed.visits:
        for flow in {exchange.flow for exchange in visit.exchanges}:
            of_flow = [exchange for exchange in visit.exchanges if exchange.flow == flow]
            # At equal times an end precedes a begin.
            events = [(each.request_time, 1) for each in of_flow] + [(each.response_end, -1) for each in of_flow]
            most, now = max(most, 1), 0
            for _, change in sorted(events):
                now += change
                most = max(most, now)
    return most


def variants(observed: Observed, row: Strategy) -> list[Strategy]:
    """Return the strategy with each option that the capture leaves open."""
    most = most_outstanding(observed)
    requests = max(len(visit.exchanges) for visit in observed.visits)
    bounds = [row.pipelining] if 1 < most >= requests - 1 else [row.pipelining, most]
    found = []
    for terms, discovery, bound in product(_terms(observed), _discoveries(observed, requests), bounds):
        found.append(replace(row, http2=terms, discovery=discovery, pipelining=bound, server_stack={}))
    return found


def _terms(observed: Observed) -> list[Http2]:
    shown = terms_of(observed)
    if shown is None:
        narrow = replace(_WIDE, stream_window=FIRST_WINDOW)
        return [_WIDE, narrow, replace(narrow, connection_window=FIRST_WINDOW)]
    return [replace(shown, order=_orders(observed)[0])]


def _orders(observed: Observed) -> list[WriteOrder]:
    """Return the possible write orders of the server, likeliest first.

    The order shows if a frame of another stream precedes the end of a response whose window is open.
    """
    urgency = {(each.flow, each.stream or 0): each.urgency for each in observed.exchanges}
    sizes = {(each.flow, each.stream or 0): each.body_bytes for each in observed.exchanges}
    in_turn = urgent = 0
    before: dict[int, tuple[dict[str, Any], bool]] = {}
    credit = _Credit(sizes)
    for event in observed.h2_windows:
        if event["event"] != "data":
            credit.give(event)
            continue
        key = (event["flow"], event["stream"])
        last, may_go_on = before.get(event["flow"], (event, False))
        before[event["flow"]] = (event, credit.use(event))
        other = (last["flow"], last["stream"])
        if other == key or not may_go_on:
            continue
        is_urgent = (urgency.get(key) or _URGENCY) < (urgency.get(other) or _URGENCY)
        urgent += is_urgent
        in_turn += not is_urgent
    has_urgency = any(value is not None for value in urgency.values())
    if in_turn:
        # A repeated request of an urgent stream precedes the next stream's turn.
        return [WriteOrder.ROUND_ROBIN]
    if urgent:
        return [WriteOrder.PRIORITY, WriteOrder.ROUND_ROBIN]
    # Sequential responses may also be the order in which they became ready.
    return [WriteOrder.SEQUENTIAL, WriteOrder.ROUND_ROBIN, *[WriteOrder.PRIORITY] * has_urgency]


class _Credit:
    """Total credit of the windows after each update.

    A response that has sent exactly this credit may have stopped there.
    """

    def __init__(self, sizes: dict[tuple[int, int], int]) -> None:
        self._sizes = sizes
        self._edges: dict[tuple[int, int], tuple[int, set[int]]] = {}
        self._sent: Counter[tuple[int, int]] = Counter()

    def give(self, event: dict[str, Any]) -> None:
        edges = self._edges.get((event["flow"], event["stream"]))
        # Before any DATA the window itself is known.
        if edges is not None:
            edges[1].add(edges[0] + event["bytes"])
            self._edges[event["flow"], event["stream"]] = (edges[0] + event["bytes"], edges[1])

    def use(self, event: dict[str, Any]) -> bool:
        """Return whether more data follows this DATA and both windows certainly allow it."""
        is_free = True
        for stream, name in ((event["stream"], "stream_window"), (0, "connection_window")):
            key = (event["flow"], stream)
            if event[name] is None:
                return False
            first = event[name] - event["bytes"]
            _, edges = self._edges.setdefault(key, (first, {first}))
            self._sent[key] -= event["bytes"]
            is_free &= self._sent[key] not in edges
        own = (event["flow"], event["stream"])
        return is_free and self._sent[own] < self._sizes.get(own, 0)


def _discoveries(observed: Observed, requests: int) -> list[Discovery]:
    if requests == 1:
        return [Discovery.COMPLETE]
    found = [Discovery.STREAMING, Discovery.COMPLETE]
    is_known = all(
        max(each.request_frame for each in visit.exchanges) < min(each.response_frame for each in visit.exchanges)
        for visit in observed.visits
    )
    return [Discovery.KNOWN, *found] if is_known else found


def windows_figures(observed: Observed, chosen: Http2) -> Iterator[Figure]:
    """Yield the figures of the client's windows, the server's frames, and the wait for SETTINGS."""
    row = next((row for _, row in sorted(observed.h2_connections.items())), None)
    told: tuple[tuple[str, int | bool, str], ...] = (
        ("client.h2_stream_window", bytes_of(chosen.stream_window), "B"),
        ("client.h2_connection_window", bytes_of(chosen.connection_window), "B"),
        ("server.h2_frame", bytes_of(chosen.frame_bytes), "B"),
        (_WAITS, chosen.waits_for_settings, ""),
    )
    for name, value, unit in told:
        if row is None:
            yield assumed(name, value, unit=unit, reason=_UNKNOWN)
            continue
        if observed.handshakes and name == _WAITS:
            yield assumed(name, value, unit=unit, reason="a server inside TLS may send SETTINGS unasked")
            continue
        frames = [row["client_settings_frame"] or observed.exchanges[0].request_frame]
        how = "SETTINGS, WINDOW_UPDATE and DATA frames"
        yield seen(name, value, unit=unit, confidence=1.0, frames=frames, how=how)


def order_figure(observed: Observed, best: Http2) -> Figure:
    """Return the figure of the server's write order."""
    name = "server.h2_order"
    others = tuple(str(order) for order in _orders(observed)[1:])
    if terms_of(observed) is None:
        return assumed(name, str(best.order), reason=_UNKNOWN)
    if most_outstanding(observed) < 2:  # noqa: PLR2004 -- an order is of two
        return assumed(name, str(best.order), reason="no two responses were ready at a time")
    return seen(
        name,
        str(best.order),
        confidence=1 / (1 + len(others)),
        frames=[exchange.response_frame for exchange in observed.exchanges],
        how="whether frames of others come before a response is whole",
        alternatives=others,
    )
