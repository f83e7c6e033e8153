"""Shared settings of all tests: the folder of additional captures, and the examples per property."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from tests.shortfalls import shortfalls

if TYPE_CHECKING:
    from collections.abc import Iterator

REPOSITORY = Path(__file__).resolve().parents[1]
CAPTURES_VARIABLE = "TCPTRACE_HTTP_CAPTURES"

# A slow example is no failure: the machine may be busy. Every run has the same examples.
settings.register_profile(
    "default", derandomize=True, deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("fuzz", deadline=None, max_examples=5000, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("default")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--captures",
        metavar="DIR",
        default=os.environ.get(CAPTURES_VARIABLE) or None,
        help=f"folder with public/ and kernel/ captures (default: ${CAPTURES_VARIABLE});"
        " without it the tests that need the fixture `captures` are not collected",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--captures") is None:
        items[:] = [item for item in items if "captures" not in getattr(item, "fixturenames", ())]
    known = shortfalls("tests")
    for item in items:
        if item.nodeid in known:
            item.add_marker(pytest.mark.xfail(strict=True, reason=known[item.nodeid]))


@pytest.fixture(scope="session")
def captures(request: pytest.FixtureRequest) -> Path:
    """Return the folder with additional captures; tests that use it are collected only if it exists."""
    return Path(request.config.getoption("--captures"))


@pytest.fixture(scope="session")
def sample_traces() -> Path:
    """Return the captures in the repository."""
    return REPOSITORY / "sample_traces"


@pytest.fixture
def _interrupts() -> Iterator[None]:
    """Make Ctrl-C interrupt. A shell that starts tests in the background has them ignore SIGINT."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
