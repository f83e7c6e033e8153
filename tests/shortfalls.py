"""Cases that the core still gets wrong: ``tests/shortfalls.toml``, one line per case.

A listed case must fail. A stale entry fails the tests, as does an entry that names no case.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["marked", "shortfalls"]


def shortfalls(kind: str) -> dict[str, str]:
    """Return the failing cases of one kind (waits or detectors), each with the wrong output."""
    path = Path(__file__).parent / "shortfalls.toml"
    found: dict[str, str] = tomllib.loads(path.read_text())[kind]
    return found


def marked(kind: str, cases: Iterable[tuple[str, tuple[str, str]]]) -> list[object]:
    """Return the cases as test parameters; listed cases are expected to fail."""
    known = shortfalls(kind)
    named = list(cases)
    unknown = known.keys() - {name for name, _ in named}
    assert not unknown, f"shortfalls.toml names no case: {sorted(unknown)}"
    return [
        pytest.param(
            *values,
            id=name,
            marks=pytest.mark.xfail(strict=True, reason=known[name]) if name in known else (),
        )
        for name, values in named
    ]
