"""Where a dataset lies: a local folder, or a prefix of an object store (s3, gs, az; http to read).

Both have the same five operations. A written object is whole or absent, whenever its writer is killed.
A store can be sent to another process: it is no more than its location.
"""

from __future__ import annotations

import os
import socket
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from errno import ENOENT
from itertools import count
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from tcptrace_http.errors import StoreError
from tcptrace_http.remote import is_remote, object_store, reason

if TYPE_CHECKING:
    from collections.abc import Iterator

    from obstore.store import ObjectStore

__all__ = ["LocalStore", "Object", "RemoteStore", "Store", "open_store"]

#: Files that are being written lie here, and take their place once they are whole.
_WRITING: Final = "_writing"
_NUMBERS: Final = count()


@dataclass(frozen=True, slots=True)
class Object:
    """An object of a store; its key is relative, with ``/`` between its parts."""

    key: str
    size: int


class Store(Protocol):
    """What a dataset needs of the place that it lies in."""

    @property
    def location(self) -> str:
        """The folder or URL."""

    def read(self, key: str) -> bytes:
        """Read an object.

        :raises FileNotFoundError: there is none.
        """

    def write(self, key: str, content: bytes) -> None:
        """Write an object, or replace it."""

    def list(self, folder: str = "") -> Iterator[Object]:
        """List the objects of a folder (``"_units/"``) and of those in it, in the order of their keys."""

    def delete(self, key: str) -> None:
        """Delete an object, if it is there."""

    def uri(self, key: str) -> str:
        """Give the path or URL by which polars and DuckDB read an object."""

    def sweep(self) -> None:
        """Delete what killed processes of this machine left half written."""


def open_store(location: str | os.PathLike[str]) -> Store:
    """Open a folder, which need not exist yet, or the URL of an object store.

    :raises MissingExtra: obstore is not installed.
    """
    name = os.fspath(location)
    if is_remote(name):
        object_store(name.rstrip("/"))
        return RemoteStore(name.rstrip("/"))
    return LocalStore(name)


@dataclass(frozen=True)
class LocalStore:
    """A folder."""

    location: str

    def read(self, key: str) -> bytes:
        """Read a file."""
        return self._path(key).read_bytes()

    def write(self, key: str, content: bytes) -> None:
        """Write a file, which takes its place once it is whole."""
        path = self._path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        writing = self._path(_WRITING)
        writing.mkdir(exist_ok=True)
        temporary = writing / f"{os.getpid()}.{next(_NUMBERS)}.{socket.gethostname()}"
        try:
            temporary.write_bytes(content)
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise

    def list(self, folder: str = "") -> Iterator[Object]:
        """List the files of a folder."""
        found = []
        for parent, folders, names in os.walk(self._path(folder)):
            if _WRITING in folders:
                folders.remove(_WRITING)
            found += [Path(parent, name) for name in names]
        objects = (Object(path.relative_to(self.location).as_posix(), path.stat().st_size) for path in found)
        yield from sorted(objects, key=attrgetter("key"))

    def delete(self, key: str) -> None:
        """Delete a file."""
        self._path(key).unlink(missing_ok=True)

    def uri(self, key: str) -> str:
        """Give the path of a file."""
        return str(self._path(key))

    def sweep(self) -> None:
        """Delete the files that processes which are no more were writing."""
        for path in self._path(_WRITING).glob(f"*.{socket.gethostname()}"):
            process = int(path.name.partition(".")[0])
            try:
                os.kill(process, 0)
            except ProcessLookupError:
                path.unlink(missing_ok=True)
            except PermissionError:
                continue

    def _path(self, key: str) -> Path:
        return Path(self.location, key)


@dataclass(frozen=True)
class RemoteStore:
    """A prefix of an object store; an object is written by a single request."""

    location: str

    @property
    def _objects(self) -> ObjectStore:
        return object_store(self.location)

    def read(self, key: str) -> bytes:
        """Read an object."""
        with self._errors(key):
            return bytes(self._objects.get(key).bytes())

    def write(self, key: str, content: bytes) -> None:
        """Write an object by a single request."""
        try:
            with self._errors(key):
                self._objects.put(key, content, use_multipart=False)
        except FileNotFoundError:
            raise StoreError(self.uri(key), "there is no such bucket") from None

    def list(self, folder: str = "") -> Iterator[Object]:
        """List the objects of a folder."""
        with self._errors(folder):
            metas = [meta for metas in self._objects.list(folder.rstrip("/") or None) for meta in metas]
        yield from sorted((Object(meta["path"], meta["size"]) for meta in metas), key=attrgetter("key"))

    def delete(self, key: str) -> None:
        """Delete an object."""
        with suppress(FileNotFoundError), self._errors(key):
            self._objects.delete(key)

    def uri(self, key: str) -> str:
        """Give the URL of an object."""
        return f"{self.location}/{key}"

    def sweep(self) -> None:
        """Nothing is half written: an object is there when its request has ended."""

    @contextmanager
    def _errors(self, key: str) -> Iterator[None]:
        """Name the object in errors; obstore's are plain Exceptions, but that of an absent object."""
        try:
            yield
        except FileNotFoundError:
            raise FileNotFoundError(ENOENT, "no such object", self.uri(key)) from None
        except Exception as error:  # noqa: BLE001
            raise StoreError(self.uri(key), reason(error)) from None
