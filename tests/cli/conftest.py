"""Fixtures that run the command line in this process or in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from captures import clean_exchange, pcap, stalled_exchange

from tcptrace_http.cli.main import run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@dataclass
class Result:
    code: int
    out: bytes
    err: str


@pytest.fixture
def cli(capfdbinary: pytest.CaptureFixture[bytes]) -> Callable[..., Result]:
    """Run the command line in this process."""

    def ran(*arguments: str | Path) -> Result:
        capfdbinary.readouterr()
        code = run([str(argument) for argument in arguments])
        captured = capfdbinary.readouterr()
        return Result(code, captured.out, captured.err.decode())

    return ran


def run_process(*arguments: str | Path, stdin: bytes = b"", **environment: str) -> Result:
    """Run the command line in a process of its own."""
    finished = subprocess.run(
        [sys.executable, "-m", "tcptrace_http", *map(str, arguments)],
        input=stdin,
        capture_output=True,
        check=False,
        env=os.environ | environment,
    )
    return Result(finished.returncode, finished.stdout, finished.stderr.decode())


@pytest.fixture
def process() -> Callable[..., Result]:
    return run_process


@pytest.fixture
def clean(tmp_path: Path) -> Path:
    """Return a capture without findings: three transactions on one connection."""
    path = tmp_path / "clean.pcap"
    path.write_bytes(pcap(clean_exchange(3)))
    return path


@pytest.fixture
def joined(tmp_path: Path) -> Path:
    """Return a capture begun after the handshake: three transactions without findings."""
    path = tmp_path / "joined.pcap"
    path.write_bytes(pcap(clean_exchange(3)[3:]))
    return path


@pytest.fixture
def stalled(tmp_path: Path) -> Path:
    """Return a capture whose only response waits for a delayed ACK."""
    path = tmp_path / "stalled.pcap"
    path.write_bytes(pcap(stalled_exchange()))
    return path
