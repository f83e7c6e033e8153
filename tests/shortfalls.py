"""Cases whose right answer the core does not tell yet: ``tests/shortfalls.toml``, one line each.

A case that is listed must fail as long as it is: a stale entry fails, as does one that names no case.
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
    """The cases of one kind, waits or detectors, that fail, each with what is told in place of what is right."""
    path = Path(__file__).parent / "shortfalls.toml"
    found: dict[str, str] = tomllib.loads(path.read_text())[kind]
    return found


def marked(kind: str, cases: Iterable[tuple[str, tuple[str, str]]]) -> list[object]:
    """The cases as parameters of a test; those that are listed are expected to fail."""
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
