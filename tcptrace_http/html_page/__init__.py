"""Frame of every HTML page: self-contained, for light and dark, for narrow screens and paper.

The frame knows nothing of captures or scenarios, so the pages of analyser and simulator share it. Each passes
its body, and the styles of its own parts.
"""

from __future__ import annotations

from functools import cache
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["html_page", "script_json", "style_of"]

_PAGE: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<link rel="icon" href="data:,">
<style>
{style}</style>
</head>
<body>
{body}
{scripts}</body>
</html>
"""


def html_page(title: str, body: str, *, style: str = "", scripts: Iterable[str] = ()) -> str:
    """Return a page; ``title`` is text, ``body`` HTML, ``style`` an addition to the common style sheet."""
    return _PAGE.format(
        title=escape(title),
        style=style_of(__name__) + style,
        body=body,
        scripts="".join(f"<script>{script}</script>\n" for script in scripts),
    )


@cache
def style_of(package: str) -> str:
    """Return the file ``style.css`` of a package."""
    return files(package).joinpath("style.css").read_text(encoding="utf-8")


def script_json(value: object) -> str:
    """Return ASCII JSON that stays inside its script element: file names may have undecodable bytes."""
    import json

    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")
