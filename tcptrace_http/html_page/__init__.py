"""The frame that every HTML page has: whole in itself, light and dark, on narrow screens and on paper.

It knows nothing of captures or scenarios, so that the analyser's pages and the simulator's are framed by the
same: each gives its body, and the styles of the parts that only it has.
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
    """A page; ``title`` is text, ``body`` HTML, ``style`` what is added to the style sheet of all pages."""
    return _PAGE.format(
        title=escape(title),
        style=style_of(__name__) + style,
        body=body,
        scripts="".join(f"<script>{script}</script>\n" for script in scripts),
    )


@cache
def style_of(package: str) -> str:
    """The file ``style.css`` of a package."""
    return files(package).joinpath("style.css").read_text(encoding="utf-8")


def script_json(value: object) -> str:
    """JSON that stays inside its script element, in ASCII: file names need not be text."""
    import json

    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")
