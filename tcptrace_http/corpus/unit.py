"""Analysis of one unit: first its objects are written, then its marker, which adds them to the dataset."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tcptrace_http._version import __version__
from tcptrace_http.analysis import in_parts
from tcptrace_http.corpus.digests import canonical, digest
from tcptrace_http.corpus.group import Group
from tcptrace_http.corpus.objects import Objects, described
from tcptrace_http.corpus.plan import marker_key
from tcptrace_http.corpus.rows import FILES_TABLE, files_schema
from tcptrace_http.corpus.store import open_store
from tcptrace_http.errors import StoreError
from tcptrace_http.rotated import FileRead, rotated_batches
from tcptrace_http.schema import SCHEMA_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

    from tcptrace_http.corpus.plan import Unit
    from tcptrace_http.corpus.sources import CaptureFile
    from tcptrace_http.corpus.store import Store

__all__ = ["Task", "analyze_unit", "write_failure"]


@dataclass(frozen=True, slots=True)
class Task:
    """Unit with the other input of its worker."""

    location: str
    unit: Unit
    #: Path of the key log.
    keylog: str | None = None


def analyze_unit(task: Task) -> dict[str, Any]:
    """Analyse a unit and return its marker. After a failed analysis the marker gives the reason."""
    store = open_store(task.location)
    try:
        return _analyzed(task, store)
    except (OSError, StoreError):
        # The store or the disk failed, not the unit.
        raise
    except BaseException as error:
        # A panic of the core is no Exception.
        if isinstance(error, KeyboardInterrupt | SystemExit | MemoryError):
            raise
        return write_failure(store, task.unit, "failed", f"{type(error).__name__}: {error}")


def _analyzed(task: Task, store: Store) -> dict[str, Any]:
    unit = task.unit
    seen: list[dict[str, Any]] = []
    with Objects() as objects:
        for tables in _tables(task, seen):
            objects.add(tables)
        objects.add({FILES_TABLE: _files(unit, seen)})
        written = {}
        for name, content, rows in objects.written():
            key = f"{name}/day={unit.day}/{unit.id}.parquet"
            store.write(key, content)
            written[name] = described(key, content, rows)
    readable = [one for one in seen if one["status"] != "unreadable"]
    if not readable:
        return write_failure(store, unit, "failed", "; ".join(one["error"] for one in seen))
    times = [one[name] for one in readable for name in ("first_time", "last_time") if one[name] is not None]
    span = [min(times), max(times)] if times else None
    is_whole = all(one["status"] == "ok" for one in seen)
    marker = _marker(unit, "ok" if is_whole else "partial") | {"objects": written, "span_ns": span}
    marker["strange"] = {one["path"]: one["error"] or one["status"] for one in seen if one["status"] != "ok"}
    store.write(marker_key(unit.id), canonical(marker))
    return marker


def write_failure(store: Store, unit: Unit, status: str, error: str) -> dict[str, Any]:
    """Write a marker for a unit without rows, with the reason."""
    marker = _marker(unit, status) | {"objects": {}, "error": error}
    store.write(marker_key(unit.id), canonical(marker))
    return marker


def _marker(unit: Unit, status: str) -> dict[str, Any]:
    return {
        "unit": unit.id,
        "slot": unit.slot,
        "status": status,
        "name": unit.name,
        "day": unit.day,
        "inputs": [file.as_json() for file in unit.files],
        "version": __version__,
        "schema_version": SCHEMA_VERSION,
        "keylog": unit.keylog,
    }


def _tables(task: Task, seen: list[dict[str, Any]]) -> Iterator[dict[str, pl.DataFrame]]:
    """Yield the tables of all captures step by step, and add the facts of each file to ``seen``."""
    unit = task.unit
    group = Group(unit.id)
    for files in [unit.files] if unit.key is not None else [(file,) for file in unit.files]:
        label = unit.series or files[0].path
        # Each window of a series is distinct, with other flow ids.
        number = int(digest(*(file.fingerprint.encode() for file in files)), 16)
        read: list[FileRead] = []
        parts = rotated_batches(
            [file.path for file in files],
            read.append,
            label=label,
            before=[file.path for file in unit.before],
            after=[file.path for file in unit.after],
            keylog=task.keylog,
        )
        yield from group.tables_of(in_parts(parts), label, number)
        seen += (_seen(label, file, one) for file, one in zip(files, read, strict=True))
    yield from group.rest()


def _seen(label: str, file: CaptureFile, read: FileRead) -> dict[str, Any]:
    is_unreadable = read.error is not None and read.packets == 0
    return {
        "capture": label,
        "path": file.path,
        "size": file.size,
        "fingerprint": file.fingerprint,
        "first_frame": read.first_frame,
        "packets": read.packets,
        "first_time": file.first_ns,
        "last_time": read.last_time_ns,
        "status": "unreadable" if is_unreadable else "cut_short" if read.is_cut_short else "ok",
        "error": read.error,
    }


def _files(unit: Unit, seen: list[dict[str, Any]]) -> pl.DataFrame:
    import polars as pl

    schema = files_schema()
    integers = {name: pl.Int64() if isinstance(dtype, pl.Datetime) else dtype for name, dtype in schema.items()}
    rows = pl.DataFrame([one | {"unit": unit.id} for one in seen], schema=integers)
    return rows.cast({name: dtype for name, dtype in schema.items() if isinstance(dtype, pl.Datetime)})
