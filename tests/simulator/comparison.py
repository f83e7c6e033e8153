"""Comparison of an analysis with the truth of its simulated capture."""

from __future__ import annotations

import itertools
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from reference_sim.true_waits import true_transactions

from .indistinguishable import is_alike, is_indistinguishable, is_unseen

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import polars as pl

    from reference_sim.true_waits import TrueTransaction
    from tcptrace_http import Analysis

__all__ = ["DETECTORS", "OTHERS", "Comparison", "Key", "Run", "Told", "Verdict", "compared", "told_of"]

#: Detectors of Heidemann's pathologies.
DETECTORS: Final = ("short-initial-segment", "odd-short-final-segment", "slow-start-restart", "small-send-buffer")
#: Further pathologies in the truth; they are reported, without a required level.
OTHERS: Final = (
    "nagle-delayed-ack",
    "nagle-hold",
    "delayed-ack-first-segment",
    "retransmission-timeout",
    "tail-loss",
    "receive-window-limit",
    "zero-window",
)
#: Minimum true loss that requires a finding, by detector, and the additional loss permitted. Below the
#: minimum, a finding is neither required nor wrong. The detectors report no loss under 2 ms. The loss of a
#: restart or a send buffer consists of whole RTTs, partly hidden by the path's pace.
MUST_NS: Final = 5_000_000
#: Detectors whose loss is spread over a response's RTTs, up to the finding's last frame.
SPREAD: Final = ("slow-start-restart", "small-send-buffer", "receive-window-limit")
#: Minimum loss in RTTs of that time, including queueing. The path's pace hides less, or a doubling window
#: costs the same. (Connections that share a slow link wait for it, whatever their buffers. With ten segments
#: of 512 bytes each, two connections add 58 ms to a path of 1 ms at 1.5 Mb/s.)
MUST_ROUND_TRIPS: Final = {"slow-start-restart": 0.5, "small-send-buffer": 3.0, "receive-window-limit": 3.0}

#: Client's address and port, index of the connection among them, and transaction number.
Key = tuple[str, int, int, int]


@dataclass(frozen=True, slots=True)
class Verdict:
    """Wrong or missing finding."""

    detector: str
    key: Key
    is_missed: bool
    lost_ns: int
    #: Cause that the other side gives to most of that time.
    instead: str


@dataclass(slots=True)
class Comparison:
    """Agreement and disagreement on one scenario; times are nanoseconds."""

    transactions: int = 0
    #: Differences by transaction.
    unequal: dict[Key, list[str]] = field(default_factory=dict)
    #: Time by true cause and by the analysis's cause.
    confusion: dict[tuple[str, str], int] = field(default_factory=lambda: defaultdict(int))
    #: Part of it that packets do not distinguish (:mod:`tests.simulator.indistinguishable`).
    indistinguishable_ns: int = 0
    #: Time of differing causes, by transaction.
    differs: dict[Key, int] = field(default_factory=lambda: defaultdict(int))
    #: By detector: right findings, wrong findings, and missed places.
    right: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    verdicts: list[Verdict] = field(default_factory=list)

    @property
    def total_ns(self) -> int:
        return sum(self.confusion.values())

    @property
    def agreeing_ns(self) -> int:
        return sum(length for (true, told), length in self.confusion.items() if true == told)

    def add(self, other: Comparison) -> None:
        """Add another scenario's figures, without single transactions."""
        self.transactions += other.transactions
        self.indistinguishable_ns += other.indistinguishable_ns
        self.unequal |= other.unequal
        self.verdicts += other.verdicts
        for pair, length in other.confusion.items():
            self.confusion[pair] += length
        for name, count in other.right.items():
            self.right[name] += count


#: Cause or detector, start, and end.
_Waits = list[tuple[str, int, int]]


@dataclass(frozen=True, slots=True)
class Told:
    """Transaction in the analysis: row, waits, and findings with a loss; times from simulated time 0."""

    rows: dict[Key, dict[str, Any]]
    waits: dict[Key, _Waits]
    findings: dict[Key, _Waits]


@dataclass(frozen=True, slots=True)
class Run:
    """Truth of a simulation, and the analysis of its capture ``at`` the client or the server."""

    tables: Mapping[str, pl.DataFrame]
    document: Mapping[str, Any]
    told: Told
    at: str

    def keys(self) -> dict[int, tuple[str, int, int]]:
        """Return client address, port and index of each connection visible here."""
        column, tap = ("client_node", 0) if self.at == "client" else ("server_node", 1)
        node = self.document["taps"][tap]["index"]
        found: dict[int, tuple[str, int, int]] = {}
        counted: dict[tuple[str, int, int], int] = defaultdict(int)
        for row in self.tables["connections"].sort("opened").iter_rows(named=True):
            if row[column] != node:
                continue
            address = ".".join(map(str, self.document["nodes"][row["client_node"]]["address"]))
            pair = (address, row["client_port"], row["server_port"])
            found[row["connection"]] = (address, row["client_port"], counted[pair])
            counted[pair] += 1
        return found


def told_of(analysis: Analysis, epoch_ns: int) -> Told:
    """Return the analysis by transaction, for a capture whose simulated time 0 is ``epoch_ns``."""
    import polars as pl

    flows: dict[int, tuple[str, int, int]] = {}
    counted: dict[tuple[str, int, int], int] = defaultdict(int)
    for row in analysis.flows.iter_rows(named=True):
        pair = (row["client"], row["client_port"], row["server_port"])
        flows[row["flow"]] = (row["client"], row["client_port"], counted[pair])
        counted[pair] += 1
    times = pl.selectors.datetime().cast(pl.Int64) - epoch_ns
    spans = pl.selectors.duration().cast(pl.Int64)
    # The analysis lists streams by their end, the truth by their request (RFC 9113, section 5.1.1).
    keys: dict[tuple[int, int], Key] = {
        (flow, index): (*flows[flow], index if stream is None else stream // 2)
        for flow, index, stream in analysis.transactions.select("flow", "index", "stream").iter_rows()
    }
    rows = {
        keys[row["flow"], row["index"]]: row
        for row in analysis.transactions.with_columns(times, spans).iter_rows(named=True)
    }
    waits: dict[Key, _Waits] = defaultdict(list)
    columns = ("flow", "transaction", "cause", "start", "end")
    for flow, index, *wait in analysis.waits.with_columns(times).select(columns).iter_rows():
        waits[keys[flow, index]].append((wait[0], wait[1], wait[2]))
    findings: dict[Key, _Waits] = defaultdict(list)
    lossy = analysis.findings.drop_nulls(["transaction", "start"]).filter(pl.col("lost") > pl.duration())
    frames = analysis.packets.select(last_frame="frame", last="time").with_columns(times)
    lossy = lossy.with_columns(times, spans).join(frames, on="last_frame", how="left", maintain_order="left")
    columns = ("flow", "transaction", "detector", "start", "lost", "last")
    for flow, index, name, start, lost, last in lossy.select(columns).iter_rows():
        end = max(start + lost, last) if name in SPREAD else start + lost
        findings[keys[flow, index]].append((name, start, end))
    return Told(rows, waits, findings)


def compared(run: Run) -> Comparison:
    """Compare the analysis of a run with its truth."""
    comparison = Comparison()
    told, keys = run.told, run.keys()
    facts = {(it["connection"], it["index"]): it for it in run.tables["transactions"].iter_rows(named=True)}
    complete = set()
    for true in true_transactions(run.tables, run.document, at=run.at):
        if true.connection not in keys:
            continue
        key = (*keys[true.connection], true.index)
        complete.add(key)
        comparison.transactions += 1
        if key not in told.rows:
            comparison.unequal[key] = ["is not in the analysis"]
            continue
        unequal = list(_unequal(true, facts[true.connection, true.index], told.rows[key], run.at))
        if unequal:
            comparison.unequal[key] = unequal
        _compare_waits(comparison, key, true, told.waits.get(key, []))
        _compare_findings(comparison, key, true, told)
    known = {(*keys[connection], index) for connection, index in facts if connection in keys}
    for key in told.rows.keys() - complete:
        if told.rows[key]["complete"]:
            what = "is complete in the analysis only" if key in known else "never was"
            comparison.unequal[key] = [what]
    return comparison


def _unequal(true: TrueTransaction, fact: Mapping[str, Any], row: Mapping[str, Any], at: str) -> Iterator[str]:
    expected: dict[str, Any] = {
        "method": fact["method"],
        "target": fact["target"],
        "status": fact["status"],
        "response_header_bytes": fact["response_head_bytes"],
        "response_body_bytes": fact["response_body_bytes"],
        "complete": True,
        "request_time": true.times.request_first,
        "request_last_time": true.times.request_last,
        "start_time": true.times.start,
        "last_ack_time": true.times.last_ack,
    }
    if at == "client":
        expected["response_first_time"] = true.times.first_byte
        expected["response_last_time"] = true.times.all_bytes
        # At the server, the last byte arrives a one-way delay later, which is inferred.
        expected["end_time"] = true.times.end
    for name, value in expected.items():
        if row[name] != value:
            yield f"{name}: {row[name]} instead of {value}"


def _compare_waits(comparison: Comparison, key: Key, true: TrueTransaction, told: _Waits) -> None:
    bounds = {bound for wait in true.waits for bound in (wait.start, wait.end)}
    bounds |= {bound for _, *both in told for bound in both}
    for start, end in itertools.pairwise(sorted(bounds)):
        wait = next((wait for wait in true.waits if wait.start <= start < wait.end), None)
        pair = (wait.cause if wait else "", _at(told, start))
        if pair == ("", ""):
            continue
        comparison.confusion[pair] += end - start
        if pair[0] == pair[1]:
            continue
        comparison.differs[key] += end - start
        if wait is not None and is_indistinguishable(wait, pair[1]):
            comparison.indistinguishable_ns += end - start


def _at(waits: _Waits, time: int) -> str:
    return next((cause for cause, start, end in waits if start <= time < end), "")


def _compare_findings(comparison: Comparison, key: Key, true: TrueTransaction, told: Told) -> None:
    """Match findings and stalls of a detector: an overlap makes a finding right and a stall found."""
    stalls = [(stall.name, *span) for stall in true.stalls for span in stall.spans]
    round_trips = {
        (stall.name, *span): round_trip
        for stall in true.stalls
        for span, round_trip in zip(stall.spans, stall.round_trips, strict=True)
    }
    findings = told.findings.get(key, [])
    waits = [(wait.cause, wait.start, wait.end) for wait in true.waits]
    for name in (*DETECTORS, *OTHERS):
        ours = [it for it in stalls if it[0] == name]
        theirs = [it for it in findings if it[0] == name]
        for found in theirs:
            if any(_overlap(found, stall) for stall in ours):
                comparison.right[name] += 1
            elif not is_alike(name, true):
                lost, instead = found[2] - found[1], _most_of(waits, [found])
                comparison.verdicts.append(Verdict(name, key, False, lost, instead))
        unseen = {span for stall in true.stalls if is_unseen(stall) for span in stall.unseen}
        shown = [stall for stall in ours if stall[1:] not in unseen]
        missed = [stall for stall in shown if not any(_overlap(found, stall) for found in theirs)]
        lost = sum(stall[2] - stall[1] for stall in missed)
        rounds = sum((stall[2] - stall[1]) / round_trips[stall] for stall in missed)
        if lost >= MUST_NS and rounds >= MUST_ROUND_TRIPS.get(name, 0.0):
            instead = _most_of(told.waits.get(key, []), missed)
            comparison.verdicts.append(Verdict(name, key, True, lost, instead))


def _overlap(one: tuple[str, int, int], other: tuple[str, int, int]) -> int:
    return max(0, min(one[2], other[2]) - max(one[1], other[1]))


def _most_of(waits: _Waits, spans: _Waits) -> str:
    """Return the most frequent cause of these spans."""
    length: dict[str, int] = defaultdict(int)
    for wait in waits:
        length[wait[0]] += sum(_overlap(wait, span) for span in spans)
    return max(length, key=lambda cause: length[cause], default="")
