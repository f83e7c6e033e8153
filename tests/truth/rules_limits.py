"""Rules for the limits of a sender: windows, buffers, queues, and a server without data.

``zero-window``
    Evidence: packets. Required, once per flow: the client advertised a zero window on an open connection for at
    least 10 ms in total. Permitted: a shorter time, normal for a busy application.
``receive-window-limit``
    Required, once per flow: a receive buffer (``rcvbuf``) of at most 64 KB, and a response of twice that
    buffer. The path has at least 20 ms. Permitted: a link that needs at least an RTT to serialize such a
    window. This link limits more (an earlier form ignored this). Permitted also: kernel counters with time
    limited by the receive window (``rwnd_lim_us``), or unknown limits (the BSD-like stack's window is 16 KB).
    Wrong: elsewhere.
``small-send-buffer``
    Required, once per flow: a server with ``--sndbuf`` that writes in chunks, on a path of at least 20 ms. A
    response of twice the kernel's buffer (twice the requested size) came in at least three flights.
    Permitted: its other responses. Wrong: a server with a single write, because the kernel then buffers 64 KB
    regardless of the setting.
``queueing-delay``
    Required, once per capture: the emulator's queue held packets of a flow for at least 50 ms and at least an
    RTT. Only the server's end counts, which sees the RTT of data. Permitted: from 5 ms on, at the client's
    end, and on a deliberately stopped link (``link.env``). Wrong: shorter queueing.
``slow-server``
    Required, once or often: a server with at least 20 ms of processing (``--think-ms``). Permitted: a server
    with pauses inside responses (``--gap-ms``, ``--chunk-gap-ms``), or one that is not the testbed's own. A
    first byte came at least 10 ms later than the path requires, or a response had such a pause. The testbed's
    own server has no further processing time. Wrong: elsewhere, except for transactions with losses and for a
    forgotten cork, which look the same in a capture.
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
#: Time for which a fast-reading application may close its window.
_SHUT_MIN_MS: Final = 10.0
_QUEUE_MUST_MS: Final = 50.0
_QUEUE_MAY_MS: Final = 5.0
_THINK_MUST_MS: Final = 20.0
_THINK_MAY_MS: Final = 10.0
#: Options with which the testbed's server is or appears slow.
_WAITS: Final = frozenset({"--think-ms", "--gap-ms", "--chunk-gap-ms", "--cork-forget", "--more-forget"})
_FLIGHTS_MIN: Final = 3
#: Segments of one flight are closer together than this share of the RTT.
_FLIGHT_GAP_SHARE: Final = 0.35


def _zero_window(scene: Scene) -> Truth:
    shut = [flow for flow in scene.flows if has_zero_window(flow)]
    long = [flow for flow in shut if _shut_ms(flow) >= _SHUT_MIN_MS]
    return Truth.at((Place(flow.client_port) for flow in long), [Place(flow.client_port) for flow in shut])


def _shut_ms(flow: Flow) -> float:
    """Return the total time of the client's zero window."""
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
    """Return whether a response is twice the buffer and came in flights of at most buffer plus write.

    If there is any room, Linux copies a whole write (``chunk``) into one segment of its buffer. It also
    appends to an unsent segment. A larger window fills the whole buffer.
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
    """Return the maximum send buffer, if the server's system limits it below 64 KB."""
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
