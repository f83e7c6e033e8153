"""Maker of the scenario captures: ``python -m tests.truth.scenarios FOLDER``.

The program runs itself in a network namespace (``unshare``, util-linux; no root if user namespaces are
allowed). The namespace's loopback has the Ethernet MTU and no offload: segments have wire size. The path has
no delay, so costs in RTTs are invisible. FOLDER then has ``NAME.pcap`` and the sidecar ``NAME.json`` of each
scenario, which ``tests.truth.precision`` reads; ``shows`` names its purpose.
"""

from __future__ import annotations

import contextlib
import json
import select
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_INSIDE = "--inside"
_FIRST_PORT = 8080
_MARK_PORT = 9
_MARK_S = 0.05
_PATIENCE_S = 20.0
_FILE_HEADER_BYTES = 24
# Ethernet and an IPv4 header without options, as on the loopback.
_PORTS_AT = 34
_MODULE = __spec__.name if __spec__ else "tests.truth.scenarios.__main__"


@dataclass(frozen=True, slots=True)
class Scenario:
    """Client, server, requests, and the detectors that the scenario targets."""

    name: str
    shows: tuple[str, ...]
    talk: Callable[[int, list[str]], None]
    targets: list[str]
    habits: dict[str, Any] = field(default_factory=dict)
    server: dict[str, Any] = field(default_factory=dict)
    client: dict[str, Any] = field(default_factory=dict)
    has_server: bool = True


def scenarios() -> list[Scenario]:
    from .client import apart, expecting, pipelined, refused, serial, slow_reader

    made = [
        Scenario("plain", (), serial, ["/plain/6000", "/other/700", "/third/20000"]),
        Scenario("conditional", (), partial(_conditional, serial), ["/plain/5000"], {"has_validators": True}),
    ]
    for number, size in enumerate((1200, 4000, 9000, 30_000, 60_000)):
        one = f"/plain/{size}"

        def add(
            kind: str,
            shows: tuple[str, ...],
            talk: Callable[[int, list[str]], None],
            targets: list[str],
            *,
            at: int = number,
            **more: Any,
        ) -> None:
            made.append(Scenario(f"{kind}_{at}", shows, talk, targets, **more))

        add("reset", ("reset-in-response",), serial, [f"/reset/{size}/{size // 2}"] * 2)
        add("cut", ("truncated-response",), serial, [f"/cut/{size}/{size // 2}"] * 2)
        think = {"think_ms": 40 * (number + 1)}
        add("think", ("slow-server",), serial, [f"/think/{size}/{think['think_ms']}"] * 3, server=think)
        add("refused", ("refused-connection",), refused, [one] * (number + 1), has_server=False)
        hops = [f"/redirect/{at}" for at in range(number + 2, 0, -1)]
        add("redirect", ("redirect-chain",), serial, [*hops, "/plain/900"])
        # Larger than an initial window: without a path delay, fewer bytes cost nothing.
        long = 20_000 + size
        add("same", ("duplicate-object",), serial, [f"/same/{long}", f"/also/{long}"])
        add("again", ("unconditional-repeat",), serial, [f"/plain/{long}"] * 2, habits={"has_validators": True})
        add("version", ("delta-eligible-repeat",), serial, [f"/version/{long}"] * 3)
        add("text", ("uncompressed-text",), partial(_accepting, serial), [f"/text/{long}"])
        add("apart", ("connection-per-request",), apart, [f"/plain/{size + at}" for at in range(4 + number)])
        refuses = {"requests_max": 1}
        add(
            "one_each", ("keep-alive-refused",), serial, [f"/plain/{size + at}" for at in range(4)], habits=refuses
        )
        piped = [f"/plain/{size + at}" for at in range(6)]
        add("pipeline_lost", ("lost-pipelined-requests",), pipelined, piped, habits={"requests_max": 2})
        blocked = [f"/think/{size}/{100 + 50 * number}", *piped]
        add("blocked", ("head-of-line-blocking",), pipelined, blocked)
        add("expect", ("expect-continue-wait",), partial(expecting, wait_s=0.1 * (number + 1)), ["/plain/500"])
        add("crumbs", ("unfilled-segments",), serial, [f"/crumbs/{size}/{300 + 50 * number}"])
        full = partial(slow_reader, pause_s=0.2 + 0.1 * number)
        add("full", ("zero-window",), full, ["/plain/300000"], client={"rcvbuf": 8192})
    return made


def _conditional(talk: Callable[..., None], port: int, targets: list[str]) -> None:
    import hashlib

    from .server import noise

    kind, size = targets[0].strip("/").split("/")
    tag = hashlib.sha256(noise(kind, int(size))).hexdigest()[:8]
    talk(port, targets)
    talk(port, targets * 3, f'If-None-Match: "{tag}"')


def _accepting(talk: Callable[..., None], port: int, targets: list[str]) -> None:
    talk(port, targets, "Accept-Encoding: gzip")


def main() -> int:
    *options, folder = sys.argv[1:]
    output = Path(folder)
    output.mkdir(parents=True, exist_ok=True)
    if _INSIDE not in options:
        command = ["unshare", "--map-root-user", "--net", sys.executable, "-m", _MODULE, _INSIDE, str(output)]
        return subprocess.run(command, check=False).returncode
    for command in ("ip link set lo mtu 1500 up", "ethtool -K lo tso off gso off gro off"):
        subprocess.run(command.split(), check=True, capture_output=True)
    numbered = list(enumerate(scenarios(), start=_FIRST_PORT))
    whole = output / "whole.pcap"
    with _captured(whole):
        for port, scenario in numbered:
            _play(scenario, port)
    content = whole.read_bytes()
    whole.unlink()
    for port, scenario in numbered:
        _write(output, scenario, port, content)
    return 0


@contextmanager
def _captured(path: Path) -> Iterator[None]:
    """Capture the loopback into the file, from the body's first packet to its last."""
    # dumpcap, not tcpdump: tcpdump insists on changing its user, which a user namespace may forbid.
    command = ["dumpcap", "-q", "-P", "-i", "lo", "-f", "tcp", "-w", str(path)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as dumpcap:
        _until_written(path)
        yield
        _until_written(path)
        dumpcap.send_signal(signal.SIGINT)


def _until_written(path: Path) -> None:
    """Send marks (SYNs to a closed port) until the file has grown by one."""
    before = path.stat().st_size if path.exists() else 0
    give_up = time.monotonic() + _PATIENCE_S
    while not path.exists() or path.stat().st_size <= max(before, _FILE_HEADER_BYTES):
        if time.monotonic() > give_up:
            raise TimeoutError(f"dumpcap wrote nothing into {path}")
        with socket.socket() as mark:
            mark.settimeout(_MARK_S)
            with contextlib.suppress(OSError):
                mark.connect(("127.0.0.1", _MARK_PORT))
        select.select([], [], [], _MARK_S)


def _play(scenario: Scenario, port: int) -> None:
    from .server import Habits, serve

    server = serve(port, Habits(**scenario.habits)) if scenario.has_server else None
    scenario.talk(port, scenario.targets)
    if server:
        server.close()


def _write(folder: Path, scenario: Scenario, port: int, whole: bytes) -> None:
    """Write the scenario's packets (those of its port) and its sidecar."""
    capture = folder / f"{scenario.name}.pcap"
    capture.write_bytes(b"".join([whole[:_FILE_HEADER_BYTES], *_records_with(port, whole)]))
    sidecar = {
        "name": scenario.name,
        "capture": capture.name,
        "port": port,
        "observed": {},
        "shows": scenario.shows,
        "link": {"kind": "lo"},
        "server": {"software": "scenario server", "args": ["nodelay"], **scenario.server},
        "client": {"mode": "serial", **scenario.client},
    }
    (folder / f"{scenario.name}.json").write_text(json.dumps(sidecar))


def _records_with(port: int, whole: bytes) -> Iterator[bytes]:
    at, wanted = _FILE_HEADER_BYTES, port.to_bytes(2, "big")
    while at + 16 <= len(whole):
        end = at + 16 + int.from_bytes(whole[at + 8 : at + 12], sys.byteorder)
        ports = whole[at + 16 + _PORTS_AT : at + 16 + _PORTS_AT + 4]
        if wanted in (ports[:2], ports[2:]):
            yield whole[at:end]
        at = end


if __name__ == "__main__":
    sys.exit(main())
