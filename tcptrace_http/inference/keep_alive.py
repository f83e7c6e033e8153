"""Number of requests after which the server closes a persistent connection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.inference.figure import Figure, assumed, seen

if TYPE_CHECKING:
    from tcptrace_http.inference.observed import Observed

__all__ = ["max_requests"]

_NAME: Final = "server.max_requests"
_UNIT: Final = "requests"


def max_requests(observed: Observed) -> Figure:
    """Return the requests on a connection whose last response announces an unrequested close."""
    closing = [
        exchange for exchange in observed.exchanges if exchange.server_closes and not exchange.asks_to_close
    ]
    most = max(exchange.index + 1 for exchange in observed.exchanges)
    # A server that closes after each response keeps no connection. A server with a limit always closes at the
    # limit.
    if not closing or most == 1 or any(exchange.index + 1 != most for exchange in closing):
        reason = f"the server closed no connection by itself after more than one request; it took {most}"
        return assumed(_NAME, None, low=most, unit=_UNIT, reason=reason)
    return seen(
        _NAME,
        most,
        unit=_UNIT,
        confidence=len(closing) / (len(closing) + 1),
        frames=[exchange.response_frame for exchange in closing],
        how=f"{len(closing)} connections were closed by the server with the response of this number, none later",
    )
