"""Store of measurements in a file: stored runs are not simulated again.

Each run is one line of JSON, appended by one call. If the program stops, all lines but the last are complete.
Unreadable lines are dropped, and their runs are measured again.
"""

from __future__ import annotations

import fcntl
import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tcptrace_http.errors import TcptraceError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from types import TracebackType
    from typing import Self

__all__ = ["Measured", "Store", "StoreInUse"]

_FILE: Final = "results.jsonl"


class StoreInUse(TcptraceError):
    """Another process writes to the same results."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Figures of a run, and their processor seconds."""

    figures: Mapping[str, float]
    seconds: float


class Store:
    """Results in a folder, read completely on opening; for one process at a time.

    :raises StoreInUse: another process has the folder open.
    :raises OSError: the folder cannot be created, or its file cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / _FILE
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._file)
            raise StoreInUse(
                f"{self._path} is being written by another process; wait for it, or use another -o"
            ) from None
        self._known: dict[str, Measured] = {}
        #: Unreadable lines: torn, or not results.
        self.dropped = 0
        self._read()

    def __contains__(self, identity: str) -> bool:
        return identity in self._known

    def __getitem__(self, identity: str) -> Measured:
        return self._known[identity]

    def __len__(self) -> int:
        return len(self._known)

    def add(self, identity: str, measured: Measured) -> None:
        """Store the figures of a run."""
        self._known[identity] = measured
        row = {"run": identity, "seconds": round(measured.seconds, 6), "figures": dict(measured.figures)}
        os.write(self._file, json.dumps(row, separators=(",", ":")).encode() + b"\n")

    def close(self) -> None:
        """Release the folder for other processes."""
        os.close(self._file)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _read(self) -> None:
        content = self._path.read_bytes()
        whole, end, torn = content.rpartition(b"\n")
        if torn:
            # The next entry must start on a new line.
            os.ftruncate(self._file, len(whole) + len(end))
            self.dropped += 1
        for line in whole.splitlines():
            try:
                row = json.loads(line)
                self._known[row["run"]] = Measured(row["figures"], row["seconds"])
            except (ValueError, KeyError, TypeError):
                self.dropped += 1
