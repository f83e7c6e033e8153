"""Series: rotated captures of one capture point, and the windows into which a stream is cut.

With ``auto``, names (of ``tcpdump -C``, ``-G`` and ``-W``, and of ``dumpcap -b``) and times decide: a file
begins where the previous one ends. With a regular expression, the matching files with equal groups are one
stream.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from tcptrace_http.corpus.last_time import last_time_of
from tcptrace_http.errors import TcptraceError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tcptrace_http.corpus.sources import CaptureFile

__all__ = ["AUTO", "EACH_FILE", "Series", "series_of", "windows_of"]

AUTO: Final = "auto"
EACH_FILE: Final = "file"
#: Window size: a few minutes of reading, repeated if the worker is killed.
WINDOW_BYTES: Final = 1 << 30
_NANOSECONDS: Final = 1_000_000_000
#: Maximum silence between two files: a quiet link has no packets for this time, or for the duration of the
#: previous file.
_SILENCE_NS: Final = 60 * _NANOSECONDS
#: Maximum overlap: clocks are adjusted, and packets are written slightly out of order.
_OVERLAP_NS: Final = 1 * _NANOSECONDS
#: File names of rotated captures; the groups are the parts that differ between files.
_ROTATED: Final = (
    # dumpcap -b: eth0_00001_20261130091200.pcapng
    re.compile(r".+?_(\d{5})_(\d{14})\.(?:pcap|pcapng)(?:\.\w+)?"),
    # tcpdump -C, -W: eth0.pcap, eth0.pcap1 or eth0.pcap00, eth0.pcap01
    re.compile(r".+\.(?:pcap|pcapng|cap)(\d*)(?:\.(?:gz|zst|bz2|xz|lz4))?"),
    # tcpdump -G: eth0-2026-11-30_09.12.00.pcap
    re.compile(r".*?(\d{4}[-_.]?\d\d[-_.]?\d\d[-_.T ]?\d\d[-_.:]?\d\d(?:[-_.:]?\d\d)?).*\.(?:pcap|pcapng|cap).*"),
)


@dataclass(frozen=True, slots=True)
class Series:
    """Files of one stream, in order."""

    #: Path of the files, with ``#`` for the differing parts.
    name: str
    files: tuple[CaptureFile, ...]

    @property
    def key(self) -> str:
        """Return a key that stays the same when files are appended."""
        return f"{self.name}@{self.files[0].first_ns}"


def series_of(files: Iterable[CaptureFile], how: str) -> Iterator[Series]:
    """Yield the series of files; a separate file is a series of one.

    :raises TcptraceError: ``how`` is not a regular expression.
    """
    groups: dict[str, list[CaptureFile]] = defaultdict(list)
    for file in files:
        for name in _names(file.path, how):
            groups[name].append(file)
    claimed: set[str] = set()
    for name, members in sorted(groups.items(), key=lambda group: -len(group[1])):
        left = sorted((file for file in members if file.path not in claimed), key=_in_order)
        for run in [left] if how not in {AUTO, EACH_FILE} else _runs(left):
            if len(run) > 1:
                claimed.update(file.path for file in run)
                yield Series(name, tuple(run))
    for file in files:
        if file.path not in claimed:
            yield Series(file.path, (file,))


def _in_order(file: CaptureFile) -> tuple[int, list[int], str]:
    return file.first_ns or 0, [int(number) for number in re.findall(r"\d+", file.path)], file.path


def _names(path: str, how: str) -> Iterator[str]:
    """Yield the series names of a file, one per matching rule."""
    folder, slash, name = path.rpartition("/")
    if how == EACH_FILE:
        return
    for rule in _ROTATED if how == AUTO else [_compiled(how)]:
        if how != AUTO:
            if (found := rule.search(path)) is not None:
                yield "".join(found.groups(default="")) or how
            continue
        if (found := rule.fullmatch(name)) is not None:
            for at in range(rule.groups, 0, -1):
                start, end = found.span(at)
                name = f"{name[:start]}#{name[end:]}"
            yield f"{folder}{slash}{name}"
            return


def _compiled(expression: str) -> re.Pattern[str]:
    try:
        return re.compile(expression)
    except re.error as error:
        raise TcptraceError(f"--series {expression!r} is no regular expression: {error}") from None


def _runs(files: list[CaptureFile]) -> Iterator[list[CaptureFile]]:
    """Yield runs of files in time order, cut where a file does not begin at the end of the previous one."""
    run = files[:1]
    for one, following in pairwise(files):
        if not _abut(one, following):
            yield run
            run = []
        run.append(following)
    yield run


def _abut(one: CaptureFile, following: CaptureFile) -> bool:
    if one.first_ns is None or following.first_ns is None:
        return False
    last_ns = last_time_of(one)
    if last_ns is None:
        # A large packed or remote file has no known end; the names decide.
        return following.first_ns >= one.first_ns
    silence = following.first_ns - last_ns
    return -_OVERLAP_NS <= silence <= max(_SILENCE_NS, last_ns - one.first_ns)


def windows_of(series: Series, window_bytes: int) -> list[tuple[CaptureFile, ...]]:
    """Return windows of at least ``window_bytes``; appended files change only the last window."""
    windows: list[list[CaptureFile]] = []
    size = window_bytes
    for file in series.files:
        if size >= window_bytes:
            windows.append([])
            size = 0
        windows[-1].append(file)
        size += file.size
    return [tuple(window) for window in windows]
