"""Time of the last packet of a capture file, read from its end."""

from __future__ import annotations

import os
import struct
from typing import TYPE_CHECKING, Final

from tcptrace_http.capture_stream import CaptureStream
from tcptrace_http.errors import CaptureError
from tcptrace_http.remote import is_remote
from tcptrace_http.trace import native

if TYPE_CHECKING:
    from tcptrace_http.corpus.sources import CaptureFile

__all__ = ["last_time_of"]

#: Bytes read from the end: they hold several records of any IP capture.
_TAIL_BYTES: Final = 512 << 10
#: Maximum size of a packed or remote file, which must be read from its start, for its last time.
_READ_BYTES_MAX: Final = 64 << 20
_FILE_HEADER_BYTES: Final = 24
_RECORD_HEADER_BYTES: Final = 16
_PCAPNG: Final = b"\x0a\x0d\x0d\x0a"
_LITTLE_ENDIAN_SECTION: Final = b"\x4d\x3c\x2b\x1a"
_BLOCK_BYTES_MIN: Final = 12
#: Block types with a packet (draft-ietf-opsawg-pcapng, section 11.1).
_PACKET_BLOCKS: Final = (2, 3, 6)
_LITTLE_ENDIAN: Final = (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1")
_BIG_ENDIAN: Final = (b"\xa1\xb2\xc3\xd4", b"\xa1\xb2\x3c\x4d")


def last_time_of(file: CaptureFile) -> int | None:
    """Return the maximum time of the last packets in nanoseconds; None if it is unknown."""
    if is_remote(file.path):
        return _read_whole(file)
    try:
        with open(file.path, "rb") as opened:
            start = opened.read(_FILE_HEADER_BYTES)
            opened.seek(max(_FILE_HEADER_BYTES, file.size - _TAIL_BYTES))
            tail = opened.read()
    except OSError:
        return None
    magic = start[:4]
    if magic in {*_LITTLE_ENDIAN, *_BIG_ENDIAN}:
        at = _first_record(tail, "<" if magic in _LITTLE_ENDIAN else ">")
        return None if at is None else _last_time(start + tail[at:])
    if magic == _PCAPNG and file.size > _READ_BYTES_MAX:
        return _of_large_pcapng(file.path, tail)
    return _read_whole(file)


def _first_record(tail: bytes, order: str) -> int | None:
    """Return the start of a chain of records with consistent lengths up to the end of the file."""
    length = struct.Struct(f"{order}8xII")
    for start in range(min(len(tail), _TAIL_BYTES // 2)):
        at = start
        while at + _RECORD_HEADER_BYTES <= len(tail):
            captured, wire = length.unpack_from(tail, at)
            if captured == 0 or captured > wire:
                break
            at += _RECORD_HEADER_BYTES + captured
        if at == len(tail) and at > start:
            return start
    return None


def _of_large_pcapng(path: str, tail: bytes) -> int | None:
    """Return the time from the last blocks, found by their trailing lengths, with the interfaces."""
    with open(path, "rb") as opened:
        start = opened.read(_TAIL_BYTES)
    number = struct.Struct("<I" if start[8:12] == _LITTLE_ENDIAN_SECTION else ">I")
    at = len(tail)
    while at >= _BLOCK_BYTES_MIN:
        (length,) = number.unpack_from(tail, at - number.size)
        if not _BLOCK_BYTES_MIN <= length <= at:
            break
        at -= length
    end = 0
    while end + _BLOCK_BYTES_MIN <= len(start) and number.unpack_from(start, end)[0] not in _PACKET_BLOCKS:
        end += max(number.unpack_from(start, end + number.size)[0], _BLOCK_BYTES_MIN)
    return _last_time(start[:end] + tail[at:])


def _last_time(capture: bytes) -> int | None:
    core = native.Analyzer(packets=["time"], others=False)
    try:
        core.feed(capture)
    except native.CaptureFault:
        return None
    return core.provenance()["last_time_ns"]


def _read_whole(file: CaptureFile) -> int | None:
    if file.size > _READ_BYTES_MAX:
        return None
    core = native.Analyzer(packets=["time"], others=False, block_rows=1 << 14)
    try:
        with CaptureStream(os.fspath(file.path)) as stream:
            for chunk in stream.chunks():
                core.feed(chunk)
                while core.take_block("packets") is not None:
                    pass
    except (CaptureError, native.CaptureFault):
        return None
    return core.provenance()["last_time_ns"]
