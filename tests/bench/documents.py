"""Documents of the benchmark's server, with the same bytes on every machine."""

from __future__ import annotations

import random
import struct
import zlib
from math import isqrt
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["DOCUMENTS", "PAGE_LOADS", "write_documents"]

# HTML documents per folder.
DOCUMENTS: Final = 64
# Number of page loads in the browser.
PAGE_LOADS: Final = 500
_PAGE_BYTES: Final = (200, 100_000)
_SMALL_PAGE_BYTES: Final = (200, 20_000)
_OBJECT_BYTES: Final = (1_000, 40_000)
_OBJECTS: Final = ("css",) * 5 + ("js",) * 10 + ("png",) * 35
_DOWNLOAD_BYTES: Final = 1_000_000_000
_WORDS: Final = """
the of and to in is for that on with as by from at it this are be an or path server client packet time page
delay window segment network window request response connection because between measured result shows much
longer application transfer performance protocol several different example however small large number first
""".split()
# Shorter documents have neither a style sheet nor scripts.
_PLAIN_BYTES: Final = 1_000
_HEAD: Final = (
    '<meta name="viewport" content="width=device-width, initial-scale=1">'
    '<link rel="stylesheet" href="/assets/site.css"><link rel="icon" href="/assets/icon.png">'
    '<script src="/assets/site.js" defer></script>'
)
_FOOT: Final = "</body></html>\n"
# The end of a load requests the next load; the last load requests /done, which ends the recording.
_NEXT_LOAD: Final = f"""<script>
addEventListener("load", () => {{
  const loads = 1 + Number(new URLSearchParams(location.search).get("n"));
  setTimeout(() => location.replace(loads < {PAGE_LOADS} ? "?n=" + loads : "/done"), 0);
}});
</script>"""


def write_documents(folder: Path) -> None:
    """Write all documents of the loads into the folder."""
    (folder / "small").write_bytes(random.Random("small").randbytes(10_000))
    (folder / "large").write_bytes(random.Random("large").randbytes(1_000_000))
    for name, size in {"download": _DOWNLOAD_BYTES, "download_tenth": _DOWNLOAD_BYTES // 10}.items():
        with (folder / name).open("wb") as sparse:
            sparse.truncate(size)
    for name, limits in {"pages": _PAGE_BYTES, "small_pages": _SMALL_PAGE_BYTES}.items():
        (folder / name).mkdir()
        for number, size in enumerate(_log_uniform(*limits, DOCUMENTS)):
            (folder / name / f"{number:02}.html").write_text(_html(random.Random(f"{name} {number}"), size))
    _write_browser_page(folder / "page")


def _log_uniform(least: int, most: int, count: int) -> list[int]:
    return [round(least * (most / least) ** ((number + 0.5) / count)) for number in range(count)]


def _html(draw: random.Random, size: int) -> str:
    """Return a page of exactly this size (the shortest pages are larger)."""
    head = f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{_text(draw, 3)}</title>'
    parts = [head, _HEAD if size > _PLAIN_BYTES else "", "</head><body>\n"]
    left = size - len(_FOOT) - sum(map(len, parts))
    blocks, weights = zip(*_BLOCKS.items(), strict=True)
    while len(block := draw.choices(blocks, weights)[0](draw)) <= left:
        parts.append(block)
        left -= len(block)
    return "".join(parts) + f"<p>{_text(draw, left)[: max(left - 7, 0)]}</p>" + _FOOT


def _text(draw: random.Random, words: int) -> str:
    return " ".join(draw.choices(_WORDS, k=words))


def _link(draw: random.Random) -> str:
    return f'<a href="{draw.randrange(DOCUMENTS):02}.html">{_text(draw, 3)}</a>'


def _paragraph(draw: random.Random) -> str:
    link = _link(draw) if draw.random() < 0.3 else ""
    return f"<p>{_text(draw, draw.randint(20, 90))} {link} {_text(draw, draw.randint(5, 30))}.</p>\n"


def _heading(draw: random.Random) -> str:
    return f'<h2 id="{_text(draw, 1)}-{draw.randrange(1000)}">{_text(draw, 5)}</h2>\n'


def _image(draw: random.Random) -> str:
    source = f'src="/assets/photo-{draw.randrange(100)}.jpg" width="640" height="480" loading="lazy"'
    return f'<figure class="wide"><img {source} alt="{_text(draw, 5)}"></figure>\n'


def _list(draw: random.Random) -> str:
    entries = "\n".join(f'<li class="entry">{_link(draw)}</li>' for _ in range(draw.randint(3, 12)))
    return f'<nav class="related"><ul>\n{entries}\n</ul></nav>\n'


def _script(draw: random.Random) -> str:
    return f'<script>dataLayer.push({{"id": {draw.randrange(10**6)}, "topic": "{_text(draw, 8)}"}});</script>\n'


_BLOCKS: Final[dict[Callable[[random.Random], str], int]] = {
    _paragraph: 10,
    _heading: 3,
    _image: 2,
    _list: 1,
    _script: 1,
}


def _write_browser_page(folder: Path) -> None:
    """Write a page of fifty objects, which each load fetches."""
    folder.mkdir()
    draw = random.Random("page")
    sizes = _log_uniform(*_OBJECT_BYTES, len(_OBJECTS))
    draw.shuffle(sizes)
    head, body = [], []
    for number, (kind, size) in enumerate(zip(_OBJECTS, sizes, strict=True)):
        name = f"{number:02}.{kind}"
        if kind == "css":
            (folder / name).write_text(_repeat(".c{0} {{ color: #{0:06}; margin: {0}px; }}\n", size))
            head.append(f'<link rel="stylesheet" href="{name}">')
        elif kind == "js":
            (folder / name).write_text(_repeat("function f{0}(x) {{ return x * {0}; }}\n", size))
            head.append(f'<script src="{name}" defer></script>')
        else:
            (folder / name).write_bytes(_png(draw, size))
            body.append(f'<img src="{name}" alt="">\n{_paragraph(draw)}')
    start = '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><link rel="icon" href="data:,">'
    page = [start, *head, "</head><body>\n", *body, _NEXT_LOAD, _FOOT]
    (folder / "index.html").write_text("".join(page))


def _repeat(line: str, size: int) -> str:
    """Return numbered lines of about this size."""
    return "".join(line.format(number) for number in range(size // len(line.format(100))))


def _png(draw: random.Random, size: int) -> bytes:
    """Return a square of noise that a browser can decode: browsers abort undecodable images."""
    side = isqrt(size)
    rows = b"".join(b"\0" + draw.randbytes(side) for _ in range(side))
    chunks = {
        b"IHDR": struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0),
        b"IDAT": zlib.compress(rows),
        b"IEND": b"",
    }
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks.items()
    )
