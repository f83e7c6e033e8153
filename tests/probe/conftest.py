"""Command ``probe`` for tests: its exit code, and its report as JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from tcptrace_http.cli.main import run

from .servers import readable_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@dataclass(frozen=True)
class Probed:
    code: int
    #: None if the server could not be probed.
    report: dict[str, Any]
    error: str

    @property
    def failing(self) -> set[str]:
        """Violated rules of level error."""
        return {one["name"] for one in self._violations if one["level"] == "error"}

    @property
    def settings(self) -> str:
        """All settings that the report names."""
        return "\n".join(setting for one in self._violations for setting in one["settings"])

    @property
    def inconclusive(self) -> set[str]:
        return {one["name"] for one in self.report["outcomes"] if one["status"] == "inconclusive"}

    @property
    def notes(self) -> str:
        return "\n".join(self.report["notes"])

    @property
    def _violations(self) -> list[dict[str, Any]]:
        return [violation for outcome in self.report["outcomes"] for violation in outcome["violations"]]


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """Yield a folder that any user may read, in place of pytest's own."""
    with readable_folder() as folder:
        yield folder


@pytest.fixture
def probed(capfd: pytest.CaptureFixture[str]) -> Callable[..., Probed]:
    """Run ``tcptrace-http probe`` in this process."""

    def ran(url: str, *arguments: str | Path) -> Probed:
        capfd.readouterr()
        code = run(["probe", url, "--output-format", "json", *map(str, arguments)])
        shown = capfd.readouterr()
        return Probed(code, json.loads(shown.out) if shown.out else {}, shown.err)

    return ran
