"""HTTP/2 of a capture: windows and frames as they were seen, and what only runs tell of requests and order.

The client's windows stand in its SETTINGS and WINDOW_UPDATEs. When it knew of its objects, how many requests it
has outstanding and in which order the server writes what is ready does not stand anywhere: each is run. Of
streams inside TLS without keys lengths are seen only: windows that hold nothing back, and the first ones of
RFC 9113, are run as well.
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
_WAITS: Final = "client.h2_waits_for_settings"
_UNKNOWN: Final = "the frames are encrypted, and the capture has no keys"


def terms_of(observed: Observed) -> Http2 | None:
    """The windows and frames that the capture shows; None: it shows no streams."""
    row = next((row for _, row in sorted(observed.h2_connections.items())), None)
    if row is None:
        return None
    sent = [-event["bytes"] for event in observed.h2_windows if event["event"] == "data"]
    return Http2(
        stream_window=max(_first_window(observed, row), 1),
        connection_window=max(row["client_connection_window"] or FIRST_WINDOW, FIRST_WINDOW),
        frame_bytes=max(sent, default=bytes_of(_WIDE.frame_bytes)) or 1,
        waits_for_settings=_waits_for_settings(observed, row),
    )


def _first_window(observed: Observed, row: dict[str, Any]) -> int:
    """The window of most streams before their first DATA: SETTINGS and WINDOW_UPDATE both open it."""
    found: dict[tuple[int, int], int] = {}
    for event in observed.h2_windows:
        if event["event"] == "data" and event["stream_window"] is not None:
            found.setdefault((event["flow"], event["stream"]), event["stream_window"] - event["bytes"])
    usual = Counter(found.values()).most_common(1)
    return usual[0][0] if usual else row["client_initial_window"] or FIRST_WINDOW


def _waits_for_settings(observed: Observed, row: dict[str, Any]) -> bool:
    """Whether the first request left behind the server's SETTINGS, and not with the preface.

    Inside TLS a server may send its SETTINGS before it is asked for anything, so that this shows nothing.
    """
    if observed.handshakes:
        return False
    asked = min(each.request_frame for each in observed.exchanges if each.flow == row["flow"])
    frames = row["client_settings_frame"], row["server_settings_frame"]
    return None not in frames and frames[0] < asked and frames[1] < asked


def most_outstanding(observed: Observed) -> int:
    """The most requests of a connection that had no whole response yet, at any time."""
    most = 0
    for visit in observed.visits:
        for flow in {exchange.flow for exchange in visit.exchanges}:
            of_flow = [exchange for exchange in visit.exchanges if exchange.flow == flow]
            # What ends when another begins makes room for it.
            events = [(each.request_time, 1) for each in of_flow] + [(each.response_end, -1) for each in of_flow]
            most, now = max(most, 1), 0
            for _, change in sorted(events):
                now += change
                most = max(most, now)
    return most


def variants(observed: Observed, row: Strategy) -> list[Strategy]:
    """The strategy with each of what the capture leaves open."""
    most = most_outstanding(observed)
    requests = max(len(visit.exchanges) for visit in observed.visits)
    bounds = [row.pipelining] if 1 < most >= requests - 1 else [row.pipelining, most]
    found = []
    for terms, discovery, bound in product(_terms(observed, most), _discoveries(observed, requests), bounds):
        found.append(replace(row, http2=terms, discovery=discovery, pipelining=bound, server_stack={}))
    return found


def _terms(observed: Observed, most: int) -> list[Http2]:
    shown = terms_of(observed)
    if shown is None:
        narrow = replace(_WIDE, stream_window=FIRST_WINDOW)
        return [_WIDE, narrow, replace(narrow, connection_window=FIRST_WINDOW)]
    orders = [WriteOrder.SEQUENTIAL]
    if most > 1:
        orders.append(WriteOrder.ROUND_ROBIN)
        orders += [WriteOrder.PRIORITY] * any(each.urgency is not None for each in observed.exchanges)
    return [replace(shown, order=order) for order in orders]


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
    """The client's windows, the server's frames, and whether requests wait for SETTINGS."""
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


def order_figure(observed: Observed, best: Http2, alike: tuple[Http2, ...]) -> Figure:
    """In which order the server writes what is ready, by runs."""
    name = "server.h2_order"
    others = tuple(dict.fromkeys(str(each.order) for each in alike if each.order != best.order))
    if terms_of(observed) is None:
        return assumed(name, str(best.order), reason=_UNKNOWN)
    if most_outstanding(observed) < 2:  # noqa: PLR2004 -- an order is of two
        return assumed(name, str(best.order), reason="no two responses were ready at a time")
    return seen(
        name,
        str(best.order),
        confidence=1 / (1 + len(others)),
        frames=[exchange.response_frame for exchange in observed.exchanges],
        how="of the runs of each order the nearest",
        alternatives=others,
    )
