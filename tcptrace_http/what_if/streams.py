"""Wait causes specific to HTTP/2, for a simulated retrieval."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_sim.quantities import bytes_of
from tcptrace_http.errors import ScenarioError

if TYPE_CHECKING:
    from reference_sim.http2 import Http2
    from reference_sim.scenario import Scenario

__all__ = ["cause_before_requests", "cause_inside_responses"]


def cause_inside_responses(scenario: Scenario) -> str:
    """Return the cause of a pause inside a response after TCP sent everything written.

    An HTTP/2 server has the whole response when it writes the head: only an HTTP/2 window holds the rest.
    """
    http2 = _http2(scenario)
    if http2 is None:
        return "server.data_unavailable"
    streams = max(len(visit.plan.fetches) for browser in scenario.browsers for visit in browser.visits)
    # All streams together do not use up the connection's window.
    is_of_stream = bytes_of(http2.stream_window) * streams <= bytes_of(http2.connection_window)
    return "send_limited.h2_stream_window" if is_of_stream else "send_limited.h2_connection_window"


def cause_before_requests(scenario: Scenario) -> str | None:
    """Return the cause of the time from the TCP handshake to the first request; None for no such time.

    :raises ScenarioError: there are two causes, and the ground truth does not separate them.
    """
    http2 = _http2(scenario)
    waits = http2 is not None and http2.waits_for_settings
    is_secured = any(server.tls is not None for server in scenario.servers)
    if waits and is_secured:
        raise ScenarioError("requests that wait for SETTINGS inside TLS have no causes yet")
    if waits:
        return "setup.h2_settings"
    return "setup.tls_handshake" if is_secured else None


def _http2(scenario: Scenario) -> Http2 | None:
    return next((server.http2 for server in scenario.servers if server.http2 is not None), None)
