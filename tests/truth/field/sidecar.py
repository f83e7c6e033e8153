"""Truth of a capture, from its run's script and the kernels' view of their sockets.

``must``
    Required findings: one of ``any_of`` on the connection (``client_port``, ``server_port``), between
    ``start_ns`` and ``end_ns`` if given. Requirements have three sources. The first is the scenario's
    expectation for failed transactions. The second is a Nagle hold of at least 10 ms that delayed a response's
    end or a request. The third is the kernel's time for the peer's window or the send buffer, if it is at least
    50 ms and a fifth of the time with data.
``holds``
    Every interval in which a kernel held less than a segment although no window forbade its transmission. The
    holder is Nagle's algorithm, or (``by``) HAProxy's MSG_MORE, which packets do not distinguish from it.
    Unlisted holds are shorter than the time between two polls: 2.5 ms, and longer in ``gaps``.
``hops``
    If both legs of a proxy are captured: the upstream exchange of each transaction.
``never``
    Detectors that would be wrong anywhere in the capture: the kernels' counters and the links' logs rule them
    out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from .scenario import FRONT_PORT, SERVER_PORT, is_set_aside, plain

if TYPE_CHECKING:
    from .testbed import Run

__all__ = ["LIMITS", "NAGLE", "sidecar_of"]

NAGLE: Final = ("short-initial-segment", "odd-short-final-segment", "nagle-delayed-ack", "nagle-hold")
#: Permitted names of a client's held request.
_OF_REQUESTS: Final = (*NAGLE, "split-request")
LIMITS: Final = {
    "rwnd_limited_us": ("receive-window-limit", "zero-window"),
    "send_buffer_full_us": ("small-send-buffer",),
}
_OF_LOSSES: Final = ("retransmission-timeout", "tail-loss", "spurious-retransmission", "syn-retransmission")
_OF_FAILURES: Final = (
    "unanswered-request",
    "undelivered-data",
    "unanswered-connection",
    "refused-connection",
    "truncated-response",
    "reset-in-response",
)
#: No link reorders packets, and every capture is complete.
_NEVER: Final = ("reordering", "capture-gap", "mid-stream-start", "truncated-payload")
_HOLD_MIN_MS: Final = 10.0
_LIMIT_MIN_US: Final = 50_000
_LIMIT_MIN_SHARE: Final = 0.2
_ZERO_WINDOW_MIN_MS: Final = 300.0
_SLACK_MS: Final = 8.0


def sidecar_of(run: Run, point: str) -> dict[str, Any]:
    """Return the sidecar of the capture at one point."""
    scenario = run.scenario
    legs = _legs(run, point)
    is_haproxy = scenario.proxy is not None and scenario.proxy.software == "haproxy"
    sockets = [_of_connection(told, is_haproxy=is_haproxy) for told in run.sockets()]
    sockets = [told for told in sockets if told["server_port"] in legs]
    drops = [drop for number in range(len(run.hosts) - 1) for drop in run.log(f"link{number}")]
    drops = [drop for drop in drops if {drop.get("sport"), drop.get("dport")} & legs]
    failed = [row for row in run.transactions if row["outcome"] != "whole"]
    failures = _failures(run, point, failed, legs)
    must: list[dict[str, Any]] = []
    for each in (*failures, *_limits(run, sockets), *_delays(run, sockets)):
        # A window that stays closed to the end is both expected and observed by the kernel.
        must += [] if each in must else [each]
    return {
        "name": f"{scenario.name}.{point}",
        "run": scenario.name,
        "kind": scenario.kind,
        "point": point,
        "capture": f"{scenario.name}.{point}.pcap",
        "set_aside": is_set_aside(scenario.name),
        "rtt_ms": scenario.rtt_ms,
        "must": must,
        "holds": [
            {**hold, **{name: told[name] for name in ("client_port", "server_port", "sender", "by")}}
            for told in sockets
            for hold in told["holds"]
        ],
        "gaps": run.gaps(),
        "hops": _hops(run) if point == "both" else [],
        "never": _never(sockets, drops, failed),
        "transactions": run.transactions,
        "writes": run.log("server"),
        "sockets": [{name: value for name, value in told.items() if name != "holds"} for told in sockets],
        "drops": drops,
        "scenario": plain(scenario),
    }


def _legs(run: Run, point: str) -> set[int]:
    """Return the server ports of the captured connections."""
    if run.scenario.proxy is None or point in {"server", "upstream"}:
        return {SERVER_PORT}
    return {FRONT_PORT, SERVER_PORT} if point == "both" else {FRONT_PORT}


def _of_connection(told: dict[str, Any], *, is_haproxy: bool) -> dict[str, Any]:
    is_server = told["local_port"] in {FRONT_PORT, SERVER_PORT}
    ports = (told["remote_port"], told["local_port"]) if is_server else (told["local_port"], told["remote_port"])
    sender = "server" if is_server else "client"
    # HAProxy always sets TCP_NODELAY, and uses MSG_MORE if it expects more data (option http-no-delay).
    by = "MSG_MORE" if is_haproxy and told["local_port"] == FRONT_PORT else "Nagle"
    return {**told, "client_port": ports[0], "server_port": ports[1], "sender": sender, "by": by}


def _hops(run: Run) -> list[dict[str, int]]:
    """Return the upstream exchange of each transaction: the client requests one object at a time."""
    first = [write for write in run.log("server") if write["write"] == 0]
    pairs = zip(run.transactions, first, strict=False)
    return [
        {
            "client_port": row["client_port"],
            "transaction": row["transaction"],
            "upstream_client_port": write["client_port"],
            "upstream_transaction": write["response"],
        }
        for row, write in pairs
    ]


def _failures(run: Run, point: str, failed: list[dict[str, Any]], legs: set[int]) -> list[dict[str, Any]]:
    port = FRONT_PORT if run.scenario.proxy else SERVER_PORT
    return [
        {"any_of": list(each.any_of), "client_port": row["client_port"], "server_port": port}
        for row in failed
        for each in run.scenario.expects
        if port in legs and (not each.points or point in each.points)
    ]


def _limits(run: Run, sockets: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found = []
    for told in sockets:
        where = {"client_port": told["client_port"], "server_port": told["server_port"]}
        if told["zero_window_ms"] >= _ZERO_WINDOW_MIN_MS:
            found.append({"any_of": ["zero-window"], **where})
            continue
        for counter, names in LIMITS.items():
            # An auto-tuned buffer may be full although the application has no more data.
            is_set = getattr(run.scenario, told["sender"]).send_buffer is not None
            if counter == "send_buffer_full_us" and not is_set:
                continue
            if told[counter] >= max(_LIMIT_MIN_US, _LIMIT_MIN_SHARE * told["busy_us"]):
                found.append({"any_of": list(names), **where})
    return found


def _delays(run: Run, sockets: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the holds that delayed data."""
    path_ms = run.scenario.rtt_ms + _SLACK_MS
    return [
        {
            "any_of": list(NAGLE if told["sender"] == "server" else _OF_REQUESTS),
            **{name: told[name] for name in ("client_port", "server_port")},
            **{name: hold[name] for name in ("start_ns", "end_ns")},
        }
        for told in sockets
        for hold in told["holds"]
        if told["by"] == "Nagle"
        and hold["end_ns"] - hold["start_ns"] >= _HOLD_MIN_MS * 1e6
        and any(_is_delayed(row, hold, told["sender"], path_ms) for row in run.transactions)
    ]


def _is_delayed(row: dict[str, Any], hold: dict[str, Any], sender: str, path_ms: float) -> bool:
    if row["outcome"] != "whole" or not row["start_ns"] <= hold["start_ns"] <= row["end_ns"]:
        return False
    return sender == "client" or row["end_ns"] - hold["end_ns"] <= path_ms * 1e6


def _never(sockets: list[dict[str, Any]], drops: list[dict[str, Any]], failed: list[dict[str, Any]]) -> list[str]:
    names = list(_NEVER)
    if not drops and not any(told["total_retrans"] for told in sockets):
        names += _OF_LOSSES
    if not failed:
        names += _OF_FAILURES
    if not any(told["rwnd_limited_us"] or told["zero_window_ms"] for told in sockets):
        names += LIMITS["rwnd_limited_us"]
    if not any(told["send_buffer_full_us"] for told in sockets):
        names += LIMITS["send_buffer_full_us"]
    return names
