"""Sealing of a dataset: merge of each day's objects into large ones; readers then need no list."""

from __future__ import annotations

import os
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

from tcptrace_http.corpus.dataset import INDEX_KEY, read_state
from tcptrace_http.corpus.digests import canonical, digest
from tcptrace_http.corpus.objects import described, parquet
from tcptrace_http.corpus.reading import Corpus

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tcptrace_http.corpus.dataset import Marker

__all__ = ["seal"]

#: Target size of merged objects: readers read larger ones in parts, and a worker holds one in memory.
_OBJECT_BYTES: Final = 64 << 20


def seal(location: str | os.PathLike[str]) -> int:
    """Merge the objects of a dataset, delete obsolete ones, and return the number of objects.

    Later additions stay separate until the next sealing. Readers must not read meanwhile.

    :raises DatasetError: the location has no dataset.
    """
    state = read_state(os.fspath(location))
    live = state.live()
    objects: list[dict[str, Any]] = []
    for table in sorted({name for one in live.values() for name in one["objects"]}):
        for day, units in _groups(live, table):
            part = Corpus(state, {unit: live[unit] for unit in units})
            content = parquet(part.table(table).drop("day"))
            rows = sum(live[unit]["objects"][table]["rows"] for unit in units)
            key = f"{table}/day={day}/sealed-{digest(content)}.parquet"
            state.store.write(key, content)
            objects.append(described(key, content, rows) | {"table": table, "units": units})
    done = [marker for _, marker in sorted(state.markers.items()) if marker["unit"] in live]
    failed = {unit.id for unit in state.units.values()} - live.keys()
    state.store.write(INDEX_KEY, canonical({"markers": done, "objects": objects}))
    kept = {one["key"] for one in objects}
    for one in list(state.store.list()):
        is_marker = one.key.startswith("_units/")
        name = one.key.rpartition("/")[2].removesuffix(".json")
        if is_marker and name not in live and name not in failed:
            state.store.delete(one.key)
        if one.key.endswith(".parquet") and one.key not in kept:
            state.store.delete(one.key)
    return len(objects)


def _groups(live: dict[str, Marker], table: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the units of each day whose objects of a table are merged."""
    by_day: dict[str, list[str]] = defaultdict(list)
    for unit, marker in live.items():
        if table in marker["objects"]:
            by_day[marker["day"]].append(unit)
    for day, units in sorted(by_day.items()):
        group: list[str] = []
        size = 0
        for unit in sorted(units, key=lambda unit: (live[unit]["span_ns"] or [0], unit)):
            group.append(unit)
            size += live[unit]["objects"][table]["bytes"]
            if size >= _OBJECT_BYTES:
                yield day, group
                group, size = [], 0
        if group:
            yield day, group
