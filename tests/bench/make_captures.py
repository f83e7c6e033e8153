"""Makes the large captures of the benchmark: nginx and ab in two network namespaces.

``python tests/bench/make_captures.py [FOLDER]``, as root. What is made is kept: a second run only
checks that it is there.

- ``keep_alive.pcap``: about 1.2 GB; ten long connections, bodies of 1 MB.
- ``short.pcap``: 20,000 connections of one request each, bodies of 10 kB.
- ``keep_alive_tenth.pcap``: as the first one, a tenth as long; and ``keep_alive_tenth_tenfold.pcap``,
  ``short_tenfold.pcap``: ten copies, one after the other, each with a client of its own. Memory must
  not grow with the length.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Recording", "default_folder", "make_captures", "need_programs", "record"]

_SERVER: Final = "10.77.0.1"
_CLIENT: Final = "10.77.0.2"
# A switch's speed that tcpdump keeps up with on one core; without it packets are dropped.
_RATE: Final = "600mbit"
# In KiB; holds a quarter of a second of the rate above many times over.
_TCPDUMP_BUFFER: Final = 400_000
_NGINX: Final = """\
daemon off; master_process off; worker_processes 1; pid {folder}/nginx.pid;
error_log {folder}/error.log; events {{ worker_connections 4096; }}
http {{
  access_log off; keepalive_requests 1000000; sendfile on; tcp_nopush on;
  client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2; fastcgi_temp_path {folder}/t3;
  uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5;
  server {{ listen {server}:80; root {folder}; }}
}}
"""
# The Debian package of each program that is run here and in the benchmark.
_PACKAGES: Final = {
    "nginx": "nginx-light",
    "ab": "apache2-utils",
    "tcpdump": "tcpdump",
    "ip": "iproute2",
    "tc": "iproute2",
    "ethtool": "ethtool",
    "tcptrace": "tcptrace",
    "tshark": "tshark",
}
_PCAP_HEADER_BYTES: Final = 24
_RECORD_HEADER: Final = struct.Struct("<IIII")
# Where source and destination address lie in an Ethernet frame with IPv4.
_ADDRESS_OFFSETS: Final = (26, 30)
_CLIENT_BYTES: Final = bytes(map(int, _CLIENT.split(".")))
_DEADLINE_S: Final = 20.0


@dataclass(frozen=True, slots=True)
class Recording:
    """A finished capture."""

    name: str
    path: str
    packets: int
    bytes: int


def default_folder() -> Path:
    """Where the captures are kept between runs."""
    return Path(tempfile.gettempdir()) / "tcptrace-http-bench"


def need_programs() -> None:
    """Install from Debian what is missing, and say so."""
    missing = sorted({package for name, package in _PACKAGES.items() if shutil.which(name) is None})
    if missing:
        print(f"installing {' '.join(missing)}", file=sys.stderr)
        environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
        _run("apt-get", "install", "--yes", "--quiet", "--no-install-recommends", *missing, env=environment)


def make_captures(folder: Path) -> list[Recording]:
    """All recordings, made now or before."""
    folder.mkdir(parents=True, exist_ok=True)
    keep_alive = _kept(folder, "keep_alive") or record(
        folder, "keep_alive", ["-k", "-n", "1150", "-c", "10"], "large"
    )
    # -r: a connection that is reset must not end the run.
    short = _kept(folder, "short") or record(folder, "short", ["-r", "-n", "20000", "-c", "20"], "small")
    tenth = _kept(folder, "keep_alive_tenth") or record(
        folder, "keep_alive_tenth", ["-k", "-n", "115", "-c", "10"], "large"
    )
    return [keep_alive, short, *_with_tenfold(folder, tenth), *_with_tenfold(folder, short)[1:]]


def _kept(folder: Path, name: str) -> Recording | None:
    note = folder / f"{name}.json"
    if not note.exists():
        return None
    recording = Recording(**json.loads(note.read_text()))
    path = Path(recording.path)
    return recording if path.exists() and path.stat().st_size == recording.bytes else None


def record(folder: Path, name: str, load: list[str], body: str) -> Recording:
    """Run ``ab`` with the load against nginx while tcpdump listens at the client."""
    if os.geteuid() != 0:
        raise SystemExit("making the captures needs root: network namespaces and tcpdump")
    need_programs()
    print(f"recording {name}", file=sys.stderr)
    path = folder / f"{name}.pcap"
    with _network() as (server, client), _serving(folder, server), _capturing(client, path):
        _run("ip", "netns", "exec", client, "ab", "-q", *load, f"http://{_SERVER}/{body}")
    return _note(folder, name, path)


def _note(folder: Path, name: str, path: Path) -> Recording:
    packets = sum(1 for _ in _records(path))
    recording = Recording(name, str(path), packets, path.stat().st_size)
    (folder / f"{name}.json").write_text(json.dumps(asdict(recording)))
    return recording


def _with_tenfold(folder: Path, one: Recording) -> list[Recording]:
    """A recording, and ten copies of it in one file: later by its length, and of other clients."""
    name = f"{one.name}_tenfold"
    kept = _kept(folder, name)
    if kept is not None:
        return [one, kept]
    print(f"writing {name}", file=sys.stderr)
    content = Path(one.path).read_bytes()
    ends = list(_records(Path(one.path)))
    starts = [_PCAP_HEADER_BYTES, *ends[:-1]]
    first_s, last_s = (_RECORD_HEADER.unpack_from(content, start)[0] for start in (starts[0], starts[-1]))
    path = folder / f"{name}.pcap"
    with path.open("wb") as target:
        target.write(content[:_PCAP_HEADER_BYTES])
        for copy in range(10):
            copied = bytearray(content)
            for start in starts:
                seconds = _RECORD_HEADER.unpack_from(copied, start)[0]
                struct.pack_into("<I", copied, start, seconds + copy * (last_s - first_s + 1))
                for address in _ADDRESS_OFFSETS:
                    at = start + _RECORD_HEADER.size + address
                    if copied[at : at + 4] == _CLIENT_BYTES:
                        copied[at + 2] = copy
            target.write(memoryview(copied)[_PCAP_HEADER_BYTES:])
    return [one, _note(folder, name, path)]


def _records(path: Path) -> Iterator[int]:
    """The offset after each record of a little-endian pcap file."""
    offset = _PCAP_HEADER_BYTES
    with path.open("rb") as file:
        file.seek(offset)
        while len(header := file.read(_RECORD_HEADER.size)) == _RECORD_HEADER.size:
            captured = _RECORD_HEADER.unpack(header)[2]
            offset += _RECORD_HEADER.size + captured
            file.seek(captured, os.SEEK_CUR)
            yield offset


@contextlib.contextmanager
def _network() -> Iterator[tuple[str, str]]:
    """Two namespaces joined by a veth pair that carries segments of the size of the wire."""
    server, client = f"bench-server-{os.getpid()}", f"bench-client-{os.getpid()}"
    with contextlib.ExitStack() as stack:
        for namespace in (server, client):
            _run("ip", "netns", "add", namespace)
            stack.callback(_run, "ip", "netns", "del", namespace)
        _run(
            *["ip", "link", "add", "eth0", "netns"],
            server,
            *["type", "veth", "peer", "name", "eth0", "netns"],
            client,
        )
        for namespace, address in ((server, _SERVER), (client, _CLIENT)):
            inside = ("ip", "-n", namespace)
            _run(*inside, "addr", "add", f"{address}/24", "dev", "eth0")
            _run(*inside, "link", "set", "eth0", "gso_max_segs", "1")
            _run(*inside, "link", "set", "eth0", "up")
            _run(
                "ip",
                "netns",
                "exec",
                namespace,
                *["ethtool", "-K", "eth0", "tso", "off", "gso", "off", "gro", "off"],
            )
            shaping = f"qdisc add dev eth0 root tbf rate {_RATE} burst 64kb latency 20ms"
            _run("tc", "-n", namespace, *shaping.split())
        ports = "net.ipv4.ip_local_port_range=1024 65000"
        _run("ip", "netns", "exec", client, "sysctl", "-q", "-w", ports)
        yield server, client


@contextlib.contextmanager
def _serving(folder: Path, namespace: str) -> Iterator[None]:
    (folder / "small").write_bytes(os.urandom(10_000))
    (folder / "large").write_bytes(os.urandom(1_000_000))
    for name in ("small", "large"):
        (folder / name).chmod(0o644)
    configuration = folder / "nginx.conf"
    configuration.write_text(_NGINX.format(folder=folder, server=_SERVER))
    command = ["nginx", "-c", str(configuration), "-e", str(folder / "error.log")]
    server = subprocess.Popen(["ip", "netns", "exec", namespace, *command])
    try:
        _wait_until_listening(namespace)
        yield
    finally:
        server.terminate()
        server.wait(_DEADLINE_S)


def _wait_until_listening(namespace: str) -> None:
    deadline = time.monotonic() + _DEADLINE_S
    while ":80 " not in _run("ip", "netns", "exec", namespace, "ss", "-ltn"):
        if time.monotonic() > deadline:
            raise SystemExit("nginx does not listen on port 80; see its error.log beside the captures")
        time.sleep(0.05)


@contextlib.contextmanager
def _capturing(namespace: str, path: Path) -> Iterator[None]:
    """Capture until the body is done; a capture that lost packets is an error."""
    command = ["tcpdump", "-i", "eth0", "-n", "-s", "0", "-Z", "root", "-B", str(_TCPDUMP_BUFFER)]
    listener = subprocess.Popen(
        ["ip", "netns", "exec", namespace, *command, "-w", str(path), "tcp"],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert listener.stderr is not None
    said = ""
    try:
        while "listening on" not in said:
            line = listener.stderr.readline()
            if not line:
                raise SystemExit(f"tcpdump did not start: {said}")
            said += line
        yield
        # The last packets are still on their way from the kernel's buffer.
        time.sleep(1.0)
    finally:
        listener.terminate()
        said += listener.communicate(timeout=_DEADLINE_S)[1]
    dropped = re.search(r"(\d+) packets? dropped by kernel", said)
    if dropped is None or dropped.group(1) != "0":
        raise SystemExit(f"tcpdump lost packets, run it again on a quieter machine: {said}")


def _run(*command: str, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: {done.stderr or done.stdout}")
    return done.stdout


if __name__ == "__main__":
    for made in make_captures(Path(sys.argv[1]) if sys.argv[1:] else default_folder()):
        print(f"{made.path}: {made.packets} packets, {made.bytes} bytes")
