"""Captures and datasets on other machines: object stores (s3, gs, az) and web servers.

The environment provides credentials, region and endpoint (``AWS_ACCESS_KEY_ID``, ``AWS_ENDPOINT_URL``,
``GOOGLE_APPLICATION_CREDENTIALS``, ``AZURE_STORAGE_ACCOUNT_NAME`` …), as for polars and DuckDB.
"""

from __future__ import annotations

import io
from fnmatch import fnmatchcase
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from tcptrace_http.errors import CaptureError, MissingExtra

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from obstore.store import ObjectStore

__all__ = ["RemoteFile", "is_remote", "is_web", "matching", "object_store", "reason"]

_WEB: Final = ("http://", "https://")
_SCHEMES: Final = (*_WEB, "s3://", "s3a://", "gs://", "az://", "abfs://", "abfss://")
_MAGIC: Final = frozenset("*?[")
_ANY_DEPTH: Final = "**"
#: Piece size of an object. A reader holds two pieces.
_PIECE_BYTES: Final = 1024 * 1024
_TIMEOUT_SECONDS: Final = 30


def is_remote(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is a URL of an object store or a web server."""
    return isinstance(path, str) and path.startswith(_SCHEMES)


def is_web(path: str) -> bool:
    """Return whether a path is a URL of a web server, which cannot list its files."""
    return path.startswith(_WEB)


@cache
def object_store(url: str) -> ObjectStore:
    """Return the store whose keys begin at ``url``.

    :raises MissingExtra: obstore is not installed.
    """
    try:
        from obstore.store import from_url
    except ImportError:
        raise MissingExtra(f"{url} needs obstore", "remote") from None
    if url.startswith("http://"):
        return from_url(url, client_options={"allow_http": True})
    return from_url(url)


def reason(error: Exception) -> str:
    """Return the first line of an error: obstore appends the structure of the causes."""
    return str(error).partition("\n")[0].strip()


class RemoteFile(io.RawIOBase):
    """Remote file, read once from start to end, piece by piece."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._left = memoryview(b"")
        #: Size of the file; None if its server does not report the size.
        self.total: int | None = None
        try:
            self._pieces = self._web() if is_web(url) else self._objects()
        except FileNotFoundError:
            raise CaptureError(url, "no such object") from None
        except MissingExtra:
            raise
        except Exception as error:  # noqa: BLE001 -- obstore's are plain Exceptions, urllib's are OSErrors
            raise CaptureError(url, f"cannot be opened: {reason(error)}") from None

    def _objects(self) -> Iterator[Any]:
        import obstore

        folder, _, name = self._url.rpartition("/")
        answer = obstore.get(object_store(folder), name)
        self.total = answer.meta["size"]
        return iter(answer.stream(min_chunk_size=_PIECE_BYTES))

    def _web(self) -> Iterator[bytes]:
        """Read with the standard library: the URL stays unchanged, so a presigned URL stays valid."""
        from urllib.request import urlopen

        answer = urlopen(self._url, timeout=_TIMEOUT_SECONDS)  # noqa: S310 -- the scheme is http or https
        length = answer.headers["Content-Length"]
        self.total = None if length is None else int(length)
        return iter(lambda: answer.read(_PIECE_BYTES), b"")

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:  # the buffer protocol has no name before Python 3.12
        """Fill a buffer from the current piece.

        :raises OSError: the connection failed.
        """
        while not self._left:
            try:
                piece = next(self._pieces, None)
            except OSError:
                raise
            except Exception as error:  # noqa: BLE001 -- obstore's are no OSErrors
                raise OSError(reason(error)) from None
            if piece is None:
                return 0
            self._left = memoryview(piece).cast("B")
        count = min(len(buffer), len(self._left))
        buffer[:count], self._left = self._left[:count], self._left[count:]
        return count


def matching(pattern: str) -> Iterator[str]:
    """Yield the objects that a URL with ``*``, ``?``, ``[…]`` or ``**`` names, in order.

    :raises CaptureError: the store cannot be listed.
    """
    parts = pattern.split("/")
    # A bucket's name is never a pattern.
    first = next((at for at, part in enumerate(parts) if at > 2 and _MAGIC & set(part)), len(parts) - 1)  # noqa: PLR2004
    folder = "/".join(parts[:first])
    store = object_store(folder)
    try:
        keys = sorted(meta["path"] for metas in store.list() for meta in metas)
    except Exception as error:  # noqa: BLE001
        raise CaptureError(pattern, f"cannot be listed: {reason(error)}") from None
    return (f"{folder}/{key}" for key in keys if _matches(key.split("/"), parts[first:]))


def _matches(parts: Sequence[str], patterns: Sequence[str]) -> bool:
    if not patterns:
        return not parts
    if patterns[0] == _ANY_DEPTH:
        return any(_matches(parts[at:], patterns[1:]) for at in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], patterns[0]) and _matches(parts[1:], patterns[1:])
