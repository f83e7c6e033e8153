"""Descriptions of fixes for ``tcptrace-http explain``."""

from __future__ import annotations

import textwrap
from typing import Final

from tcptrace_http.what_if.fixes import FIXES

__all__ = ["meaning", "names_listed"]

_WIDTH: Final = 80
_INDENT: Final = "  "


def meaning(name: str) -> str | None:
    """Return the description of the fix with this name; None for an unknown name."""
    fix = FIXES.get(name)
    if fix is None:
        return None
    sections = {
        f"{fix.name} (fix, {fix.side})": fix.about,
        "Fixes": ", ".join(fix.fixed_findings),
        "Changes nothing": fix.unneeded,
        "Source": fix.source,
    }
    return "\n\n".join(f"{title}\n{_indented(words)}" for title, words in sections.items() if words)


def names_listed() -> str:
    """Return the names as ``explain`` lists them."""
    return "\n".join(["Fixes (whatif)", *(f"{_INDENT}{name}" for name in FIXES)])


def _indented(words: str) -> str:
    return textwrap.fill(words, _WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT, break_on_hyphens=False)
