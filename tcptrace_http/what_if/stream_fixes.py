"""Fixes of HTTP/2: windows without a limit, and requests that do not wait for SETTINGS."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from reference_sim.quantities import bytes_of
from tcptrace_http.what_if.fix import Fix, Side, changed

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_sim.http2 import Http2
    from reference_sim.scenario import Scenario, Server

__all__ = ["of_streams"]

#: Windows of Chromium (kSpdyStreamMaxRecvWindowSize and kSpdySessionMaxRecvWindowSize).
_STREAM_WINDOW: Final = 6 << 20
_CONNECTION_WINDOW: Final = 15 << 20


def _by_streams(change: Callable[[Http2], Http2]) -> Callable[[Scenario], Scenario | None]:
    """Return a change of the HTTP/2 servers and their clients."""

    def otherwise(server: Server) -> Server:
        return server if server.http2 is None else replace(server, http2=change(server.http2))

    return lambda scenario: changed(scenario, replace(scenario, servers=tuple(map(otherwise, scenario.servers))))


def _wider(terms: Http2) -> Http2:
    return replace(
        terms,
        stream_window=max(bytes_of(terms.stream_window), _STREAM_WINDOW),
        connection_window=max(bytes_of(terms.connection_window), _CONNECTION_WINDOW),
    )


def _at_once(terms: Http2) -> Http2:
    return replace(terms, waits_for_settings=False)


def of_streams() -> tuple[Fix, ...]:
    """Return the fixes of an HTTP/2 client."""
    return (
        Fix(
            name="wider-h2-windows",
            about="the client gives each stream of HTTP/2 6 MB, and the connection 15 MB",
            source="RFC 9113, sections 5.2 and 6.9; Chromium, net/http/http_network_session.cc",
            side=Side.CLIENT,
            apply=_by_streams(_wider),
            unneeded="there are no streams of HTTP/2, or their windows are as wide already",
            fixed_findings=("h2-stream-window", "h2-connection-window", "h2-window-update-late"),
        ),
        Fix(
            name="h2-requests-at-once",
            about="the client sends its requests with the preface, and does not wait for the server's SETTINGS",
            source="RFC 9113, section 3.4",
            side=Side.CLIENT,
            apply=_by_streams(_at_once),
            unneeded="no request of HTTP/2 waits for SETTINGS",
            fixed_findings=("h2-settings-wait",),
        ),
    )
