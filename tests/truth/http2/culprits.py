"""HTTP/2 configurations with one culprit, each with a twin, and good configurations without one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from tests.truth.field.scenario import Drop, Link
from tests.truth.field.sidecar import NAGLE

__all__ = ["CULPRITS", "Culprit", "Setup"]

_FAR: Final = Link(rtt_ms=100.0, queue_packets=4000)
_NEAR: Final = Link(rtt_ms=20.0, queue_packets=4000)
_PACED: Final = Link(rtt_ms=100.0, rate_mbit=20.0, queue_packets=4000)
_MEGABYTE: Final = 1_000_000
_FIRST_WINDOW: Final = 65_535
_SERIAL: Final = [[{"bytes": 3000}]] * 8
_FOUR: Final = [[{"bytes": 300_000}] * 4]
#: All of it is sent at once, and arrives within half an RTT.
_SMALL_FOUR: Final = [[{"bytes": 30_000}] * 4]


@dataclass(frozen=True, slots=True)
class Setup:
    """Programs at both ends: the peers of ``peer.py``, unless a command is given."""

    link: Link = _FAR
    server: dict[str, Any] = field(default_factory=dict)
    client: dict[str, Any] = field(default_factory=dict)
    #: ``{folder}``, ``{port}`` and ``{url}`` are filled in.
    server_command: str = ""
    client_command: str = ""
    initial_window: int = 2000
    restarts_after_idle: bool = False


@dataclass(frozen=True, slots=True)
class Culprit:
    name: str
    setup: Setup
    #: Detectors that may name the culprit; empty: no finding is expected.
    named: tuple[str, ...] = ()
    #: The same setup without the culprit.
    twin: Setup | None = None
    #: Further true findings.
    also: tuple[str, ...] = ()
    #: Waits that measure the cost, of which the detector reports a part; otherwise its findings measure it.
    waits: tuple[str, ...] = ()


def _python(rounds: list[list[dict[str, Any]]], link: Link = _FAR, **more: Any) -> Setup:
    """Return a setup from peer settings (prefixes ``client_`` and ``server_``) and setup fields."""
    of: dict[str, dict[str, Any]] = {"client": {"rounds": rounds}, "server": {}}
    fields = {}
    for name, value in more.items():
        who, _, what = name.partition("_")
        if who in of:
            of[who][what] = value
        else:
            fields[name] = value
    return Setup(link, of["server"], of["client"], **fields)


def _nghttp(client: str) -> Setup:
    server = "nghttpd --no-tls --htdocs={folder}/files {port}"
    return Setup(server_command=server, client_command=f"nghttp --null-out {client} http://{{url}}/1000000.bin")


def _lossy(passes_first: int) -> Link:
    drop = Drop("down", min_payload=1000, passes_first=passes_first, count=1)
    return Link(rtt_ms=100.0, rate_mbit=20.0, queue_packets=4000, drops=(drop,))


_ONE: Final = [[{"bytes": _MEGABYTE}]]
_UPLOAD: Final = [[{"body": _MEGABYTE}]]
_CALLS: Final = [[{"bytes": 500, "body": 300}]] * 12
_URGENT: Final = [[{"bytes": 2 * _MEGABYTE, "urgency": 6}, {"bytes": 4000, "urgency": 0, "after_ms": 120}]]
_IDLE: Final = [[{"bytes": _MEGABYTE}], [{"bytes": 400_000}], [{"bytes": 400_000}]]
_UNREAD: Final = [[{"bytes": 100_000, "unread_ms": 1000}, {"bytes": 200_000, "after_ms": 20}]]
_BUFFER: Final = 4_000_000
#: The stream with the lost bytes also waits.
_REPAIRS: Final = ("stall.fast_recovery", "stall.retransmission_timeout", "stall.tail_loss")

CULPRITS: Final = (
    Culprit(
        "stream_window_down",
        _python(_ONE, client_stream_window=_FIRST_WINDOW),
        ("h2-stream-window",),
        _python(_ONE),
    ),
    Culprit("stream_window_of_nghttp", _nghttp("-w16 -W24"), ("h2-stream-window",), _nghttp("-w24 -W24")),
    Culprit(
        "stream_window_up",
        _python(_UPLOAD, server_stream_window=_FIRST_WINDOW),
        ("h2-stream-window",),
        _python(_UPLOAD),
    ),
    Culprit(
        "connection_window",
        _python(_FOUR, client_connection_window=_FIRST_WINDOW),
        ("h2-connection-window",),
        _python(_FOUR),
    ),
    Culprit(
        "connection_window_of_nghttp",
        _nghttp("-w24 -W16"),
        ("h2-connection-window", "h2-window-update-late"),
        _nghttp("-w24 -W24"),
    ),
    Culprit(
        "slow_reader",
        _python(_UNREAD, client_connection_window=100_000),
        ("h2-window-update-late",),
        _python([[{**each, "unread_ms": 0} for each in _UNREAD[0]]], client_connection_window=100_000),
        also=("h2-connection-window",),
    ),
    Culprit(
        "late_updates",
        _python(_ONE, client_stream_window=250_000, client_update_ms=150),
        ("h2-window-update-late",),
        _python(_ONE, client_stream_window=250_000, client_update_ms=0),
        also=("h2-stream-window",),
    ),
    Culprit(
        "nagle",
        _python(_SERIAL, _NEAR, server_nodelay=False, server_is_head_alone=True),
        NAGLE,
        _python(_SERIAL, _NEAR, server_is_head_alone=True),
    ),
    Culprit(
        "idle_restart",
        _python(_IDLE, client_pause_ms=1500, initial_window=10, restarts_after_idle=True),
        ("slow-start-restart",),
        _python(_IDLE, client_pause_ms=1500, initial_window=10),
        also=("initial-window", "repeated-slow-start"),
    ),
    Culprit(
        "early_loss",
        _python(_SMALL_FOUR, _lossy(20)),
        ("h2-tcp-head-of-line",),
        _python(_SMALL_FOUR, _PACED),
        waits=_REPAIRS,
    ),
    Culprit(
        "late_loss",
        _python(_SMALL_FOUR, _lossy(70)),
        ("h2-tcp-head-of-line",),
        _python(_SMALL_FOUR, _PACED),
        waits=_REPAIRS,
    ),
    Culprit(
        "send_buffer_inversion",
        _python(_URGENT, _PACED, server_send_buffer=_BUFFER, initial_window=100),
        ("h2-send-buffer-inversion",),
        _python(_URGENT, _PACED, server_notsent_lowat=16_384, initial_window=100),
        also=("queueing-delay",),
    ),
    Culprit(
        "settings_wait",
        _python(_SERIAL, client_waits_for_settings=True),
        ("h2-settings-wait",),
        _python(_SERIAL),
    ),
    Culprit("churn", _python(_SERIAL, client_reconnects=True), ("h2-connection-churn",), _python(_SERIAL)),
    Culprit("good_large", _python(_ONE)),
    Culprit("good_paced", _python([[{"bytes": 40_000}]], server_pace_ms=10)),
    Culprit("good_calls", _python(_CALLS, server_has_trailers=True)),
    Culprit(
        "good_small",
        Setup(
            _NEAR,
            server_command="nghttpd --no-tls --htdocs={folder}/files {port}",
            client_command="h2load -n100 -c2 -m10 http://{url}/3000.bin",
        ),
    ),
    Culprit(
        "good_nginx",
        Setup(
            _NEAR,
            server_command="nginx -p {folder} -c {folder}/nginx.conf",
            client_command="curl --silent --http2-prior-knowledge -o /dev/null http://{url}/1000000.bin"
            " -o /dev/null http://{url}/3000.bin",
        ),
    ),
    Culprit(
        "good_node",
        Setup(
            _NEAR,
            server_command="node {folder}/node.js {folder} {port}",
            client_command="curl --silent --insecure --http2 -o /dev/null https://{url}/[3000-3023]",
        ),
        # Node compiles its code for the first response, and curl requests one object after the other.
        also=("slow-server", "request-lull"),
    ),
)
