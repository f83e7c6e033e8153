"""Runs with hanging servers (silent, stopped in a body, not reading) and unanswered or refused connections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..scenario import Client, Drop, Expectation, Link, Scenario, Server, Write

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["scenarios"]

_UNANSWERED: Final = (Expectation(("unanswered-request",)),)
_STOPPED: Final = (Expectation(("truncated-response", "reset-in-response", "unanswered-request")),)
_ZERO_WINDOW: Final = (Expectation(("zero-window",)),)
_NO_CONNECTION: Final = (Expectation(("unanswered-connection",)),)
_REFUSED: Final = (Expectation(("refused-connection",)),)
_PLANS: Final = ((Write(1220),), (Write(220), Write(5000, 2)))


def scenarios() -> Iterator[Scenario]:
    for number, (first, seconds) in enumerate(((0, 3.0), (2, 6.0), (5, 4.0), (7, 9.0))):
        client = Client(transactions=10, pause_ms=15, timeout_seconds=seconds, leaves_open=number % 2 == 1)
        yield _hang(f"silent_{first}", Server(plans=_PLANS, stops_at=(first, 0)), client, _UNANSWERED)
        body = Server(plans=(_PLANS[1],), stops_at=(first, 1))
        yield _hang(f"in_body_{first}", body, client, _STOPPED)
        large = Server(plans=((Write(15_000), Write(20_000)),), stops_at=(first, 1))
        yield _hang(f"in_large_body_{first}", large, client, _STOPPED)
    beside = Client(transactions=6, connections=3, pause_ms=15, timeout_seconds=4.0)
    yield _hang("silent_beside", Server(stops_at=(4, 0)), beside, _UNANSWERED)
    deaf = Server(reads=False, receive_buffer=16_384)
    patient = Client(transactions=1, connections=5, timeout_seconds=6.0)
    yield _hang("deaf_get", deaf, patient, _UNANSWERED)
    for size in (150_000, 400_000):
        yield _hang(f"deaf_post_{size}", deaf, Client(1, 3, timeout_seconds=7.0, body_bytes=size), _ZERO_WINDOW)
    for buffer in (8192, 32_768):
        lazy = Client(1, 3, timeout_seconds=6.0, receive_buffer=buffer, reads=False)
        yield _hang(f"lazy_client_{buffer}", Server(plans=((Write(300_220),),)), lazy, _ZERO_WINDOW)
    yield from _connections()


def _connections() -> Iterator[Scenario]:
    for seconds in (2.0, 8.0):
        client = Client(transactions=1, connections=5, timeout_seconds=seconds)
        words = f"{seconds:.0f}s"
        syn = (Drop("up", syn_only=True),)
        yield _hang(f"syn_{words}", Server(), client, _NO_CONNECTION, drops=syn, points=("client",))
        answer = (Drop("down", syn_only=True),)
        yield _hang(f"syn_ack_{words}", Server(), client, _NO_CONNECTION, drops=answer)
    lost = (Drop("up", syn_only=True, count=1),)
    again = Client(transactions=5, reconnects=True)
    yield _hang("syn_lost_once", Server(), again, (), drops=lost)
    refused = Client(transactions=1, connections=5)
    yield _hang("refused", Server(listens=False), refused, _REFUSED)


def _hang(
    name: str,
    server: Server,
    client: Client,
    expects: tuple[Expectation, ...],
    *,
    drops: tuple[Drop, ...] = (),
    points: tuple[str, ...] = ("client", "server"),
) -> Scenario:
    return Scenario(
        f"hang_{name}",
        "hangs",
        server=server,
        client=client,
        links=(Link(rtt_ms=8.0, drops=drops),),
        points=points,
        expects=expects,
        is_quiet=True,
    )
