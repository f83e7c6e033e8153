"""Captures of known content, and the command ``check`` for tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from captures import MILLISECOND, Connection, clean_exchange, pcap, stalled_exchange

from tcptrace_http.cli.main import run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str


@pytest.fixture
def cli(capfd: pytest.CaptureFixture[str]) -> Callable[..., Result]:
    """Run the command line in this process."""

    def ran(*arguments: str | Path) -> Result:
        capfd.readouterr()
        code = run([str(argument) for argument in arguments])
        shown = capfd.readouterr()
        return Result(code, shown.out, shown.err)

    return ran


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return captures: clean, stalled (180 ms), faster (45 ms), cut, empty and other (no HTTP)."""
    made = tmp_path_factory.mktemp("captures")
    written = {
        "clean": pcap(clean_exchange(3)),
        "stalled": pcap(stalled_exchange()),
        "again": pcap(stalled_exchange(120 * MILLISECOND)),
        "faster": pcap(stalled_exchange(45 * MILLISECOND)),
        "cut": pcap(clean_exchange())[:-5],
        "empty": pcap([]),
        "other": pcap(_other()),
    }
    for name, data in written.items():
        (made / f"{name}.pcap").write_bytes(data)
    return made


def _other() -> list[tuple[int, bytes]]:
    connection = Connection(server=("10.0.0.2", 5000))
    connection.open()
    connection.from_client(b"\x00\x01 no HTTP", after=MILLISECOND)
    connection.close()
    return connection.records


def of_many(count: int, *, targets: int = 1) -> bytes:
    """Return a capture of stalled exchanges on separate connections, with this many different targets."""
    records = []
    for number in range(count):
        connection = Connection(client=("10.0.0.1", 20_000 + number))
        connection.time += number * 1000 * MILLISECOND
        connection.open()
        request = b"GET /page%d HTTP/1.1\r\nHost: a.example\r\n\r\n" % (number % targets)
        connection.from_client(request, 24, after=MILLISECOND)
        connection.from_server(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", 24, after=2 * MILLISECOND)
        connection.from_client(after=180 * MILLISECOND)
        connection.from_server(b"%04d" % number * 250, 24, after=MILLISECOND)
        connection.from_client(after=20_000)
        connection.close()
        records += connection.records
    return pcap(records)
