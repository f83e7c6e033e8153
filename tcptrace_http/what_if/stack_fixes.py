"""Fixes of the TCP stacks of both hosts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from reference_sim.quantities import bytes_of
from reference_sim.stack import IdleRestart, Nagle, Rfc6928, Sharing
from tcptrace_http.inference.stacks import first_window
from tcptrace_http.what_if.fix import Fix, Side, changed

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_sim.scenario import Scenario
    from reference_sim.stack import Stack

__all__ = ["of_clients", "of_hosts", "of_servers"]

_RFC6928_SEGMENTS: Final = 10
# Linux maxima of tcp_wmem and tcp_rmem (tcp(7)).
_SEND_BUFFER: Final = 4 << 20
_RECEIVE_BUFFER: Final = 6 << 20
# Linux window scale with default buffers: 65535 << 7 exceeds the 6 MB.
_WINDOW_SCALE: Final = 7


def _on(
    change: Callable[[Stack], Stack], *, server: bool = False, client: bool = False
) -> Callable[[Scenario], Scenario | None]:
    def apply(scenario: Scenario) -> Scenario | None:
        made = scenario
        if server:
            made = replace(made, servers=tuple(replace(it, stack=change(it.stack)) for it in made.servers))
        if client:
            made = replace(made, browsers=tuple(replace(it, stack=change(it.stack)) for it in made.browsers))
        return changed(scenario, made)

    return apply


def _with(**knobs: Any) -> Callable[[Stack], Stack]:
    return lambda stack: replace(stack, **knobs)


def _minshall(stack: Stack) -> Stack:
    return replace(stack, nagle=Nagle.MINSHALL) if stack.nagle is Nagle.BSD else stack


def _initial_window_10(stack: Stack) -> Stack:
    return stack if first_window(stack) >= _RFC6928_SEGMENTS else replace(stack, initial_window=Rfc6928())


def _big_send_buffer(stack: Stack) -> Stack:
    return stack if bytes_of(stack.send_buffer) >= _SEND_BUFFER else replace(stack, send_buffer=_SEND_BUFFER)


def _quick_acks(stack: Stack) -> Stack:
    return replace(stack, acks=replace(stack.acks, every=1, counts_segments=True, quick_acks=None))


def _bigger_receive_buffer(scenario: Scenario) -> Scenario | None:
    """Return the scenario with a larger receive buffer. A larger window needs the option of both ends (RFC 7323,
    section 2.2).
    """

    def scaled(stack: Stack) -> Stack:
        return replace(stack, window_scale=max(stack.window_scale or 0, _WINDOW_SCALE))

    def large(stack: Stack) -> Stack:
        return replace(scaled(stack), receive_buffer=_RECEIVE_BUFFER)

    if all(bytes_of(browser.stack.receive_buffer) >= _RECEIVE_BUFFER for browser in scenario.browsers):
        return None
    made = _on(scaled, server=True)(scenario) or scenario
    return _on(large, client=True)(made)


_ETCP: Final = _with(sharing=Sharing.ETCP_FAIR, accelerated_open=True, idle_restart=IdleRestart.PACE)


def of_servers() -> tuple[Fix, ...]:
    """Return the fixes of the server's host."""
    return (
        Fix(
            name="no-nagle",
            about="the server sets TCP_NODELAY: short segments do not wait for an ACK",
            source="Heidemann 1996, section 2.2, second fix; RFC 896; RFC 9293, section 3.7.4",
            side=Side.SERVER,
            apply=_on(_with(nagle=Nagle.OFF), server=True),
            unneeded="Nagle's algorithm is off already",
            fixed_findings=(
                *("short-initial-segment", "odd-short-final-segment", "nagle-delayed-ack", "nagle-hold"),
                *("tls-ticket-nagle", "tls-handshake-nagle"),
            ),
        ),
        Fix(
            name="minshall-nagle",
            about="the server's Nagle algorithm waits only while a short segment is unacknowledged",
            source="draft-minshall-nagle-01",
            side=Side.SERVER,
            apply=_on(_minshall, server=True),
            unneeded="the server's stack is not BSD's with Nagle's algorithm on",
            fixed_findings=("odd-short-final-segment", "nagle-delayed-ack"),
        ),
        Fix(
            name="initial-window-10",
            about="the server starts with ten segments",
            source="RFC 6928",
            side=Side.SERVER,
            apply=_on(_initial_window_10, server=True),
            unneeded="the initial window already has ten segments",
            fixed_findings=("initial-window", "repeated-slow-start", "delayed-ack-first-segment"),
        ),
        Fix(
            name="no-idle-restart",
            about="the server keeps its window over idle periods (net.ipv4.tcp_slow_start_after_idle=0)",
            source="Heidemann 1996, section 2.4; RFC 5681, section 4.1",
            side=Side.SERVER,
            apply=_on(_with(idle_restart=IdleRestart.KEEP), server=True),
            unneeded="the window is kept already",
            fixed_findings=("slow-start-restart",),
        ),
        Fix(
            name="bigger-send-buffer",
            about="the server's socket holds 4 MB that are not acknowledged (SO_SNDBUF, tcp_wmem)",
            source="tcp(7), tcp_wmem; Heidemann 1996, section 2.3 has writes that fill a small buffer",
            side=Side.SERVER,
            apply=_on(_big_send_buffer, server=True),
            unneeded="the send buffer is as large already",
            fixed_findings=("small-send-buffer",),
        ),
        Fix(
            name="tail-loss-probe",
            about="the server sends a tail-loss probe before its RTO expires",
            source="RFC 8985, section 7",
            side=Side.SERVER,
            apply=_on(_with(tail_loss_probe=True), server=True),
            unneeded="it probes already",
            fixed_findings=("tail-loss",),
        ),
    )


def of_clients() -> tuple[Fix, ...]:
    """Return the fixes of the client's host."""
    return (
        Fix(
            name="no-delayed-acks",
            about="the client acknowledges every segment at once (TCP_QUICKACK)",
            source="RFC 5681, section 4.2; tcp(7), TCP_QUICKACK",
            side=Side.CLIENT,
            apply=_on(_quick_acks, client=True),
            unneeded="every segment is acknowledged at once already",
            fixed_findings=(
                "short-initial-segment",
                "odd-short-final-segment",
                "nagle-delayed-ack",
                "delayed-ack-first-segment",
                "stretch-ack",
            ),
        ),
        Fix(
            name="no-client-nagle",
            about="the client sets TCP_NODELAY",
            source="RFC 896; RFC 9293, section 3.7.4",
            side=Side.CLIENT,
            apply=_on(_with(nagle=Nagle.OFF), client=True),
            unneeded="Nagle's algorithm is off already",
            fixed_findings=("split-request",),
        ),
        Fix(
            name="bigger-receive-buffer",
            about="the client offers a window of 6 MB (SO_RCVBUF, tcp_rmem), scaled",
            source="tcp(7), tcp_rmem; RFC 7323, section 2",
            side=Side.CLIENT,
            apply=_bigger_receive_buffer,
            unneeded="the receive buffer is as large already",
            fixed_findings=("receive-window-limit", "zero-window"),
        ),
    )


def of_hosts() -> tuple[Fix, ...]:
    """Return the fixes that both hosts need."""
    return (
        Fix(
            name="sack",
            about="both ends use selective acknowledgments",
            source="RFC 2018; RFC 6675",
            side=Side.BOTH,
            apply=_on(_with(sack=True), server=True, client=True),
            unneeded="both ends use them already",
            fixed_findings=("retransmission-timeout",),
        ),
        Fix(
            name="e-tcp",
            about="connections share path state, by the fair scheduler of E-TCP",
            source="Eggert 1999, section 4",
            side=Side.BOTH,
            apply=_on(_ETCP, server=True, client=True),
            unneeded="both ends have E-TCP already",
            fixed_findings=("repeated-slow-start",),
        ),
        Fix(
            name="t-tcp",
            about="T/TCP: the SYN carries a request once the server is known",
            source="RFC 1644; Bhalekar 2003, section 3.1.1",
            side=Side.BOTH,
            apply=_on(_with(accelerated_open=True), server=True, client=True),
            unneeded="both ends have T/TCP already",
            fixed_findings=("connection-per-request",),
        ),
    )
