"""Configurations of real servers, good and bad, and the required result of a probe."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from .servers import apache, lighttpd, nginx, written

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path


class Starts(Protocol):
    def __call__(self, folder: Path, **options: Any) -> AbstractContextManager[str]: ...


@dataclass(frozen=True, slots=True)
class Configuration:
    name: str
    start: Starts
    options: dict[str, Any] = field(default_factory=dict)
    #: One of these errors is reported; for a good configuration, none.
    pathologies: tuple[str, ...] = ()
    #: Setting that the report names.
    setting: str = ""

    @property
    def is_good(self) -> bool:
        return not self.pathologies


HELD = ("short-initial-segment", "nagle-delayed-ack", "odd-short-final-segment")

CONFIGURATIONS = (
    Configuration("nginx as it comes", nginx),
    Configuration("nginx with sendfile and tcp_nopush", nginx, {"http": "sendfile on; tcp_nopush on;"}),
    Configuration(
        "nginx without sendfile in small buffers", nginx, {"http": "sendfile off; output_buffers 2 32k;"}
    ),
    Configuration(
        "nginx sends the head first, with Nagle",
        nginx,
        {"http": "sendfile on; tcp_nopush off; tcp_nodelay off;"},
        HELD,
        "tcp_nodelay on",
    ),
    Configuration(
        "nginx postpones no output, with Nagle",
        nginx,
        {"http": "sendfile off; postpone_output 0; tcp_nodelay off;"},
        HELD,
        "tcp_nodelay on",
    ),
    Configuration(
        "nginx without keep-alive",
        nginx,
        {"http": "keepalive_timeout 0;"},
        ("keep-alive-refused",),
        "keepalive_timeout",
    ),
    Configuration("Apache as it comes", apache),
    Configuration(
        "Apache without keep-alive", apache, {"http": "KeepAlive Off"}, ("keep-alive-refused",), "KeepAlive On"
    ),
    Configuration("lighttpd as it comes", lighttpd),
    Configuration(
        "lighttpd without keep-alive",
        lighttpd,
        {"http": "server.max-keep-alive-requests = 0"},
        ("keep-alive-refused",),
        "server.max-keep-alive-requests",
    ),
    Configuration("in one write, with Nagle", written, {"nodelay": False}),
    Configuration("the head alone and pieces, without Nagle", written, {"head_alone": True, "chunk": 4096}),
    Configuration(
        "the head alone, with Nagle", written, {"nodelay": False, "head_alone": True}, HELD, "TCP_NODELAY"
    ),
    Configuration("pieces of 4 kB, with Nagle", written, {"nodelay": False, "chunk": 4096}, HELD, "TCP_NODELAY"),
    Configuration("a cork that nobody takes back", written, {"cork_forgotten": 1}, ("cork-timeout",), "TCP_CORK"),
    Configuration("closes after every response", written, {"close": 1}, ("keep-alive-refused",), ""),
    Configuration("drops what is pipelined", written, {"misbehave": "drop"}, ("lost-pipelined-requests",), ""),
)
