"""Location of a dataset: a local folder, or a prefix of an object store (s3, gs, az; http for reading).

Both have the same five operations. A written object is complete or absent, even if its writer is killed. A
store consists of its location only, so it can be sent to another process.
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

#: Folder of incomplete files, which are moved to their place once complete.
_WRITING: Final = "_writing"
_NUMBERS: Final = count()


@dataclass(frozen=True, slots=True)
class Object:
    """Object of a store; its key is relative, with ``/`` between its parts."""

    key: str
    size: int


class Store(Protocol):
    """Operations that a dataset needs."""

    @property
    def location(self) -> str:
        """Return the folder or URL."""

    def read(self, key: str) -> bytes:
        """Read an object.

        :raises FileNotFoundError: the object does not exist.
        """

    def write(self, key: str, content: bytes) -> None:
        """Write an object, or replace it."""

    def list(self, folder: str = "") -> Iterator[Object]:
        """List the objects of a folder (``"_units/"``) and its subfolders, in key order."""

    def delete(self, key: str) -> None:
        """Delete an object, if it exists."""

    def uri(self, key: str) -> str:
        """Return the path or URL of an object for polars and DuckDB."""

    def sweep(self) -> None:
        """Delete incomplete files of killed local processes."""


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
    """Local folder."""

    location: str

    def read(self, key: str) -> bytes:
        """Read a file."""
        return self._path(key).read_bytes()

    def write(self, key: str, content: bytes) -> None:
        """Write a file, which is moved to its place once complete."""
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
        """Return the path of a file."""
        return str(self._path(key))

    def sweep(self) -> None:
        """Delete the incomplete files of processes that no longer exist."""
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
    """Prefix of an object store; a single request writes an object."""

    location: str

    @property
    def _objects(self) -> ObjectStore:
        return object_store(self.location)

    def read(self, key: str) -> bytes:
        """Read an object."""
        with self._errors(key):
            return bytes(self._objects.get(key).bytes())

    def write(self, key: str, content: bytes) -> None:
        """Write an object with a single request."""
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
        """Return the URL of an object."""
        return f"{self.location}/{key}"

    def sweep(self) -> None:
        """Do nothing: an object appears only after its complete request."""

    @contextmanager
    def _errors(self, key: str) -> Iterator[None]:
        """Name the object in errors; obstore raises plain Exceptions, except for a missing object."""
        try:
            yield
        except FileNotFoundError:
            raise FileNotFoundError(ENOENT, "no such object", self.uri(key)) from None
        except Exception as error:  # noqa: BLE001
            raise StoreError(self.uri(key), reason(error)) from None
