"""Server's initial congestion window, as the core inferred it: the bytes sent before their first ACK.

The window is known if more data waited for the first ACK. Otherwise the bytes sent are a lower bound.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.inference.figure import Figure, assumed, seen

if TYPE_CHECKING:
    from tcptrace_http.inference.observed import Observed

__all__ = ["initial_window"]

_NAME: Final = "server.initial_window"
_UNIT: Final = "segments"
# Value without an observation: the smallest initial window of any standard (RFC 2001).
_LEAST: Final = 1


def initial_window(observed: Observed, *, shares: bool = False) -> Figure:
    """Return the segments of the first flight, from flows with a longer first response.

    With ``shares``, later connections begin with shared path state, so only the first connection counts.
    """
    rows = [row for row in observed.profiles.values() if observed.flows[row["flow"]]["has_syn_ack"]]
    if shares:
        rows = [row for row in rows if row["flow"] == observed.exchanges[0].flow]
    exact = [row for row in rows if row["initial_window_segments"] is not None]
    if not exact:
        most = max((row["first_flight_segments"] for row in rows), default=_LEAST)
        return assumed(
            _NAME,
            None,
            low=max(most, _LEAST),
            unit=_UNIT,
            reason=f"no first response was cut off by the window, which is at least {most} segments",
        )
    counts = [row["initial_window_segments"] for row in exact]
    value = max(set(counts), key=lambda count: (counts.count(count), count))
    agreeing = [row for row in exact if row["initial_window_segments"] == value]
    return seen(
        _NAME,
        value,
        low=min(counts),
        high=max(counts),
        unit=_UNIT,
        confidence=len(agreeing) / len(exact),
        frames=[row["initial_window_frame"] for row in agreeing],
        how=f"data before its first ACK could come back, on {len(agreeing)} of {len(exact)} flows",
    )
