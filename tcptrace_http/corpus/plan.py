"""Plan of units: captures that one worker analyses, equal in every planning.

A plan is an object of the dataset, and its captures are never planned again. An interrupted ``add`` thus
continues with the units of its plan, and concurrent workers write the same plan.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from tcptrace_http._version import __version__
from tcptrace_http.corpus.digests import canonical, digest
from tcptrace_http.corpus.series import WINDOW_BYTES, series_of, windows_of
from tcptrace_http.corpus.sources import CaptureFile
from tcptrace_http.schema import SCHEMA_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tcptrace_http.corpus.series import Series

__all__ = ["FORMAT", "Plan", "Unit", "marker_key", "planned"]

#: Version of the dataset layout.
FORMAT: Final = 1
#: Size of a batch of small captures: a few seconds of work, which a killed worker repeats.
BATCH_BYTES: Final = 64 << 20
BATCH_CAPTURES: Final = 256
_NANOSECONDS: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Unit:
    """Captures that are analysed together: a window of a series, or a batch of separate small captures."""

    files: tuple[CaptureFile, ...]
    #: Series name, series key and window number, for a window of a series.
    series: str | None = None
    key: str | None = None
    window: int = 0
    #: Files of the adjacent windows, which are read too.
    before: tuple[CaptureFile, ...] = ()
    after: tuple[CaptureFile, ...] = ()
    #: Digest of the key log, if any.
    keylog: str | None = None

    @property
    def slot(self) -> str:
        """Return the subject of the unit: a later unit with the same subject replaces it."""
        if self.key is None:
            return digest(*(file.fingerprint.encode() for file in self.files))
        return digest(self.key.encode(), str(self.window).encode())

    @property
    def id(self) -> str:
        """Return the name of the unit: the digest of everything that determines its rows."""
        return digest(canonical(self.as_json()), canonical([FORMAT, SCHEMA_VERSION, __version__]))

    @property
    def day(self) -> str:
        """Return the day (UTC) of the start of its first capture."""
        first_ns = next((file.first_ns for file in self.files if file.first_ns is not None), 0)
        return datetime.fromtimestamp(first_ns // _NANOSECONDS, UTC).date().isoformat()

    @property
    def size(self) -> int:
        """Return the bytes of its files."""
        return sum(file.size for file in self.files)

    @property
    def name(self) -> str:
        """Return the name of the unit for readers."""
        first = self.files[0].path
        if self.series is not None:
            return f"{self.series} from {first}"
        return first if len(self.files) == 1 else f"{first} and {len(self.files) - 1} more"

    def as_json(self) -> dict[str, Any]:
        """Return the fields as stored in a plan."""
        of_files = {name: [file.as_json() for file in getattr(self, name)] for name in _OF_FILES}
        return of_files | {name: getattr(self, name) for name in ("series", "key", "window", "keylog")}


def marker_key(unit: str) -> str:
    """Return the key of a unit's marker."""
    return f"_units/{unit}.json"


_OF_FILES: Final = ("files", "before", "after")


@dataclass(frozen=True, slots=True)
class Plan:
    """Added units, and the slots of the units that they replace."""

    units: tuple[Unit, ...]
    dropped: tuple[str, ...] = ()

    def to_bytes(self) -> bytes:
        """Return the plan as stored bytes."""
        units = [unit.as_json() for unit in self.units]
        return canonical({"format": FORMAT, "units": units, "dropped": self.dropped})

    @classmethod
    def from_bytes(cls, content: bytes) -> Plan:
        """Return the plan of stored bytes."""
        read = json.loads(content.decode("utf-8", "surrogateescape"))
        units = [
            Unit(**(fields | {name: tuple(CaptureFile(**file) for file in fields[name]) for name in _OF_FILES}))
            for fields in read["units"]
        ]
        return cls(tuple(units), tuple(read["dropped"]))


def planned(
    files: Sequence[CaptureFile],
    known: Sequence[Unit],
    *,
    series: str,
    keylog: str | None,
    window_bytes: int = WINDOW_BYTES,
) -> Plan:
    """Return the plan for these files beside the known units.

    The plan covers new captures, continued series, and captures with another key log.
    """
    present = {file.fingerprint for file in files}
    known_files = {file.fingerprint: file for unit in known for file in unit.files}
    batch_of = {file.fingerprint: unit for unit in known if unit.key is None for file in unit.files}
    made: list[Unit] = []
    small: list[CaptureFile] = []
    for one in series_of((known_files | {file.fingerprint: file for file in files}).values(), series):
        if not any(file.fingerprint in present for file in one.files):
            continue
        if len(one.files) > 1 or one.files[0].size > window_bytes:
            made += _windows(one, windows_of(one, window_bytes), keylog)
        else:
            small += (file for file in one.files if file.fingerprint not in known_files)
    taken = {file.fingerprint for unit in made for file in unit.files}
    slots = {unit.slot for unit in made}
    # A capture that belongs to a series leaves its batch, and the rest of the batch is batched again.
    left = [unit for unit in known if unit.slot not in slots and taken & {one.fingerprint for one in unit.files}]
    small += (file for unit in left for file in unit.files if file.fingerprint not in taken)
    kept = {unit.slot: unit for name, unit in batch_of.items() if name in present and unit not in left}
    made += [Unit(unit.files, keylog=keylog) for unit in kept.values()]
    made += _batches(small, keylog)
    known_ids = {unit.id for unit in known}
    return Plan(tuple(unit for unit in made if unit.id not in known_ids), tuple(unit.slot for unit in left))


def _windows(series: Series, windows: Sequence[tuple[CaptureFile, ...]], keylog: str | None) -> Iterator[Unit]:
    name = series.name if len(series.files) > 1 else None
    for at, window in enumerate(windows):
        before = windows[at - 1] if at else ()
        after = windows[at + 1] if at + 1 < len(windows) else ()
        yield Unit(window, name, series.key, at, before, after, keylog)


def _batches(files: Iterable[CaptureFile], keylog: str | None) -> Iterator[Unit]:
    """Yield batches of small captures by their start day, in time order."""
    by_day: dict[str, list[CaptureFile]] = defaultdict(list)
    for file in files:
        by_day[Unit((file,)).day].append(file)
    for _, of_day in sorted(by_day.items()):
        batch: list[CaptureFile] = []
        size = 0
        for file in sorted(of_day, key=lambda file: (file.first_ns or 0, file.fingerprint)):
            if batch and (size + file.size > BATCH_BYTES or len(batch) == BATCH_CAPTURES):
                yield Unit(tuple(batch), keylog=keylog)
                batch, size = [], 0
            batch.append(file)
            size += file.size
        yield Unit(tuple(batch), keylog=keylog)
