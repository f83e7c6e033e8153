"""What kept a sender from sending: windows, buffers, queues, and a server that had nothing yet.

``zero-window``
    By the packets: the client announced a window of zero on an open connection, for 10 ms or more in all. It
    must be found, once a flow. One that was closed for less may be: an application that reads as it can.
``receive-window-limit``
    A client with a receive buffer set (``rcvbuf``) to 64 KB or less, on a path of 20 ms or more, and a
    response of twice that buffer: it must be found, once a flow; unless the link takes a round trip or longer
    to carry such a window, and so limits more (the rule once passed over that): there it may. Where the
    kernel counted time limited by the receive window (``rwnd_lim_us``), or nothing is known of its limits
    (the BSD-like stack's window is 16 KB), it may. Elsewhere not.
``small-send-buffer``
    A server with ``--sndbuf`` that writes in chunks, on a path of 20 ms or more, with a response of twice the
    kernel's buffer (which is twice what was asked for) that came in three flights or more: it must be
    found, once a flow; other responses may. With one
    write the kernel puts 64 KB into the buffer whatever its size, so there it must not be found.
``queueing-delay``
    At the server's end, where the round trip of data shows it: the emulator's queue held packets of a
    flow for 50 ms and a round trip of the path or longer: it must be found in the capture. From 5 ms on,
    at the client's end, and where the link was made to stand still (``link.env``), it may. Where the queue
    held none so long, not.
``slow-server``
    A server that thinks 20 ms or more (``--think-ms``): it must be found, once or often. Where the server
    waited inside responses (``--gap-ms``, ``--chunk-gap-ms``), or is not the testbed's own (whose write
    pattern is known), it may where the first byte of a response came 10 ms or more later than the path
    takes, or a pause of that length was inside. The testbed's own does not think unasked: nowhere else,
    but at transactions with losses and at a forgotten cork, which look alike from outside.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Final

from .scene import ANYWHERE, NOWHERE, Place, Rule, Scene, Truth, of_exchanges
from .wire import RST, SYN, has_zero_window

if TYPE_CHECKING:
    from .exchanges import Exchange, Message
    from .wire import Flow

__all__ = ["RULES"]

_LONG_PATH_MS: Final = 20.0
_SMALL_BUFFER_BYTES: Final = 65_536
#: What an application that reads as fast as it can closes its window for.
_SHUT_MIN_MS: Final = 10.0
_QUEUE_MUST_MS: Final = 50.0
_QUEUE_MAY_MS: Final = 5.0
_THINK_MUST_MS: Final = 20.0
_THINK_MAY_MS: Final = 10.0
#: Options with which the testbed's server is slow, or seems so.
_WAITS: Final = frozenset({"--think-ms", "--gap-ms", "--chunk-gap-ms", "--cork-forget", "--more-forget"})
_FLIGHTS_MIN: Final = 3
#: Segments of one flight follow each other faster than this share of the round trip.
_FLIGHT_GAP_SHARE: Final = 0.35


def _zero_window(scene: Scene) -> Truth:
    shut = [flow for flow in scene.flows if has_zero_window(flow)]
    long = [flow for flow in shut if _shut_ms(flow) >= _SHUT_MIN_MS]
    return Truth.at((Place(flow.client_port) for flow in long), [Place(flow.client_port) for flow in shut])


def _shut_ms(flow: Flow) -> float:
    """How long the client's window was zero, in all."""
    told = [p for p in flow.sent(by_client=True) if not (p.has(RST) or p.has(SYN))]
    ends = [*(p.time_ns for p in told[1:]), flow.packets[-1].time_ns]
    return sum(end - p.time_ns for p, end in zip(told, ends, strict=True) if p.window == 0) / 1e6


def _longest(scene: Scene, client_port: int) -> int:
    own = [e.response.wire_bytes for e in scene.exchanges if e.client_port == client_port and e.response]
    return max(own, default=0)


def _receive_window(scene: Scene) -> Truth:
    buffer = scene.client.get("rcvbuf")
    if scene.is_lwip:
        return ANYWHERE
    final = (scene.sidecar.get("server_tcp_info") or {}).get("final") or {}
    limited = tuple(Place(int(port)) for port, info in final.items() if info.get("rwnd_lim_us"))
    if not buffer or buffer > _SMALL_BUFFER_BYTES or scene.rtt_ms < _LONG_PATH_MS:
        return Truth(may=(Place(),) if buffer else limited)
    hit = [flow for flow in scene.flows if _longest(scene, flow.client_port) >= 2 * buffer]
    rate = float(scene.link.get("rate") or math.inf)
    if buffer * 8 >= rate * scene.rtt_ms / 1000:
        return Truth(may=(Place(),))
    shut = tuple(Place(flow.client_port) for flow in hit if has_zero_window(flow))
    return Truth.at((Place(flow.client_port) for flow in hit if not has_zero_window(flow)), limited + shut)


def _send_buffer(scene: Scene) -> Truth:
    buffer, chunk = scene.server_option("--sndbuf"), scene.server_option("--chunk")
    if scene.is_lwip:
        return ANYWHERE
    limit = _sysctl_buffer(scene)
    if limit is not None:
        return Truth(may=(Place(),))
    if buffer is None or chunk is None:
        return NOWHERE
    # socket(7): twice SO_SNDBUF.
    hit = [flow for flow in scene.flows if _is_throttled(scene, flow.client_port, 2 * buffer, chunk)]
    rest = tuple(Place(flow.client_port) for flow in scene.flows if flow not in hit)
    return Truth.at((Place(flow.client_port) for flow in hit), rest)


def _is_throttled(scene: Scene, client_port: int, kernel_bytes: float, chunk: float) -> bool:
    """Return whether a response is twice what the kernel keeps and came in flights that are no more than it and
    a write.

    Linux takes the whole of what is written, ``chunk``, into one segment of its buffer if there is any room,
    and appends more to one that has not left: a window of more than that is filled for all of the buffer.
    """
    if scene.rtt_ms < _LONG_PATH_MS:
        return False
    own = [e.response for e in scene.exchanges if e.client_port == client_port and e.response]
    flights = [_flights(scene, r) for r in own if r.wire_bytes >= 2 * kernel_bytes]
    return any(len(sizes) >= _FLIGHTS_MIN and max(sizes) <= kernel_bytes + chunk for sizes in flights)


def _flights(scene: Scene, message: Message) -> list[int]:
    """Return bytes of each flight."""
    sizes = [0]
    for before, packet in itertools.pairwise([message.packets[0], *message.packets]):
        if (packet.time_ns - before.time_ns) / 1e6 > _FLIGHT_GAP_SHARE * scene.rtt_ms:
            sizes.append(0)
        sizes[-1] += packet.payload_bytes
    return sizes


def _sysctl_buffer(scene: Scene) -> int | None:
    """Return the greatest send buffer, if the server's system limits it below 64 KB."""
    words = str(((scene.sidecar.get("kernel") or {}).get("sysctl_server") or {}).get("tcp_wmem", "")).split()
    return int(words[2]) if words and int(words[2]) < _SMALL_BUFFER_BYTES else None


def _queueing(scene: Scene) -> Truth:
    summary = (scene.sidecar.get("emulator") or {}).get("summary")
    if not summary:
        return ANYWHERE if scene.link.get("kind") not in {"lo", "veth"} else NOWHERE
    longest = float(summary.get("down", {}).get("queue_delay_max_ms") or 0.0)
    if longest < _QUEUE_MAY_MS:
        return NOWHERE
    if longest >= max(_QUEUE_MUST_MS, scene.rtt_ms) and _shows_queues(scene):
        return Truth.at([Place()])
    return ANYWHERE


def _shows_queues(scene: Scene) -> bool:
    return scene.at_server and scene.rtt_ms >= _QUEUE_MAY_MS and not scene.link.get("env")


def _slow_server(scene: Scene) -> Truth:
    think = scene.server_option("--think-ms") or float(scene.sidecar.get("server", {}).get("think_ms") or 0)
    if think >= _THINK_MUST_MS:
        return Truth.at([Place()])
    is_own = scene.is_lwip or str(scene.sidecar.get("server", {}).get("software", "")).startswith("tinyd")
    if is_own and not _WAITS.intersection(scene.server_args) and not scene.disturbances:
        return NOWHERE
    slow = [exchange for exchange in scene.exchanges if _is_slow(scene, exchange)]
    return Truth(may=of_exchanges(slow))


def _is_slow(scene: Scene, exchange: Exchange) -> bool:
    if exchange.request is None or exchange.response is None:
        return False
    packets = exchange.response.packets
    path_ms = 0.0 if scene.at_server else scene.rtt_ms
    first_ms = (exchange.response.first.time_ns - exchange.request.last.time_ns) / 1e6 - path_ms
    pauses_ms = [(b.time_ns - a.time_ns) / 1e6 for a, b in itertools.pairwise(packets)]
    return max(first_ms, *pauses_ms, 0.0) >= _THINK_MAY_MS


RULES: Final = {
    "zero-window": Rule(_zero_window, costs=False),
    "receive-window-limit": Rule(_receive_window, opinion="a buffer under 64 KB with twice as much to send"),
    "small-send-buffer": Rule(_send_buffer),
    "queueing-delay": Rule(_queueing, costs=False, opinion="50 ms and a round trip of the path"),
    "slow-server": Rule(_slow_server, opinion="20 ms must, 10 ms may"),
}
