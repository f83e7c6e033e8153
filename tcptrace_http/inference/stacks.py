"""TCP stacks of both ends: the evidence of SYNs and windows, and the nearest simulator preset."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from reference_sim.stack import Rfc3390, Rfc6928, Segments
from reference_sim.stacks import PRESETS
from tcptrace_http.inference.ack_delay import Held, may_hold
from tcptrace_http.inference.figure import Figure, assumed, seen
from tcptrace_http.inference.packets import SYN

if TYPE_CHECKING:
    from reference_sim.stack import Stack
    from tcptrace_http.inference.observed import Observed
    from tcptrace_http.inference.packets import Packet

__all__ = ["Options", "first_window", "least_first_window", "nearest", "options", "stack_figure", "with_options"]

#: Stacks of real hosts, past and present, in tie-break order. The other presets are simulators' stacks, or
#: share state between connections, which SYNs do not show. A behaviour of a later stack only, such as
#: 4.4BSD's clustered writes, must be visible and is not assumed.
ORDINARY: Final = ("linux-6", "newreno", "reno", "sunos-4.1.3", "bsd-4.4", "netbsd-1.2.1", "linux-2.0")
# Costs of a difference: an option belongs to the implementation, a buffer to the configuration.
_OPTION: Final = 4.0
_WINDOW: Final = 3.0
_BUFFER: Final = 2.0
_SCALE: Final = 1.0
# Cost of a delayed-ACK timer difference: above all others together, since options are configurable and timers
# are not.
_TIMER: Final = 20.0
# Maximum relative difference of equal buffers: windows are rounded to segments and to the scale's unit.
_ALIKE: Final = 0.15
_SURE: Final = 0.9
_UNSURE: Final = 0.5


@dataclass(frozen=True, slots=True)
class Options:
    """SYN options of an end, and its maximum announced window."""

    mss: int | None
    window_scale: int | None
    timestamps: bool
    sack: bool
    window: int
    frame: int


def options(observed: Observed, *, of_client: bool) -> Options:
    """Return the stack evidence in the segments of the client or the server."""
    side = "client" if of_client else "server"
    rows = list(observed.flows.values())
    row = next((row for row in rows if row["has_syn" if of_client else "has_syn_ack"]), rows[0])
    sent = [packet for packet in observed.packets if packet.to_client is not of_client]
    opening = next((packet for packet in sent if packet.flags & SYN), None)
    return Options(
        mss=row[f"mss_{side}"],
        window_scale=row[f"{side}_window_scale"],
        timestamps=opening is not None and opening.timestamp is not None,
        sack=bool(row.get(f"{side}_sack_permitted")),
        window=max((packet.window for packet in _after_opening(sent)), default=0),
        frame=0 if opening is None else opening.frame,
    )


def _after_opening(sent: list[Packet]) -> list[Packet]:
    """Return the packets after the SYN. SYN windows are unscaled; they count only if an end sent nothing else."""
    return [packet for packet in sent if not packet.flags & SYN] or sent


def first_window(stack: Stack) -> int:
    """Return the segments of a stack's first flight to a client that waits for it."""
    full = stack.mss
    match stack.initial_window:
        case Segments(segments=segments):
            count = segments
        case Rfc3390():
            count = max(min(4 * full, max(2 * full, 4380)) // full, 1)
        case Rfc6928():
            count = max(min(10 * full, max(2 * full, 14_600)) // full, 1)
    return count + stack.handshake_ack_opens_window


def nearest(own: Options, window: Figure | None, held: tuple[Held, ...] = ()) -> list[Stack]:
    """Return the presets with the smallest difference from the observations.

    ``window`` is the server's initial window; ``held`` are the client's delayed ACKs.
    """
    scored = [
        (_distance(stack, own, window) + _TIMER * (not may_hold(stack, held)), stack)
        for stack in (PRESETS[name].stack for name in ORDINARY)
    ]
    least = min(score for score, _ in scored)
    return [stack for score, stack in scored if score == least]


def stack_figure(side: str, chosen: str, alike: tuple[str, ...], own: Options) -> Figure:
    """Return the figure of the preset for this end."""
    return seen(
        f"{side}.stack",
        chosen,
        confidence=_UNSURE if alike else _SURE,
        frames=(own.frame,),
        how="nearest preset by window scale, timestamps, SACK, buffer, initial window; runs select among several",
        alternatives=alike,
    )


def _distance(stack: Stack, own: Options, window: Figure | None) -> float:
    distance = _OPTION * ((stack.timestamps != own.timestamps) + (stack.sack != own.sack))
    distance += _OPTION * ((stack.window_scale is None) != (own.window_scale is None))
    distance += _SCALE * (stack.window_scale != own.window_scale)
    if not own.window or abs(stack.receive_buffer - own.window) > _ALIKE * own.window:
        distance += _BUFFER
    if window is not None:
        low = window.low if isinstance(window.low, int) else 1
        high = window.high if isinstance(window.high, int) else None
        if first_window(stack) < low or (high is not None and first_window(stack) > high):
            distance += _WINDOW
    return distance


def with_options(stack: Stack, own: Options, window: Figure | None, side: str) -> tuple[Stack, list[Figure]]:
    """Return the preset with the observed values, and a figure for each."""
    changes: dict[str, Any] = {}
    figures = []
    if own.mss is not None:
        changes["mss"] = own.mss
        figures.append(_of_syn(f"{side}.mss", own.mss, own, "B"))
    else:
        figures.append(assumed(f"{side}.mss", stack.mss, unit="B", reason="no SYN with the option: as the preset"))
    for name, value in (("window_scale", own.window_scale), ("timestamps", own.timestamps), ("sack", own.sack)):
        changes[name] = value
        figures.append(_of_syn(f"{side}.{name}", "none" if value is None else value, own, ""))
    if abs(stack.receive_buffer - own.window) > _ALIKE * own.window and own.window:
        changes["receive_buffer"] = own.window
    figures.append(
        _of_syn(f"{side}.receive_buffer", changes.get("receive_buffer", stack.receive_buffer), own, "B")
    )
    if window is not None and (first := least_first_window(window, stack)) != first_window(stack):
        changes["initial_window"] = Segments(segments=max(first - stack.handshake_ack_opens_window, 1))
    kept = {name: value for name, value in changes.items() if getattr(stack, name) != value}
    return replace(stack, name=f"{side}-{stack.name}", **kept), figures


def least_first_window(window: Figure, stack: Stack) -> int:
    """Return the observed segments of the first flight, or the preset's if no more were sent at once."""
    if isinstance(window.value, int):
        return window.value
    return max(window.low if isinstance(window.low, int) else 1, first_window(stack))


def _of_syn(name: str, value: int | str | bool, own: Options, unit: str) -> Figure:
    return seen(name, value, unit=unit, confidence=1.0, frames=(own.frame,), how="options of the SYN, and windows")
