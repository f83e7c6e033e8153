"""Deltas between two versions of a text, in the formats of section 3.5.1.

``diff -e`` is the line-based script of the UNIX editor ed. ``vdelta`` stands for copies from the old version
plus new bytes (Hunt, Vo and Tichy 1996), as in VCDIFF. Each format has an inverse.
"""

from __future__ import annotations

import re
import zlib
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Final

from tcptrace_http.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["apply_copies", "apply_ed_script", "compressed", "copies", "ed_script"]

#: As in gzip: smallest size, not highest speed.
_LEVEL: Final = 9
#: Minimum length of a match that is worth its address; also the unit of the old version's index.
_SEED: Final = 8
_COMMAND: Final = re.compile(r"(\d+)(?:,(\d+))?([acd])")
_MORE: Final = 0x80


def compressed(data: bytes) -> bytes:
    """Compress as gzip does, without gzip's 18 bytes of header."""
    return zlib.compress(data, _LEVEL)


def ed_script(old: str, new: str) -> str:
    """Return the output of ``diff -e``: commands from the last change to the first.

    This order keeps line numbers valid. Lines end with a newline. No line may be a single full stop, which
    ends ed's input.

    :raises ScenarioError: a line is a full stop, or the last line has no newline.
    """
    before, after = _lines(old), _lines(new)
    script: list[str] = []
    changes = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    for tag, first, end, start, stop in reversed(changes):
        if tag == "equal":
            continue
        letter = {"replace": "c", "delete": "d", "insert": "a"}[tag]
        span = f"{first}" if tag == "insert" else f"{first + 1}" if end == first + 1 else f"{first + 1},{end}"
        script.append(f"{span}{letter}\n")
        if tag != "delete":
            script += [*after[start:stop], ".\n"]
    return "".join(script)


def apply_ed_script(old: str, script: str) -> str:
    """Return the new version from the old version and its :func:`ed_script`."""
    lines = _lines(old)
    commands = iter(script.splitlines(keepends=True))
    for command in commands:
        matched = _COMMAND.fullmatch(command.strip())
        if matched is None:
            raise ScenarioError(f"not a command of ed: {command!r}")
        first, last, letter = int(matched[1]), int(matched[2] or matched[1]), matched[3]
        inserted = [] if letter == "d" else list(_until_full_stop(commands))
        lines[first if letter == "a" else first - 1 : last] = inserted
    return "".join(lines)


def copies(old: bytes, new: bytes) -> bytes:
    """Return alternating instructions: new bytes (length, bytes) and copies (length, address).

    Each place takes the longest match in the index. Numbers have seven bits per byte.
    """
    index = {old[at : at + _SEED]: at for at in range(len(old) - _SEED, -1, -1)}
    made = bytearray()
    start = at = 0
    while at < len(new):
        found = index.get(new[at : at + _SEED])
        if found is None:
            at += 1
            continue
        length = _match(old, found, new, at)
        made += _number(at - start) + new[start:at] + _number(length) + _number(found)
        start = at = at + length
    return bytes(made + _number(len(new) - start) + new[start:])


def apply_copies(old: bytes, delta: bytes) -> bytes:
    """Return the new version from the old version and its :func:`copies`."""
    made = bytearray()
    at = 0
    while at < len(delta):
        length, at = _read(delta, at)
        made += delta[at : at + length]
        at += length
        if at < len(delta):
            length, at = _read(delta, at)
            address, at = _read(delta, at)
            made += old[address : address + length]
    return bytes(made)


def _lines(text: str) -> list[str]:
    lines = text.splitlines(keepends=True)
    if ".\n" in lines or (lines and not lines[-1].endswith("\n")):
        raise ScenarioError("ed does not accept a line that is a single full stop or has no newline")
    return lines


def _until_full_stop(lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        if line == ".\n":
            return
        yield line


def _match(old: bytes, there: int, new: bytes, here: int) -> int:
    length = 0
    longest = min(len(old) - there, len(new) - here)
    while length < longest and old[there + length] == new[here + length]:
        length += 1
    return length


def _number(value: int) -> bytes:
    made = bytearray()
    while value >= _MORE:
        made.append(value & (_MORE - 1) | _MORE)
        value >>= 7
    return bytes((*made, value))


def _read(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while data[at] & _MORE:
        value |= (data[at] & (_MORE - 1)) << shift
        shift += 7
        at += 1
    return value | data[at] << shift, at + 1
