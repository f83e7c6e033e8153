"""Contents of a dataset: its plans, the markers of its units, and the current units.

The objects of a unit are valid only if its marker lists them. The marker is written last, so no lock is
necessary, and leftovers of a killed worker are never read.
"""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tcptrace_http.corpus.digests import canonical, digest
from tcptrace_http.corpus.plan import FORMAT, Plan, marker_key
from tcptrace_http.corpus.store import open_store
from tcptrace_http.errors import DatasetError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tcptrace_http.corpus.plan import Unit
    from tcptrace_http.corpus.store import Store

__all__ = ["INDEX_KEY", "State", "create", "is_dataset", "read_state", "write_plan"]

_DATASET_KEY: Final = "_dataset.json"
INDEX_KEY: Final = "_index.json"
#: Statuses of units with rows.
_WITH_ROWS: Final = ("ok", "partial")
#: Number of concurrent marker reads: they wait for an object store.
_THREADS: Final = 16

Marker = dict[str, Any]


@dataclass(frozen=True, slots=True)
class State:
    """Current state of a dataset."""

    store: Store
    #: Units that the dataset should have, by slot.
    units: Mapping[str, Unit]
    #: Existing markers, by unit.
    markers: Mapping[str, Marker]
    #: Objects of sealed units.
    sealed: Sequence[Mapping[str, Any]]
    plans: int

    def status_of(self, unit: Unit) -> str:
        """Return the status of a unit.

        The marker has ``ok``, ``partial``, ``failed`` or ``poisonous``. ``stale`` is a marker of another
        version, ``missing`` the absence of a marker.
        """
        if unit.id in self.markers:
            return str(self.markers[unit.id]["status"])
        return "missing" if self._other(unit.slot) is None else "stale"

    def live(self) -> dict[str, Marker]:
        """Return the markers of the current units; a stale unit keeps the marker of its earlier version."""
        chosen = (self.markers.get(unit.id) or self._other(unit.slot) for unit in self.units.values())
        return {one["unit"]: one for one in chosen if one is not None and one["status"] in _WITH_ROWS}

    def _other(self, slot: str) -> Marker | None:
        others = [one for one in self.markers.values() if one["slot"] == slot and one["status"] in _WITH_ROWS]
        return max(others, key=lambda one: (one["version"], one["unit"]), default=None)


def is_dataset(location: str) -> bool:
    """Return whether a location has a dataset."""
    try:
        open_store(location).read(_DATASET_KEY)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def create(store: Store) -> None:
    """Make an empty dataset, unless one exists.

    :raises DatasetError: the dataset has another format, or the location holds other files.
    """
    content = canonical({"format": FORMAT})
    try:
        found = store.read(_DATASET_KEY)
    except FileNotFoundError:
        if next(store.list(), None) is not None:
            raise DatasetError(store.location, "has other files; name an empty or new folder") from None
        store.write(_DATASET_KEY, content)
    else:
        _check(store, found)


def _check(store: Store, content: bytes) -> None:
    found = json.loads(content).get("format")
    if found != FORMAT:
        raise DatasetError(store.location, f"has the format {found}, this version reads {FORMAT}; make it anew")


def read_state(location: str) -> State:
    """Read the state of a dataset.

    :raises DatasetError: the location has no dataset.
    """
    store = open_store(location)
    try:
        _check(store, store.read(_DATASET_KEY))
    except (FileNotFoundError, NotADirectoryError):
        raise DatasetError(location, "is no dataset; make one: tcptrace-http corpus add SOURCE --into") from None
    index = _index(store)
    units: dict[str, Unit] = {}
    keys = [one.key for one in store.list("_plans/")]
    for content in _read_all(store, keys):
        plan = Plan.from_bytes(content)
        for slot in plan.dropped:
            units.pop(slot, None)
        units.update((unit.slot, unit) for unit in plan.units)
    markers: dict[str, Marker] = {one["unit"]: one for one in index["markers"]}
    sealed = {marker_key(unit) for unit in markers}
    fresh = [one.key for one in store.list("_units/") if one.key not in sealed]
    markers |= {one["unit"]: one for one in map(json.loads, _read_all(store, fresh))}
    return State(store, units, markers, index["objects"], len(keys))


def _index(store: Store) -> dict[str, Any]:
    try:
        index: dict[str, Any] = json.loads(store.read(INDEX_KEY))
    except FileNotFoundError:
        return {"markers": [], "objects": []}
    return index


def _read_all(store: Store, keys: Sequence[str]) -> list[bytes]:
    with ThreadPoolExecutor(_THREADS) as pool:
        return list(pool.map(store.read, keys))


def write_plan(state: State, plan: Plan) -> None:
    """Append a plan to the existing ones. Concurrent workers with the same plan write the same object."""
    content = plan.to_bytes()
    state.store.write(f"_plans/{state.plans:06}-{digest(content)}.json", content)
