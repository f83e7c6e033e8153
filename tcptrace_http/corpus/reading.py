"""Tables of a dataset as lazy frames: a query reads only the objects, columns and row groups that it needs."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final

from tcptrace_http.corpus.dataset import read_state
from tcptrace_http.corpus.rows import CORPUS_TABLES, FILES_TABLE, schema_of
from tcptrace_http.errors import UnknownName

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import polars as pl

    from tcptrace_http.corpus.dataset import Marker, State

__all__ = ["Corpus", "corpus"]

_NANOSECONDS: Final = 1_000_000_000
_TABLES: Final = (*CORPUS_TABLES, FILES_TABLE)


def corpus(location: str | os.PathLike[str]) -> Corpus:
    """Open a dataset made by ``corpus add`` or :func:`add_captures`, in a folder or at a URL.

    Its tables are attributes: ``corpus("week").transactions`` is a polars ``LazyFrame``. The columns are
    ``unit`` and ``capture``, then those of ``schema.TABLES``. Tables with ``flow`` also have ``flow_id``:
    ``flow_id`` and the transaction number join the tables. ``day`` is the start day (UTC) of a unit's
    captures. ``captures`` has one row per file. A new call shows later additions.

    >>> import tempfile, tcptrace_http
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(1) as pool:
    ...     sources = ["sample_traces/lan_hdrsep_small.pcap"]
    ...     added = tcptrace_http.add_captures(sources, into=f"{folder}/week", executor=pool)
    ...     tcptrace_http.corpus(f"{folder}/week").flows.select("server").collect().item()
    '10.9.0.2'

    :raises DatasetError: the location has no dataset.
    """
    state = read_state(os.fspath(location))
    return Corpus(state, state.live())


class Corpus:
    """Dataset, or its units within a time range; see :func:`corpus`."""

    def __init__(self, state: State, live: Mapping[str, Marker]) -> None:
        self._state = state
        self._live = live

    @property
    def location(self) -> str:
        """Return the location."""
        return self._state.store.location

    @property
    def units(self) -> Mapping[str, Mapping[str, Any]]:
        """Return the markers of the units."""
        return self._live

    def between(self, start: datetime, end: datetime) -> Corpus:
        """Keep the units with packets between two times; filter the rows themselves as well."""
        first, last = (round(time.astimezone(UTC).timestamp() * _NANOSECONDS) for time in (start, end))
        kept = {
            name: one
            for name, one in self._live.items()
            if one["span_ns"] is not None and one["span_ns"][0] < last and first <= one["span_ns"][1]
        }
        return Corpus(self._state, kept)

    def by_unit(self) -> Iterator[Corpus]:
        """Yield the dataset unit by unit, in time order."""
        for name, one in self._in_order():
            yield Corpus(self._state, {name: one})

    def _in_order(self) -> list[tuple[str, Marker]]:
        return sorted(self._live.items(), key=lambda one: (one[1]["span_ns"] or [0], one[0]))

    def table(self, name: str) -> pl.LazyFrame:
        """Return the table with a name.

        :raises UnknownName: no table has this name.
        """
        import polars as pl

        uris = self.uris(name)
        schema = schema_of(name) | {"day": pl.Date()}
        if not uris:
            return pl.LazyFrame(schema=schema)
        scanned = pl.scan_parquet(
            uris,
            schema=schema,
            hive_partitioning=True,
            hive_schema={"day": pl.Date()},
            missing_columns="insert",
            extra_columns="ignore",
        )
        # A sealed object may have rows of replaced or unselected units.
        if {unit for one in self._sealed(name) for unit in one["units"]} - self._live.keys():
            scanned = scanned.filter(pl.col("unit").is_in(sorted(self._live)))
        return scanned

    def _sealed(self, name: str) -> list[Mapping[str, Any]]:
        return [
            one for one in self._state.sealed if one["table"] == name and self._live.keys() & set(one["units"])
        ]

    def uris(self, name: str) -> list[str]:
        """Return the paths or URLs of a table's objects for Parquet readers; see :meth:`table`.

        An object of a sealed dataset may have rows of replaced units, whose ``unit`` is not in :attr:`units`.

        :raises UnknownName: no table has this name.
        """
        if name not in _TABLES:
            near = get_close_matches(name, _TABLES, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(_TABLES)}"
            raise UnknownName(f"no table of a dataset is called {name!r}; {hint}")
        in_sealed = {unit for one in self._state.sealed for unit in one["units"]}
        keys = [one["key"] for one in self._sealed(name)]
        for unit, marker in self._in_order():
            if unit not in in_sealed and name in marker["objects"]:
                keys.append(marker["objects"][name]["key"])
        return [self._state.store.uri(key) for key in keys]

    def __getattr__(self, name: str) -> pl.LazyFrame:
        if name.startswith("_"):
            raise AttributeError(name)
        return self.table(name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *_TABLES})

    def __repr__(self) -> str:
        files = sum(len(one["inputs"]) for one in self._live.values())
        return f"<corpus {self.location}: {len(self._live)} units of {files} captures>"
