"""What was measured, in a file: a second call simulates nothing that is there.

One line of JSON a run, written at its end by one call: whatever stops the program, all lines but the
last are whole. What cannot be read is dropped and measured again.
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
    """Another process is writing to the same results."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The figures of a run, and the processor seconds that they took."""

    figures: Mapping[str, float]
    seconds: float


class Store:
    """The results in a folder, read whole when it is opened; for one process at a time.

    :raises StoreInUse: another process has it open.
    :raises OSError: the folder cannot be made, or its file not be written.
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
        #: Lines that could not be read: torn, or no results.
        self.dropped = 0
        self._read()

    def __contains__(self, identity: str) -> bool:
        return identity in self._known

    def __getitem__(self, identity: str) -> Measured:
        return self._known[identity]

    def __len__(self) -> int:
        return len(self._known)

    def add(self, identity: str, measured: Measured) -> None:
        """Keep the figures of a run."""
        self._known[identity] = measured
        row = {"run": identity, "seconds": round(measured.seconds, 6), "figures": dict(measured.figures)}
        os.write(self._file, json.dumps(row, separators=(",", ":")).encode() + b"\n")

    def close(self) -> None:
        """Let others have it."""
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
            # The next line must begin a line.
            os.ftruncate(self._file, len(whole) + len(end))
            self.dropped += 1
        for line in whole.splitlines():
            try:
                row = json.loads(line)
                self._known[row["run"]] = Measured(row["figures"], row["seconds"])
            except (ValueError, KeyError, TypeError):
                self.dropped += 1
