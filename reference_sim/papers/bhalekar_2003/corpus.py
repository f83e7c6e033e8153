"""Small corpus of page versions for sections 3.3, 3.5 and 7.2: real text in period HTML.

The stories are paragraphs of Python's language reference (``pydoc_data``): English prose in every
installation. The frame around them is a news page of 2003: a table with navigation, styles and adverts. Each
page has a 50 kB document and 100 kB of images, which are compressed already (section 5.5's page).
"""

from __future__ import annotations

import re
import textwrap
import zlib
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from itertools import accumulate
from random import Random
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["IMAGE_BYTES", "Answer", "Change", "Version", "answers", "corpus", "heads", "images"]

#: "50kB (base) + 100kB (sum of all embedded object sizes in the web page)" (section 5.5).
_DOCUMENT_BYTES: Final = 50_000
IMAGE_BYTES: Final = 100_000
_PAGES: Final = 8
#: Text of a document line.
_WIDTH: Final = 100
#: A paragraph of at least this many characters is a story.
_PROSE: Final = 300
#: Responses per address with different queries, and stories per response: assumed.
_ANSWERS: Final = 20
_STORIES_OF_AN_ANSWER: Final = 3
#: Share of a news page's stories that are new at the next visit: a quarter, assumed. The other stories move
#: down, and the last stories drop out.
_NEW_STORIES: Final = 0.25


class Change(StrEnum):
    """Change of a page between two visits."""

    #: "Made to the web-pages in order to give them a fresh or current look" (3.5): date, counter, adverts.
    COSMETIC = "cosmetic"
    #: "The structure of the page is retained and only the content i.e. text changes" (7.2.1).
    NEWS = "news"
    #: All stories change; only the frame stays.
    REWRITTEN = "rewritten"


@dataclass(frozen=True, kw_only=True, slots=True)
class Version:
    """Cached and current version of a page's document."""

    change: Change
    old: str
    new: str


def corpus(*, seed: int = 1) -> Iterator[Version]:
    """Yield this many pages, each with its three changes."""
    random = Random(seed)  # noqa: S311 -- a model, no secret
    for number in range(_PAGES):
        stories = random.sample(_stories(), len(_stories()))
        shown = _shown(stories)
        new = max(1, round(shown * _NEW_STORIES))
        old = _document(number, 1, stories[:shown])
        for change, now in (
            (Change.COSMETIC, stories[:shown]),
            (Change.NEWS, [*stories[shown : shown + new], *stories[: shown - new]]),
            (Change.REWRITTEN, stories[shown : 2 * shown]),
        ):
            yield Version(change=change, old=old, new=_document(number, 2, now))


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """Document generated for a query, and its parts outside the template."""

    document: str
    dynamic: str


def answers(*, seed: int = 1) -> Iterator[Answer]:
    """Yield documents whose addresses differ only in the query: the same frame, different stories."""
    random = Random(seed)  # noqa: S311 -- a model, no secret
    chosen = random.sample(_stories(), _ANSWERS * _STORIES_OF_AN_ANSWER)
    for number in range(_ANSWERS):
        first = number * _STORIES_OF_AN_ANSWER
        stories = chosen[first : first + _STORIES_OF_AN_ANSWER]
        # The template has the markup. Date and advert change in the frame; all text changes in the rest.
        changing = [line for line in _document(0, number, ()).splitlines() if "date" in line or "adverts" in line]
        yield Answer(document=_document(0, number, stories), dynamic="\n".join([*changing, *stories]) + "\n")


def heads(count: int) -> Iterator[str]:
    """Yield the response heads of a page with its images, in Apache 1.3's format."""
    for number in range(count):
        kind, name = ("text/html", "index.html") if number == 0 else ("image/gif", f"{number}.gif")
        size = 50_000 if number == 0 else 500 + 137 * number
        yield (
            "HTTP/1.1 200 OK\r\n"
            f"Date: Thu, 11 Dec 2003 10:15:{number % 60:02} GMT\r\n"
            "Server: Apache/1.3.27 (Unix) PHP/4.3.2\r\n"
            f"Last-Modified: Wed, 10 Dec 2003 {number % 24:02}:{number * 7 % 60:02}:00 GMT\r\n"
            f'ETag: "{zlib.crc32(name.encode()):x}-{size:x}"\r\n'
            "Accept-Ranges: bytes\r\n"
            f"Content-Length: {size}\r\n"
            "Keep-Alive: timeout=15, max=100\r\n"
            "Connection: Keep-Alive\r\n"
            f"Content-Type: {kind}\r\n\r\n"
        )


def images(*, seed: int = 1) -> bytes:
    """Return the images of one page: noise, because well-compressed data looks random."""
    return Random(seed).randbytes(IMAGE_BYTES)  # noqa: S311 -- a model, no secret


@cache
def _stories() -> Sequence[str]:
    """Return paragraphs of prose, each once."""
    from pydoc_data.topics import topics

    paragraphs = (
        re.sub(r"\s+", " ", paragraph).strip()
        for name in sorted(topics)
        for paragraph in topics[name].split("\n\n")
    )
    prose = (text for text in paragraphs if len(text) >= _PROSE and text.isascii() and text[0].isalpha())
    return tuple(dict.fromkeys(prose))


def _shown(stories: Sequence[str]) -> int:
    """Return the number of stories that fill a document, at most half of all stories."""
    frame = len(_document(0, 1, ()))
    filled = accumulate((sum(map(len, _story(story))) for story in stories), initial=frame)
    return min(sum(size < _DOCUMENT_BYTES for size in filled), len(stories) // 2)


def _document(number: int, version: int, stories: Sequence[str]) -> str:
    """Return the page of this number: per-visit changes, and stories in a constant frame."""
    sections = [_section(number, place) for place in range(12)]
    lines = [
        '<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01 Transitional//EN">',
        f"<html><head><title>The Daily {number}: news, weather, sport</title>",
        '<link rel="stylesheet" type="text/css" href="/style/main.css">',
        "</head><body bgcolor=#ffffff text=#000000 link=#003399 vlink=#663399>",
        f'<p class="date">{10 + version} December 2003, visitor {number * 7919 + version * 337}</p>',
        f'<img src="/adverts/{number * 31 + version * 17}.gif" width="468" height="60" alt="Advertisement">',
        '<table border="0" cellpadding="0" cellspacing="0" width="760"><tr><td valign="top" width="160">',
        *sections,
        '</td><td valign="top" width="600">',
    ]
    for story in stories:
        lines += _story(story)
    lines += ["</td></tr></table>", f"<p>Copyright 2003 The Daily {number}</p>", "</body></html>"]
    return "\n".join(lines) + "\n"


def _story(story: str) -> Sequence[str]:
    headline = " ".join(story.split()[:6])
    return (
        f'<h2 class="headline"><font face="Arial, Helvetica" size="3">{headline}</font></h2>',
        '<p class="story"><font face="Verdana, Arial" size="2">',
        *textwrap.wrap(story, _WIDTH),
        "</font></p>",
    )


def _section(number: int, place: int) -> str:
    return (
        f'<a class="nav" href="/section/{place}/index.html"><img src="/images/nav{place}.gif" width="16"'
        f' height="16" border="0" alt="">Section {place} of The Daily {number}</a><br>'
    )
