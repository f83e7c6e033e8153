"""Fixes of TLS: fewer handshake round trips, smaller flights, tickets together with the response."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from reference_sim.quantities import bytes_of
from reference_sim.tls import CHAIN_BYTES_MIN, TlsVersion, flight_bytes
from tcptrace_http.inference.stacks import first_window
from tcptrace_http.what_if.fix import Fix, Side, changed

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_sim.scenario import Scenario, Server
    from reference_sim.stack import Stack
    from reference_sim.tls import Tls

__all__ = ["of_tls"]

#: Bytes of the timestamps option per segment (RFC 7323, appendix A).
_TIMESTAMPS: Final = 12


def _secured(change: Callable[[Tls, Stack], Tls]) -> Callable[[Scenario], Scenario | None]:
    """Return a change of the servers with TLS."""

    def otherwise(server: Server) -> Server:
        return server if server.tls is None else replace(server, tls=change(server.tls, server.stack))

    return lambda scenario: changed(scenario, replace(scenario, servers=tuple(map(otherwise, scenario.servers))))


def _newer(secured: Tls, stack: Stack) -> Tls:
    del stack
    return replace(secured, version=TlsVersion.TLS13)


def _resumed(secured: Tls, stack: Stack) -> Tls:
    del stack
    return replace(secured, resumed=True)


def _with_fitting_chain(secured: Tls, stack: Stack) -> Tls:
    """Return a chain shortened by the bytes of the first flight beyond the initial window."""
    window = first_window(stack) * (stack.mss - _TIMESTAMPS * stack.timestamps)
    beyond = flight_bytes(secured) - window
    if secured.resumed or beyond <= 0:
        return secured
    return replace(secured, chain_bytes=max(bytes_of(secured.chain_bytes) - beyond, CHAIN_BYTES_MIN))


def _with_tickets_in_response(secured: Tls, stack: Stack) -> Tls:
    del stack
    if secured.version is TlsVersion.TLS12 or not secured.tickets:
        return secured
    return replace(secured, tickets_with_response=True)


def of_tls() -> tuple[Fix, ...]:
    """Return the fixes of a server's TLS."""
    return (
        Fix(
            name="tls-1.3",
            about="the handshake takes one round trip (TLS 1.3)",
            source="RFC 8446, section 2",
            side=Side.SERVER,
            apply=_secured(_newer),
            unneeded="no connection has TLS before 1.3",
        ),
        Fix(
            name="tls-resumption",
            about="every connection resumes an earlier session: no certificate is sent",
            source="RFC 8446, section 2.2; RFC 5077",
            side=Side.SERVER,
            apply=_secured(_resumed),
            unneeded="no connection has a full TLS handshake",
            fixed_findings=("tls-no-resumption", "tls-flight-exceeds-window"),
        ),
        Fix(
            name="smaller-chain",
            about="the certificate chain is short enough for the server's flight to fit its first window",
            source="RFC 6928, section 2; RFC 8446, section 4.4.2",
            side=Side.SERVER,
            apply=_secured(_with_fitting_chain),
            unneeded="no server's flight with a certificate exceeds the first window",
            fixed_findings=("tls-flight-exceeds-window",),
        ),
        Fix(
            name="tickets-with-response",
            about="the server sends its session tickets in one write with the response",
            source="RFC 8446, section 4.6.1; RFC 896",
            side=Side.SERVER,
            apply=_secured(_with_tickets_in_response),
            unneeded="no TLS 1.3 ticket was sent in a write of its own",
            fixed_findings=("tls-ticket-nagle",),
        ),
    )
