"""Discovery of captures: paths, globs, folders and URLs to files, each with its fingerprint and first time."""

from __future__ import annotations

import os
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from tcptrace_http.capture import expand, text_of
from tcptrace_http.capture_stream import STANDARD_INPUT, CaptureStream
from tcptrace_http.corpus.digests import digest
from tcptrace_http.errors import CaptureError
from tcptrace_http.remote import is_remote, is_web, object_store
from tcptrace_http.trace import native

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["CaptureFile", "find_captures"]

#: Capture names in a folder: rotated ones may end in a number, packed ones in a packing suffix.
_CAPTURE_NAME: Final = re.compile(r".+\.(pcap|pcapng|cap)\d*(\.(gz|zst|bz2|xz|lz4))?", re.IGNORECASE)
#: Maximum size of a fully digested file. A larger one is identified by its size and samples: captures are
#: never edited in place, and the planning of 5 TB must not take hours.
_WHOLE_BYTES_MAX: Final = 8 << 20
_SAMPLES: Final = 32
_SAMPLE_BYTES: Final = 64 << 10
#: Maximum number of bytes read for the first packet's time.
_FIRST_BYTES_MAX: Final = 4 << 20
#: Number of threads for file access: they wait for disks and servers.
_THREADS: Final = 8


@dataclass(frozen=True, slots=True)
class CaptureFile:
    """Discovered capture file."""

    path: str
    size: int
    #: Digest of its content.
    fingerprint: str
    #: Time of its first packet in nanoseconds; None without a packet or for an unreadable file.
    first_ns: int | None

    def as_json(self) -> dict[str, Any]:
        """Return the fields by name."""
        return asdict(self)


def find_captures(sources: Iterable[str | os.PathLike[str]]) -> list[CaptureFile]:
    """Find the captures; of several with equal content, the first by path counts.

    :raises CaptureError: a source names no file, or an unreadable one.
    """
    paths = sorted({path for source in sources for path in _paths(os.fspath(source))})
    with ThreadPoolExecutor(_THREADS) as pool:
        found = list(pool.map(_look_at, paths))
    by_content: dict[str, CaptureFile] = {}
    for one in found:
        by_content.setdefault(one.fingerprint, one)
    return list(by_content.values())


def _paths(source: str) -> Iterator[str]:
    if source == STANDARD_INPUT:
        raise CaptureError(source, "a dataset needs files: units may be read more than once")
    if is_remote(source) and source.endswith("/"):
        source += "**"
    if os.path.isdir(source):
        inside = sorted(os.path.join(folder, name) for folder, _, names in os.walk(source) for name in names)
        captures = [os.path.abspath(path) for path in inside if _CAPTURE_NAME.fullmatch(os.path.basename(path))]
        if not captures:
            raise CaptureError(source, "the folder has no file called .pcap, .pcapng or .cap")
        yield from captures
        return
    for path in expand([source]):
        if is_remote(path):
            if source != path and not _CAPTURE_NAME.fullmatch(path.rpartition("/")[2]):
                continue
            yield path
        elif not os.path.isdir(path):
            yield os.path.abspath(path)


def _look_at(path: str) -> CaptureFile:
    size, fingerprint = _of_remote(path) if is_remote(path) else _of_local(path)
    return CaptureFile(text_of(path), size, fingerprint, _first_time(path))


def _of_local(path: str) -> tuple[int, str]:
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size <= _WHOLE_BYTES_MAX:
                return size, digest(file.read())
            samples = [str(size).encode()]
            for at in range(_SAMPLES):
                file.seek((size - _SAMPLE_BYTES) * at // (_SAMPLES - 1))
                samples.append(file.read(_SAMPLE_BYTES))
            return size, digest(*samples)
    except OSError as error:
        raise CaptureError(path, f"cannot be read: {error.strerror}") from None


def _of_remote(url: str) -> tuple[int, str]:
    """Return size and fingerprint from the store's entity tag, which changes with the content, or from a web
    server's file.
    """
    if is_web(url):
        with CaptureStream(url) as stream:
            content = b"".join(bytes(chunk) for chunk in stream.chunks())
        return len(content), digest(content)
    import obstore

    folder, _, name = url.rpartition("/")
    meta = obstore.head(object_store(folder), name)
    return meta["size"], digest(str(meta["size"]).encode(), str(meta["e_tag"]).encode())


def _first_time(path: str) -> int | None:
    """Return the time of the first packet; the file's unit reports any error."""
    core = native.Analyzer(packets=["time"], others=False)
    try:
        with CaptureStream(path) as stream:
            for chunk in stream.chunks():
                core.feed(chunk)
                fields = core.provenance()
                if fields["first_time_ns"] is not None or fields["bytes_read"] > _FIRST_BYTES_MAX:
                    return fields["first_time_ns"]
    except (CaptureError, native.CaptureFault):
        pass
    return core.provenance()["first_time_ns"]
