"""Maker of the benchmark's captures: a server and a client in two network namespaces.

``python tests/bench/make_captures.py [--folder DIR] [NAME ...]``, as root. Captures are kept: a second run
only checks their presence.

- ``keep_alive``: about 1.2 GB; ten long connections, bodies of 1 MB.
- ``short``: 20,000 connections of one request each, bodies of 10 kB.
- ``pages``: 48 long connections, HTML of 200 B to 100 kB, with POSTs, redirects and missing pages.
- ``connections``: 20,000 connections of one request each, HTML of 200 B to 20 kB.
- ``download``: one response of 1 GB.
- ``browser``: a page of 50 objects, loaded 500 times by Chromium.
- ``lossy``: as ``pages``, eight connections through a short queue.
- ``pages_tenth``, ``connections_tenth``, ``download_tenth``: a tenth as long. Memory must not grow with the
  length.
"""

from __future__ import annotations

import argparse
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

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.bench.documents import write_documents
from tests.bench.loads import LOADS, nginx_configuration
from tests.bench.network import call, network

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tests.bench.loads import Load

__all__ = ["Recording", "default_folder", "make_captures", "need_programs", "record"]

# KiB; eight seconds without a read by tcpdump at 1 Gbit/s.
_TCPDUMP_BUFFER: Final = 1_000_000
# Debian package of each program that the benchmark runs.
_PACKAGES: Final = {
    "nginx": "nginx-light",
    "ab": "apache2-utils",
    "wrk": "wrk",
    "h2load": "nghttp2-client",
    "curl": "curl",
    "chromium": "chromium",
    "tcpdump": "tcpdump",
    "ip": "iproute2",
    "tc": "iproute2",
    "ethtool": "ethtool",
    "tcptrace": "tcptrace",
    "tshark": "tshark",
}
_PCAP_HEADER_BYTES: Final = 24
_RECORD_HEADER: Final = struct.Struct("<IIII")
_DEADLINE_S: Final = 20.0
_LOAD_DEADLINE_S: Final = 1800.0


@dataclass(frozen=True, slots=True)
class Recording:
    """Finished capture."""

    name: str
    path: str
    packets: int
    bytes: int


def default_folder() -> Path:
    """Folder in which the captures are kept between runs."""
    return Path(tempfile.gettempdir()) / "tcptrace-http-bench"


def need_programs() -> None:
    """Install missing Debian packages, and report them."""
    missing = sorted({package for name, package in _PACKAGES.items() if shutil.which(name) is None})
    if missing:
        print(f"installing {' '.join(missing)}", file=sys.stderr)
        environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
        call("apt-get", "install", "--yes", "--quiet", "--no-install-recommends", *missing, env=environment)


def make_captures(folder: Path, names: Iterable[str] = LOADS) -> list[Recording]:
    """Return the recordings of these names, made now or before."""
    folder.mkdir(parents=True, exist_ok=True)
    return [_kept(folder, name) or record(folder, LOADS[name]) for name in names]


def _kept(folder: Path, name: str) -> Recording | None:
    note = folder / f"{name}.json"
    if not note.exists():
        return None
    recording = Recording(**json.loads(note.read_text()))
    path = Path(recording.path)
    return recording if path.exists() and path.stat().st_size == recording.bytes else None


def record(folder: Path, load: Load) -> Recording:
    """Run the load against nginx while tcpdump captures at the client."""
    if os.geteuid() != 0:
        raise SystemExit("making the captures needs root: network namespaces and tcpdump")
    need_programs()
    print(f"recording {load.name}", file=sys.stderr)
    path = folder / f"{load.name}.pcap"
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        served = Path(name)
        write_documents(served)
        with network(load) as (server, client), _serving(served, server), _capturing(client, path):
            _run_load(client, load, served)
    return _note(folder, load.name, path)


def _run_load(namespace: str, load: Load, served: Path) -> None:
    """Run the load until it ends, or requests /done."""
    command = [part.replace("{folder}", str(served)) for part in load.command]
    done, log = served / "done.log", served / "load.log"
    deadline = time.monotonic() + _LOAD_DEADLINE_S
    with log.open("wb") as said:
        process = subprocess.Popen(["ip", "netns", "exec", namespace, *command], stdout=said, stderr=said)
        while process.poll() is None and done.stat().st_size == 0 and time.monotonic() < deadline:
            time.sleep(0.1)
        process.terminate()
        process.wait(_DEADLINE_S)
    if process.returncode != 0 and done.stat().st_size == 0:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}: {log.read_text(errors='replace')}")


def _note(folder: Path, name: str, path: Path) -> Recording:
    recording = Recording(name, str(path), _records(path), path.stat().st_size)
    (folder / f"{name}.json").write_text(json.dumps(asdict(recording)))
    return recording


def _records(path: Path) -> int:
    """Return the number of records in a little-endian pcap file."""
    records = 0
    with path.open("rb") as file:
        file.seek(_PCAP_HEADER_BYTES)
        while len(header := file.read(_RECORD_HEADER.size)) == _RECORD_HEADER.size:
            file.seek(_RECORD_HEADER.unpack(header)[2], os.SEEK_CUR)
            records += 1
    return records


@contextlib.contextmanager
def _serving(folder: Path, namespace: str) -> Iterator[None]:
    configuration = folder / "nginx.conf"
    configuration.write_text(nginx_configuration(folder))
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
    while ":80 " not in call("ip", "netns", "exec", namespace, "ss", "-ltn"):
        if time.monotonic() > deadline:
            raise SystemExit("nginx does not listen on port 80")
        time.sleep(0.05)


@contextlib.contextmanager
def _capturing(namespace: str, path: Path) -> Iterator[None]:
    """Capture until the block ends; a capture with lost packets is an error."""
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
        _wait_until_written(path)
    finally:
        listener.terminate()
        said += listener.communicate(timeout=_DEADLINE_S)[1]
    captured, received, dropped = map(int, re.findall(r"(\d+) packets? (?:captured|received|dropped)", said))
    if captured != received or dropped:
        raise SystemExit(f"tcpdump lost packets, run it again on a quieter machine: {said}")


def _wait_until_written(path: Path) -> None:
    """Wait for the packets in transit from the kernel's buffer."""
    before = -1
    while before != (before := path.stat().st_size):
        time.sleep(1.0)


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=default_folder())
    parser.add_argument("names", nargs="*", metavar="NAME", default=list(LOADS), help="only these captures")
    options = parser.parse_args()
    for made in make_captures(options.folder.resolve(), options.names):
        print(f"{made.path}: {made.packets} packets, {made.bytes} bytes")


if __name__ == "__main__":
    _main()
