"""Waits of a capture by transaction, from the product."""

from __future__ import annotations

import multiprocessing
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["Part", "Shares", "of_all", "parts_of"]

#: Key of a transaction: client port, flow (for reused ports) and number on the flow.
Key = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Part:
    """One wait."""

    cause: str
    ms: float
    first_frame: int
    last_frame: int


@dataclass(slots=True)
class Shares:
    """Waits of a capture; ``failure`` is the reason of their absence."""

    path: Path
    parts: dict[Key, list[Part]] = field(default_factory=dict)
    failure: str = ""

    def by_cause(self) -> dict[str, float]:
        total: dict[str, float] = defaultdict(float)
        for parts in self.parts.values():
            for part in parts:
                total[part.cause] += part.ms
        return dict(total)


def parts_of(path: Path) -> Shares:
    import tcptrace_http

    try:
        analysis = tcptrace_http.analyze(path)
        ports = dict(analysis.flows.select("flow", "client_port").iter_rows())
        found: dict[Key, list[Part]] = defaultdict(list)
        # Flows are counted per port, so that a connection has the same key at both ends.
        nth = {flow: list(ports.values())[:at].count(port) for at, (flow, port) in enumerate(ports.items())}
        for row in analysis.waits.iter_rows(named=True):
            ms = (row["end"] - row["start"]).total_seconds() * 1000
            key = (ports[row["flow"]], nth[row["flow"]], row["transaction"])
            found[key].append(Part(row["cause"], ms, row["first_frame"], row["last_frame"]))
    except Exception as error:  # noqa: BLE001 -- one bad capture must not hide the others
        return Shares(path, failure=f"{type(error).__name__}: {error}")
    return Shares(path, dict(found))


def of_all(paths: Iterable[Path]) -> list[Shares]:
    # Spawn: a forked process would deadlock on polars' threads.
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        return list(pool.map(parts_of, paths, chunksize=4))
