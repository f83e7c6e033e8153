"""Lookup by name; a miss suggests the nearest name."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, TypeVar

from tcptrace_http.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["named", "near"]

Value = TypeVar("Value")


def named(table: Mapping[str, Value], name: str, *, what: str) -> Value:
    """Return the table's entry of this name.

    :raises ScenarioError: the name is unknown; the message gives the nearest name, or else all names.
    """
    if name not in table:
        raise ScenarioError(f"no {what} {name!r}{near(name, table)}")
    return table[name]


def near(name: str, known: Iterable[str]) -> str:
    """Format the hint for a miss: ``; did you mean …?``, or all names if none is near."""
    names = list(known)
    matches = get_close_matches(name, names, n=1)
    if matches:
        return f"; did you mean {matches[0]!r}?"
    return f" (there are: {', '.join(names)})" if names else " (none are known)"
