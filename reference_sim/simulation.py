"""Runner of a scenario: its captures are traces for the analyser, its truth explains them.

>>> simulation = simulate(scenario, seed=7)
>>> simulation.capture(at="client").packets
>>> simulation.truth.transactions
>>> simulation.write_pcap("page.pcap", at="client")
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from reference_sim.truth import Truth, native, truth_of
from tcptrace_http.errors import ScenarioError
from tcptrace_http.schema import TABLES
from tcptrace_http.trace import Provenance, Trace, empty_frame, frame_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from os import PathLike

__all__ = ["Simulation", "Totals", "simulate"]

# Simulated time per step takes a few hundredths of a second: Python can show progress or be interrupted
# between two steps.
_STEP_EVENTS: Final = 100_000


class _Describes(Protocol):
    """Scenario that provides the engine's document."""

    def document(self) -> Mapping[str, Any]: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Totals:
    """Totals of all retrievals, independent of ``record``."""

    #: Complete browser visits, their bytes, and the sum of their durations in nanoseconds.
    retrievals: int
    retrieved_bytes: int
    retrieval_ns: int
    #: Complete files of transfers, and their bytes.
    files: int
    file_bytes: int


class Simulation:
    """Finished simulation."""

    def __init__(self, document: Mapping[str, Any], outcome: native.Outcome) -> None:
        self._document = document
        self._outcome = outcome

    @cached_property
    def truth(self) -> Truth:
        """Truth of the simulation."""
        return truth_of(self._outcome)

    @property
    def totals(self) -> Totals:
        """Totals of all retrievals, even if the scenario's ``record`` omits transactions."""
        return Totals(**self._outcome.totals())

    @property
    def events(self) -> int:
        """Number of events that the engine handled."""
        return self._outcome.events

    @property
    def end_ns(self) -> int:
        """Simulated nanoseconds from start to end."""
        return self._outcome.end_ns

    @cached_property
    def taps(self) -> tuple[str, ...]:
        """Names of the nodes and links with captures."""
        return tuple(_tap_name(self._document, tap) for tap in self._document["taps"])

    def capture(self, at: str = "client") -> Trace:
        """Return the trace of a capture at a node or link, without a file.

        ``client`` and ``server`` mean the node of the first client or server, unless a node or link has this name.

        :raises ScenarioError: the scenario has no tap there.
        """
        tap = self._tap(at)
        packets = frame_of(self._outcome.packets(tap), TABLES["packets"])
        times = self._outcome.times_ns(tap)
        frames = self._outcome.frames(tap)
        first, last = times if times is not None else (None, None)
        provenance = Provenance(
            path=at,
            format="pcap",
            packets=frames,
            tcp_packets=frames,
            first_time_ns=first,
            last_time_ns=last,
            truncated=False,
            link_types=("ETHERNET",) if frames else (),
            bytes_read=len(self._outcome.pcap(tap)),
        )
        return Trace(packets=packets, anomalies=empty_frame(TABLES["anomalies"]), provenance=provenance)

    def pcap(self, at: str = "client") -> bytes:
        """Return the capture at a node or link as bytes of a pcap file with nanoseconds.

        :raises ScenarioError: the scenario has no tap there.
        """
        return self._outcome.pcap(self._tap(at))

    def pcapng(self, at: str = "client") -> bytes:
        """Return the capture at a node or link as bytes of a pcapng file.

        :raises ScenarioError: the scenario has no tap there.
        """
        return self._outcome.pcapng(self._tap(at))

    def write_pcap(self, path: str | PathLike[str], *, at: str = "client") -> None:
        """Write the capture at a node or link as a pcap file.

        :raises ScenarioError: the scenario has no tap there.
        :raises OSError: the file cannot be written.
        """
        Path(path).write_bytes(self.pcap(at))

    def write_pcapng(self, path: str | PathLike[str], *, at: str = "client") -> None:
        """Write the capture at a node or link as a pcapng file.

        :raises ScenarioError: the scenario has no tap there.
        :raises OSError: the file cannot be written.
        """
        Path(path).write_bytes(self.pcapng(at))

    def _tap(self, at: str) -> int:
        for name in (at, _role(self._document, at)):
            if name in self.taps:
                return self.taps.index(name)
        known = ", ".join(map(repr, self.taps)) or "none"
        raise ScenarioError(f"no tap at {at!r} (there are: {known}); add one to the scenario", field="taps")


def simulate(
    scenario: _Describes | Mapping[str, Any],
    *,
    seed: int | None = None,
    progress: Callable[[int, int | None], None] | None = None,
) -> Simulation:
    """Run a scenario, or its document, to the end.

    ``seed`` replaces the scenario's seed. ``progress`` is called repeatedly with the elapsed simulated
    nanoseconds and the total (None if the scenario has no duration).

    :raises ScenarioError: the scenario is invalid; the message names the field.
    """
    document = dict(scenario if isinstance(scenario, Mapping) else scenario.document())
    if seed is not None:
        document["seed"] = seed
    try:
        text = json.dumps(document)
    except (TypeError, ValueError, RecursionError) as error:
        raise ScenarioError(f"not a JSON document: {error}") from None
    try:
        running = native.Simulation(text)
    except native.ScenarioFault as fault:
        field, what = fault.args
        raise ScenarioError(what, field=field) from None
    while running.step(_STEP_EVENTS):
        if progress is not None:
            progress(running.now_ns, document.get("duration_ns"))
    return Simulation(document, running.finish())


def _tap_name(document: Mapping[str, Any], tap: Mapping[str, Any]) -> str:
    table = {"node": "nodes", "link": "links"}[tap["kind"]]
    return str(document[table][tap["index"]]["name"])


def _role(document: Mapping[str, Any], at: str) -> str | None:
    """Return the node of the first client or server, for a tap named ``client`` or ``server``."""
    if at == "client":
        nodes = [client["node"] for client in (*document["browsers"], *document["transfers"])]
    elif at == "server":
        nodes = [server["node"] for server in document["servers"]]
        nodes += [transfer["server_node"] for transfer in document["transfers"]]
    else:
        nodes = []
    return next((str(document["nodes"][node]["name"]) for node in nodes), None)
