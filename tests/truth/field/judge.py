"""Judgement by the field captures: ``python -m tests.truth.field.judge DIR [--set HALF] [--details]``.

The table gives per kind: the number of captures, the numbers of named and missed items, the false Nagle
findings with a confidence over .5, and the other false findings over .5. A Nagle finding is false if no
kernel held data; other findings are false if the sidecar rules them out. ``--details`` lists every fault. It
refuses the half that is set aside: authors of rules may see only its sums.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from .sidecar import NAGLE

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Claim", "Verdict", "judge", "judge_folder", "main", "sidecars_of"]

_SURE: Final = 0.5
_HOLD_MIN_NS: Final = 1_000_000
_UNSEEN_NS: Final = 2_500_000
#: Differences of times between capture and kernel, due to the poll, the clock and the path.
_SLACK_NS: Final = 5_000_000
#: Key of findings on the whole capture.
_NO_PORTS: Final = (None, None)
_SETS: Final = {"tuning": False, "aside": True}


@dataclass(frozen=True, slots=True)
class Claim:
    """Finding of the analyser, with the ports of its flow."""

    detector: str
    confidence: float
    client_port: int | None
    server_port: int | None
    start_ns: int | None
    lost_ns: int
    severity: str
    summary: str

    @property
    def claims_a_loss(self) -> bool:
        return self.lost_ns > 0 or self.severity != "info"

    def is_at(self, place: dict[str, Any], slack_ns: int) -> bool:
        """Return whether the claim may refer to a place; an absent field matches every value."""
        for name in ("client_port", "server_port"):
            own = getattr(self, name)
            if None not in (own, place[name]) and own != place[name]:
                return False
        if place.get("start_ns") is None or self.start_ns is None:
            return True
        end_ns = self.start_ns + self.lost_ns
        return bool(self.start_ns - slack_ns <= place["end_ns"] and end_ns + slack_ns >= place["start_ns"])


@dataclass(slots=True)
class Verdict:
    """Right, missed and wrong findings of one capture."""

    kind: str
    named: int = 0
    missed: list[dict[str, Any]] = field(default_factory=list)
    false_nagle: list[Claim] = field(default_factory=list)
    other_wrong: list[Claim] = field(default_factory=list)
    #: Claims that the truth decides, and whether they are right.
    decided: list[tuple[Claim, bool]] = field(default_factory=list)
    #: Reason of a failed analysis.
    failure: str = ""


def judge(sidecar: dict[str, Any], claims: Iterable[Claim]) -> Verdict:
    verdict = Verdict(sidecar["kind"])
    claims = [claim for claim in claims if claim.claims_a_loss]
    slack_ns = _SLACK_NS + int(sidecar["rtt_ms"] * 1e6)
    named = set()
    for place in sidecar["must"]:
        right = [c for c in claims if c.detector in place["any_of"] and c.is_at(place, slack_ns)]
        named.update(right)
        verdict.named += bool(right)
        verdict.missed += [] if right else [place]
    holds = [hold for hold in sidecar["holds"] if hold["end_ns"] - hold["start_ns"] >= _HOLD_MIN_NS]
    for claim in claims:
        if claim.detector in NAGLE:
            by = {hold["by"] for hold in holds if claim.is_at(hold, slack_ns)}
            is_right, wrong = "Nagle" in by, verdict.false_nagle
            if not is_right and (by or claim.lost_ns < _unseen_ns(sidecar, claim)):
                # A similar cork, or a hold too short for the poll.
                continue
        elif claim in named or claim.detector in sidecar["never"]:
            is_right, wrong = claim in named, verdict.other_wrong
        else:
            continue
        verdict.decided.append((claim, is_right))
        if not is_right and claim.confidence > _SURE:
            wrong.append(claim)
    return verdict


def _unseen_ns(sidecar: dict[str, Any], claim: Claim) -> int:
    """Return the longest possible unobserved hold of the socket at the time of the claim."""
    if claim.start_ns is None:
        return _UNSEEN_NS
    first, last = claim.start_ns - _SLACK_NS, claim.start_ns + claim.lost_ns + _SLACK_NS
    gaps = (end - start for start, end in sidecar["gaps"] if start <= last and end >= first)
    return max(gaps, default=0) + _UNSEEN_NS


def claims_of(path: Path) -> list[Claim]:
    import polars as pl

    import tcptrace_http

    analysis = tcptrace_http.analyze(path)
    flows = analysis.flows.select("flow", "client_port", "server_port")
    ports = {flow: (client, server) for flow, client, server in flows.iter_rows()}
    findings = analysis.findings.with_columns(
        pl.col("start").cast(pl.Datetime("ns")).cast(pl.Int64).alias("start_ns"),
        pl.col("lost").cast(pl.Duration("ns")).cast(pl.Int64).alias("lost_ns"),
    )
    return [
        Claim(
            row["detector"],
            row["confidence"],
            *ports.get(row["flow"], _NO_PORTS),
            row["start_ns"],
            row["lost_ns"],
            row["severity"],
            row["summary"],
        )
        for row in findings.iter_rows(named=True)
    ]


def sidecars_of(folder: Path, chosen: str | None = None) -> list[Path]:
    """Return the sidecars of a folder, or of one half of it."""
    paths = sorted(folder.glob("*.json"))
    if chosen is None:
        return paths
    return [path for path in paths if json.loads(path.read_text())["set_aside"] == _SETS[chosen]]


def judge_folder(paths: list[Path]) -> list[Verdict]:
    # Spawn: a forked process would deadlock on polars' threads.
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        return list(pool.map(_judge_file, paths, chunksize=4))


def _judge_file(path: Path) -> Verdict:
    sidecar = json.loads(path.read_text())
    try:
        return judge(sidecar, claims_of(path.parent / sidecar["capture"]))
    except Exception as error:  # noqa: BLE001 -- one bad capture must not hide the others
        return Verdict(sidecar["kind"], missed=sidecar["must"], failure=repr(error))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.truth.field.judge", description=__doc__)
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--set", choices=sorted(_SETS), help="one half (default: both, in sum)")
    parser.add_argument("--details", action="store_true", help="every fault of the tuning half")
    options = parser.parse_args(arguments)
    if options.details and options.set == "aside":
        parser.error("--details is not for captures that are set aside")
    paths = sidecars_of(options.folder, "tuning" if options.details else options.set)
    if not paths:
        print("no capture with a sidecar", file=sys.stderr)
        return 2
    verdicts = judge_folder(paths)
    if options.details:
        print("\n".join(_details(paths, verdicts)))
    print("\n".join(_table(verdicts)))
    return 0


def _table(verdicts: list[Verdict]) -> Iterable[str]:
    yield "| kind | captures | must be named | named | missed | false Nagle | captures with any | other wrong |"
    yield "|---|---|---|---|---|---|---|---|"
    for kind in [*dict.fromkeys(verdict.kind for verdict in verdicts), "all"]:
        own = [verdict for verdict in verdicts if kind in {verdict.kind, "all"}]
        named, missed = sum(v.named for v in own), sum(len(v.missed) for v in own)
        false = [len(v.false_nagle) for v in own]
        other = sum(len(v.other_wrong) for v in own)
        cells = (kind, len(own), named + missed, named, missed, sum(false), sum(map(bool, false)), other)
        yield f"| {' | '.join(map(str, cells))} |"
    yield from _by_name(verdicts)
    failures = Counter(verdict.failure for verdict in verdicts if verdict.failure)
    yield from (f"{count} captures could not be analysed: {why}" for why, count in failures.items())


def _by_name(verdicts: list[Verdict]) -> Iterable[str]:
    wrong = Counter(claim.detector for v in verdicts for claim in (*v.false_nagle, *v.other_wrong))
    missed = Counter(" or ".join(place["any_of"]) for v in verdicts for place in v.missed)
    yield f"\nwrong: {', '.join(f'{name} {count}' for name, count in wrong.most_common()) or 'none'}"
    yield f"missed: {'; '.join(f'{name}: {count}' for name, count in missed.most_common()) or 'none'}"


def _details(paths: list[Path], verdicts: list[Verdict]) -> Iterable[str]:
    for path, verdict in zip(paths, verdicts, strict=True):
        for place in verdict.missed:
            times = f" at {place['start_ns']}-{place['end_ns']}" if place.get("start_ns") else ""
            names = " or ".join(place["any_of"])
            yield f"{path.stem}: MISSED {names} on port {place['client_port']}{times}"
        for word, claims in (("FALSE NAGLE", verdict.false_nagle), ("WRONG", verdict.other_wrong)):
            for claim in claims:
                cost = f"{claim.lost_ns / 1e6:.1f} ms"
                where = f"port {claim.client_port}, {cost}, confidence {claim.confidence:.2f}"
                yield f"{path.stem}: {word} {claim.detector} on {where}: {claim.summary}"


if __name__ == "__main__":
    sys.exit(main())
