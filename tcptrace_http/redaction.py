"""Text of a capture without secret or misleading parts: query values, user names, invisible controls."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import polars as pl

__all__ = ["REDACTED", "escaped_controls", "redacted_frame", "redacted_text", "redacted_url"]

REDACTED: Final = "REDACTED"
#: RFC 3986, sections 3.2.1 and 3.4.
_USERINFO: Final = re.compile(r"(://)[^/?#@\s]*@")
_QUERY_IN_TEXT: Final = re.compile(r"(?<=\S)\?([^\s\"'<>()]+)")
_NAMED: Final = re.compile(r"[^=]+=")
#: Columns with one URL or target each, and columns that are removed whole.
_URLS: Final = frozenset({"target", "url"})
_DROPPED: Final = frozenset({"referer", "location"})
#: DEL, C1 (ECMA-48) and direction controls (UAX 9, section 2): a display obeys them invisibly.
_CONTROLS: Final = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def redacted_url(url: str) -> str:
    """Replace the query values, a query without names, and the user."""
    before, mark, query = url.partition("?")
    before = _USERINFO.sub(rf"\1{REDACTED}@", before)
    if not mark:
        return before
    return f"{before}?{_without_values(query)}"


def _without_values(query: str) -> str:
    names = (_NAMED.match(part) for part in query.split("&"))
    return "&".join((name[0] if name else "") + REDACTED for name in names)


def redacted_text(text: str, url: str | None = None) -> str:
    """Replace the same parts in a sentence, which may contain ``url``."""
    if url:
        text = text.replace(url, redacted_url(url))
    text = _USERINFO.sub(rf"\1{REDACTED}@", text)
    return _QUERY_IN_TEXT.sub(lambda found: f"?{_without_values(found[1])}", text)


def redacted_frame(frame: pl.DataFrame) -> pl.DataFrame:
    """Redact all texts of a table."""
    import polars as pl

    def column(name: str) -> pl.Expr:
        if name in _DROPPED:
            return pl.when(pl.col(name).is_not_null()).then(pl.lit(REDACTED)).alias(name)
        redact = redacted_url if name in _URLS else redacted_text
        return pl.col(name).map_elements(redact, return_dtype=pl.String)

    return frame.with_columns(column(name) for name, dtype in frame.schema.items() if dtype == pl.String)


def escaped_controls(json_text: str) -> str:
    """Write invisible controls in JSON as escapes, without a change of the value."""
    return _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", json_text)
