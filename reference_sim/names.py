"""Looking up what people name: a miss says what is near."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, TypeVar

from tcptrace_http.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["named", "near"]

Value = TypeVar("Value")


def named(table: Mapping[str, Value], name: str, *, what: str) -> Value:
    """The entry of the table with this name.

    :raises ScenarioError: there is none; the message names the one that is near, else all.
    """
    if name not in table:
        raise ScenarioError(f"no {what} {name!r}{near(name, table)}")
    return table[name]


def near(name: str, known: Iterable[str]) -> str:
    """``; did you mean …?`` for a miss, or all names where none is near."""
    names = list(known)
    matches = get_close_matches(name, names, n=1)
    if matches:
        return f"; did you mean {matches[0]!r}?"
    return f" (there are: {', '.join(names)})" if names else " (none are known)"
