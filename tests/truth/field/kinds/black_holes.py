"""Runs with black holes: full segments (path MTU), all packets from a point on, or the request never arrive."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..scenario import Client, Drop, Expectation, Link, Scenario, Server, Write

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["scenarios"]

_SMALL: Final = (Write(700),)
_UNDELIVERED: Final = "undelivered-data"
#: Findings at the receiver's end for data that never arrives.
_NOTHING_CAME: Final = (_UNDELIVERED, "unanswered-request", "truncated-response", "reset-in-response")
_RESPONSE_LOST: Final = (Expectation((_UNDELIVERED,), ("server",)), Expectation(_NOTHING_CAME, ("client",)))
_REQUEST_LOST: Final = (Expectation((_UNDELIVERED,), ("client",)),)
_FULL: Final = 1400


def scenarios() -> Iterator[Scenario]:
    for size in (3220, 30_220, 2896):
        for is_open in (False, True):
            plans = (_SMALL, _SMALL, _SMALL, _SMALL, (Write(size),))
            drops = (Drop("down", min_ip_bytes=_FULL),)
            name = f"path_mtu_{size}_{'open' if is_open else 'closed'}"
            yield _hole(name, drops, _RESPONSE_LOST, plans=plans, client=_client(is_open=is_open))
    full = (Drop("down", min_ip_bytes=_FULL, count=2),)
    yield _hole("path_mtu_heals", full, (), plans=(_SMALL, _SMALL, (Write(12_220),)))
    for passes in (4, 6, 9):
        drops = (Drop("down", passes_first=passes),)
        yield _hole(f"down_after_{passes}", drops, _RESPONSE_LOST, plans=((Write(4220),),))
        both = (Drop("down", passes_first=passes), Drop("up", passes_first=passes))
        # The packet order decides whether the last request or its response is the first loss.
        yield _hole(f"both_after_{passes}", both, (Expectation(_NOTHING_CAME, ("client",)),))
    for passes in (0, 4, 7):
        drops = (Drop("up", min_payload=1, passes_first=passes),)
        yield _hole(f"request_{passes}", drops, _REQUEST_LOST, client=_client(is_open=passes == 4, connections=2))
    heals = (Drop("up", min_payload=1, passes_first=4, count=2),)
    yield _hole("request_heals", heals, ())
    full = (Drop("up", min_ip_bytes=_FULL),)
    cookies, upload = _client(cookie_bytes=3000, connections=5), _client(body_bytes=20_000, connections=5)
    yield _hole("cookies", full, _REQUEST_LOST, client=cookies)
    yield _hole("upload", full, _REQUEST_LOST, client=upload)


def _client(*, is_open: bool = False, cookie_bytes: int = 0, body_bytes: int = 0, connections: int = 1) -> Client:
    return Client(
        transactions=8,
        connections=connections,
        pause_ms=20,
        timeout_seconds=7.0,
        leaves_open=is_open,
        cookie_bytes=cookie_bytes,
        body_bytes=body_bytes,
    )


def _hole(
    name: str,
    drops: tuple[Drop, ...],
    expects: tuple[Expectation, ...],
    *,
    plans: tuple[tuple[Write, ...], ...] = (_SMALL,),
    client: Client | None = None,
) -> Scenario:
    return Scenario(
        f"black_hole_{name}",
        "black holes",
        server=Server(plans=plans),
        client=client or _client(),
        links=(Link(rtt_ms=12.0, drops=drops),),
        expects=expects,
        is_quiet=True,
    )
