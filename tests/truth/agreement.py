"""Comparison of the waits at both ends of one run: ``python -m tests.truth.agreement FOLDER…``.

A folder has pairs ``NAME.pcap`` (client) and ``NAME.srv.pcap`` (server), with sidecars. Two transactions are
the same if client port and number on the flow agree. The comparison covers the total time of each cause per
transaction.

Required agreement
------------------
A packet that the client sends at t arrives at the server at t + d. A transaction begins and ends with a packet
of the client (SYN or request; last ACK). At the server, both ends are therefore later by the same d, and the
sums of all waits agree. Every cause must agree to 2 ms (the noise of the testbed's clock), with only these
allowances:

path
    ``network.propagation``, ``network.queueing`` and ``send_limited.bottleneck`` are compared as one sum. The
    client sees data arrive at the bottleneck's pace. The server sees data leave in bursts, and late ACKs. The
    same time thus counts as queueing at one end and as serialization at the other.
tail loss
    A dropped response segment without a later arrival leaves no hole at the client. The data arrives late, as
    if the server had none. In such a transaction, ``stall.tail_loss``, ``stall.retransmission_timeout``,
    ``server.think`` and ``server.data_unavailable`` are compared as one sum.
cut off
    An incomplete response ends with a packet of the server, which arrives later at the client: the path's share
    is not compared.
unobserved
    Time that one end calls ``unobserved`` may have any cause at the other.
lost on the way up
    The server never saw a SYN, request or ACK that the emulator dropped. Transactions without a first copy at
    the server are skipped and counted.
not at both ends
    A transaction missing in one capture is listed.

``--worst N`` lists the N largest disagreements with the frames at both ends. ``--bad`` lists only captures with
disagreements. The exit code is 1 if any exists.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from .kernel_truth import captures_of
from .partition import Part, Shares, of_all
from .rules import RULES
from .scene import Scene
from .table import kernel_folder

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .kernel_truth import Capture
    from .partition import Key

__all__ = ["Disagreement", "Pair", "main", "pairs_of"]

TOLERANCE_MS: Final = 2.0
_PATH: Final = "path"
_OF_PATH: Final = frozenset({"network.propagation", "network.queueing", "send_limited.bottleneck"})
_LATE: Final = "late data"
_OF_TAIL: Final = frozenset(
    {"stall.tail_loss", "stall.retransmission_timeout", "server.think", "server.data_unavailable"}
)
_UNOBSERVED: Final = "unobserved"


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Cause of one transaction with more time at one end."""

    name: str
    key: Key
    cause: str
    client_ms: float
    server_ms: float
    client_frames: str
    server_frames: str

    @property
    def ms(self) -> float:
        return abs(self.client_ms - self.server_ms)


@dataclass(slots=True)
class Pair:
    """Comparison of both ends of one run."""

    name: str
    transactions: int = 0
    passed_over: int = 0
    not_at_both: list[Key] = field(default_factory=list)
    disagreements: list[Disagreement] = field(default_factory=list)
    client_ms: dict[str, float] = field(default_factory=dict)
    server_ms: dict[str, float] = field(default_factory=dict)
    failure: str = ""


def pairs_of(folders: Iterable[Path]) -> list[Pair]:
    captures = [capture for folder in folders for capture in captures_of(folder)]
    captures = [c for c in captures if not c.at_server and c.sidecar.get("capture_server_side")]
    servers = [c.path.parent / c.sidecar["capture_server_side"] for c in captures]
    shares = of_all([*(c.path for c in captures), *servers])
    at_client, at_server = shares[: len(captures)], shares[len(captures) :]
    return [compared(*each) for each in zip(captures, at_client, at_server, strict=True)]


def compared(capture: Capture, client: Shares, server: Shares) -> Pair:
    pair = Pair(capture.name, failure=client.failure or server.failure)
    lost, tails, cut_off = _lost_upwards(capture), _tails(capture), _cut_off(capture)
    pair.client_ms, pair.server_ms = client.by_cause(), server.by_cause()
    for key in sorted(client.parts.keys() | server.parts.keys()):
        if key not in client.parts or key not in server.parts:
            pair.not_at_both.append(key)
            continue
        pair.transactions += 1
        found = list(
            _of_transaction(
                capture.name, key, client.parts[key], server.parts[key], is_tail=(key[0], key[2]) in tails
            )
        )
        if (key[0], key[2]) in cut_off:
            found = [d for d in found if d.cause != _PATH]
        if found and key[0] in lost:
            pair.passed_over += 1
        else:
            pair.disagreements += found
    return pair


def _lost_upwards(capture: Capture) -> set[int]:
    drops = (capture.sidecar.get("emulator") or {}).get("drops") or []
    return {drop["sport"] for drop in drops if drop["dir"] == "up"}


def _tails(capture: Capture) -> set[tuple[int, int]]:
    """Return transactions with a dropped response segment after which no other arrived."""
    if not (capture.sidecar.get("emulator") or {}).get("drops"):
        return set()
    truth = RULES["tail-loss"].judge(Scene(capture))
    places = [place for places in truth.must for place in places]
    return {(p.client_port, p.transaction) for p in places if p.client_port and p.transaction is not None}


def _cut_off(capture: Capture) -> set[tuple[int, int]]:
    """Return transactions with an incomplete response."""
    if not capture.path.is_file():
        return set()
    exchanges = Scene(capture).exchanges
    return {(e.client_port, e.index) for e in exchanges if e.response is None or not e.response.is_complete}


def _of_transaction(
    name: str, key: Key, client: list[Part], server: list[Part], *, is_tail: bool
) -> Iterable[Disagreement]:
    here, there = _sums(client, is_tail=is_tail), _sums(server, is_tail=is_tail)
    blind = here.pop(_UNOBSERVED, 0.0) + there.pop(_UNOBSERVED, 0.0)
    for cause in sorted(here.keys() | there.keys()):
        at_client, at_server = here.get(cause, 0.0), there.get(cause, 0.0)
        if abs(at_client - at_server) > TOLERANCE_MS + blind:
            frames = [_frames(parts, cause, is_tail=is_tail) for parts in (client, server)]
            yield Disagreement(name, key, cause, at_client, at_server, *frames)


def _sums(parts: list[Part], *, is_tail: bool) -> dict[str, float]:
    total: dict[str, float] = defaultdict(float)
    for part in parts:
        total[_compared_as(part.cause, is_tail=is_tail)] += part.ms
    return total


def _compared_as(cause: str, *, is_tail: bool) -> str:
    if is_tail and cause in _OF_TAIL:
        return _LATE
    return _PATH if cause in _OF_PATH else cause


def _frames(parts: list[Part], cause: str, *, is_tail: bool) -> str:
    """Return the frames of the longest wait of a cause."""
    own = [part for part in parts if _compared_as(part.cause, is_tail=is_tail) == cause]
    longest = max(own, key=lambda part: part.ms, default=None)
    return f"{longest.first_frame}-{longest.last_frame}" if longest else "none"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.truth.agreement", description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--worst", type=int, default=20, metavar="N")
    parser.add_argument("--bad", action="store_true", help="only captures that disagree somewhere")
    options = parser.parse_args(arguments)
    pairs = pairs_of(kernel_folder(folder) for folder in options.folders)
    if not pairs:
        print("no pair of captures", file=sys.stderr)
        return 2
    print("\n".join(_table([pair for pair in pairs if pair.disagreements or pair.failure or not options.bad])))
    print("\n".join(["", *_causes(pairs)]))
    every = sorted((d for pair in pairs for d in pair.disagreements), key=lambda d: -d.ms)
    print("\n".join(["", *_worst(every[: options.worst])]))
    bad = sum(bool(pair.disagreements or pair.failure or pair.not_at_both) for pair in pairs)
    counted = {(d.name, d.key) for d in every}
    print(
        f"\npairs: {len(pairs)}, that disagree: {bad}; transactions: {sum(p.transactions for p in pairs)},"
        f" that disagree: {len(counted)}, passed over: {sum(p.passed_over for p in pairs)},"
        f" not at both ends: {sum(len(p.not_at_both) for p in pairs)}"
    )
    return 1 if bad else 0


def _table(pairs: Iterable[Pair]) -> Iterable[str]:
    yield "| capture | transactions | disagree | passed over | worst, ms | by cause (client - server, ms) |"
    yield "|---|---|---|---|---|---|"
    for pair in pairs:
        by_cause: dict[str, float] = defaultdict(float)
        for d in pair.disagreements:
            by_cause[d.cause] += d.client_ms - d.server_ms
        words = pair.failure or "; ".join(f"{cause} {ms:+.1f}" for cause, ms in by_cause.items())
        words += f" not at both ends: {len(pair.not_at_both)}" if pair.not_at_both else ""
        worst = max((d.ms for d in pair.disagreements), default=0.0)
        wrong = len({d.key for d in pair.disagreements})
        yield f"| {pair.name} | {pair.transactions} | {wrong} | {pair.passed_over} | {worst:.1f} | {words} |"


def _causes(pairs: Iterable[Pair]) -> Iterable[str]:
    yield "| cause | ms at the client | ms at the server | disagreements |"
    yield "|---|---|---|---|"
    client: dict[str, float] = defaultdict(float)
    server: dict[str, float] = defaultdict(float)
    count: dict[str, int] = defaultdict(int)
    for pair in pairs:
        for total, own in ((client, pair.client_ms), (server, pair.server_ms)):
            for cause, ms in own.items():
                total[cause] += ms
        for d in pair.disagreements:
            count[d.cause] += 1
    for cause in sorted(client.keys() | server.keys() | count.keys()):
        yield f"| {cause} | {client[cause]:.1f} | {server[cause]:.1f} | {count[cause]} |"


def _worst(disagreements: Iterable[Disagreement]) -> Iterable[str]:
    yield "| capture | port | transaction | cause | client ms | server ms | client frames | server frames |"
    yield "|---|---|---|---|---|---|---|---|"
    for d in disagreements:
        yield (
            f"| {d.name} | {d.key[0]} | {d.key[2]} | {d.cause} | {d.client_ms:.1f} | {d.server_ms:.1f}"
            f" | {d.client_frames} | {d.server_frames} |"
        )


if __name__ == "__main__":
    sys.exit(main())
