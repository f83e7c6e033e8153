"""Runs of servers that pause between head and body: with TCP_NODELAY, this resembles a hold without one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..scenario import Client, Link, Scenario, Server, Write

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["scenarios"]

_PAUSES_MS: Final = (5, 20, 38, 42, 44, 47, 60, 100, 180, 250)
_ROUND_TRIPS_MS: Final = (0.4, 2.0, 10.0, 30.0, 80.0)
_BODIES: Final = ((900,), (4000,), (1448, 300), (20_000,), (500, 500))


def scenarios() -> Iterator[Scenario]:
    for number, pause_ms in enumerate(_PAUSES_MS):
        for nodelay in (True, False):
            yield _sleeping(number + (0 if nodelay else 3), pause_ms, nodelay=nodelay)
    for number, pause_ms in enumerate((10, 30, 40, 48, 90)):
        yield _sleeping(number, pause_ms, nodelay=True, jitter=0.3)
        yield _sleeping(number + 2, pause_ms, nodelay=False, jitter=0.3)
    for number, pause_ms in enumerate((15, 41, 44)):
        for nodelay in (True, False):
            yield _sleeping(number + 1, pause_ms, nodelay=nodelay, chunked=True)


def _sleeping(
    number: int, pause_ms: float, *, nodelay: bool, jitter: float = 0.0, chunked: bool = False
) -> Scenario:
    first, *others = _BODIES[number % len(_BODIES)]
    plan = (Write(220), Write(first, pause_ms), *(Write(size, pause_ms / 4) for size in others))
    words = ("nodelay" if nodelay else "nagle", f"{pause_ms}", *(["jitter"] if jitter else []))
    words += ("chunked",) if chunked else ()
    return Scenario(
        "_".join(("sleeping", *words)),
        "servers",
        server=Server(plans=(plan,), nodelay=nodelay, jitter=jitter, chunked=chunked),
        client=Client(transactions=15, connections=1 + number % 2, pause_ms=3),
        links=(Link(rtt_ms=_ROUND_TRIPS_MS[number % len(_ROUND_TRIPS_MS)]),),
    )
