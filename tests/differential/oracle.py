"""Counts of tshark in the public captures against our counts, with explained differences.

``python -m tests.differential.oracle CAPTURES`` lists the differences that ``disagreements.toml`` does not
explain, and the totals of the explained differences.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
import tomllib
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import tcptrace_http

__all__ = ["FIELDS", "Difference", "Verdict", "disagreements", "examine_all"]

# The last count is the number of streams with tshark's end points, packets and payload.
FIELDS: Final = ("packets", "tcp_packets", "streams", "requests", "responses", "streams_alike")
_EXPLAINED: Final = Path(__file__).with_name("disagreements.toml")
# In the oracle's counts, per pass of tshark: see the docstring of its generator.
_HTTP_PASSES: Final = ("http_any_port", "http_no_body")
# Documented: unreadable input.
_EXIT_UNREADABLE: Final = 2


@dataclass(frozen=True, slots=True)
class Difference:
    """Count of one file that differs from the oracle's (from each pass, if tshark's passes differ)."""

    path: str
    field: str
    found: int
    expected: tuple[int, ...]


@dataclass(slots=True)
class Verdict:
    """Result of one file; ``failure`` is an outcome that no input may cause."""

    path: str
    failure: str = ""
    differences: list[Difference] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Reason for a difference, and our counts in the files that it explains."""

    reason: str
    explanation: str
    cases: dict[tuple[str, str], int]


def disagreements() -> list[Disagreement]:
    """Return the reasons in ``disagreements.toml``."""
    document = tomllib.loads(_EXPLAINED.read_text(encoding="utf-8"))
    return [
        Disagreement(
            entry["reason"],
            entry["explanation"],
            {(path, name): found for path, counts in entry["cases"].items() for name, found in counts.items()},
        )
        for entry in document.get("disagreement", [])
    ]


def examine_all(public: Path) -> list[Verdict]:
    """Examine every capture of the index, on all cores."""
    index = json.loads((public / "index.json").read_text())
    paths = [entry["path"] for entry in index]
    # Spawn: a forked process would deadlock on polars' threads.
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        return list(pool.map(_examine, [public] * len(paths), paths, chunksize=4))


def _examine(public: Path, path: str) -> Verdict:
    verdict = Verdict(path)
    oracle = json.loads((public / "oracle" / f"{path}.json").read_text())
    found = _counts(public / path, oracle, verdict)
    if verdict.failure:
        return verdict
    expected = _expected(oracle)
    for name in FIELDS:
        if found[name] not in expected[name]:
            verdict.differences.append(Difference(path, name, found[name], expected[name]))
    return verdict


def _counts(path: Path, oracle: dict[str, Any], verdict: Verdict) -> dict[str, int]:
    """Return our counts; zeros for a file that the analyser rejects."""
    import polars as pl

    import tcptrace_http

    try:
        analysis = tcptrace_http.analyze(path, tables=["segments"])
        transactions = analysis.transactions.filter(pl.col("stream").is_null())
        # The detectors also run: no capture may make them fail.
        analysis.findings.height  # noqa: B018
    except tcptrace_http.CaptureError:
        return dict.fromkeys(FIELDS, 0)
    except BaseException as error:  # noqa: BLE001 -- a panic of the core is no Exception
        verdict.failure = f"{type(error).__name__}: {error}"
        return {}
    responses = transactions.filter(pl.col("status").is_not_null()).height
    return {
        "packets": analysis.capture.packets,
        "tcp_packets": analysis.capture.tcp_packets,
        "streams": analysis.flows.height,
        "requests": transactions.filter(pl.col("method").is_not_null()).height,
        "responses": responses + int(transactions["interim_responses"].sum()),
        "streams_alike": sum(
            ours == theirs for ours, theirs in zip(_streams(analysis), _tshark_streams(oracle), strict=False)
        ),
    }


_Stream = tuple[frozenset[str], int, int]


def _streams(analysis: tcptrace_http.Analysis) -> list[_Stream]:
    """Return end points, packets and payload (retransmitted bytes count twice) of each flow."""
    import polars as pl

    payload = analysis.segments.group_by("flow").agg(pl.col("payload_bytes").sum())
    rows = analysis.flows.join(payload, on="flow", how="left").sort("flow").iter_rows(named=True)
    return [
        (
            frozenset((f"{row['client']}|{row['client_port']}", f"{row['server']}|{row['server_port']}")),
            row["packets"],
            row["payload_bytes"] or 0,
        )
        for row in rows
    ]


def _tshark_streams(oracle: dict[str, Any]) -> list[_Stream]:
    return [
        (frozenset((stream["a"], stream["b"])), sum(stream["packets"]), sum(stream["payload"]))
        for stream in oracle["streams"]
        if not stream["icmp_only"]
    ]


def _expected(oracle: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    """Return tshark's counts; for HTTP messages, the counts of each pass."""
    passes = [oracle, *(oracle[name] for name in _HTTP_PASSES if oracle.get(name))]
    return {
        "packets": (oracle["packets"],),
        "tcp_packets": (oracle["tcp_packets_no_icmp"],),
        "streams": (oracle["tcp_streams_no_icmp"],),
        "requests": tuple(dict.fromkeys(counts["http_request_msgs"] for counts in passes)),
        "responses": tuple(dict.fromkeys(counts["http_response_msgs"] for counts in passes)),
        "streams_alike": (len(_tshark_streams(oracle)),),
    }


def run_program(path: Path) -> str:
    """Run ``analyze`` as a user does; return the fault of its exit, empty if none."""
    program = Path(sys.executable).with_name("tcptrace-http")
    command = [str(program), "analyze", str(path), "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if "Traceback" in done.stderr or "panicked" in done.stderr:
        return f"{path}: {done.stderr[-500:]}"
    if done.returncode == 0:
        json.loads(done.stdout)
        return ""
    if done.returncode == _EXIT_UNREADABLE and done.stderr.strip():
        return ""
    return f"{path}: exit code {done.returncode}: {done.stderr[-500:]}"


def main(arguments: list[str]) -> int:
    folder = arguments[0] if arguments else os.environ.get("TCPTRACE_HTTP_CAPTURES", "")
    verdicts = examine_all(Path(folder) / "public")
    reasons = disagreements()
    explained = {case: entry.reason for entry in reasons for case in entry.cases}
    totals: Counter[str] = Counter()
    for verdict in verdicts:
        if verdict.failure:
            print(f"{verdict.path}: {verdict.failure}")
        for each in verdict.differences:
            reason = explained.get((each.path, each.field))
            totals[reason or "not explained"] += 1
            if reason is None:
                expected = "/".join(map(str, each.expected))
                print(f"{each.path}: {each.field} {each.found}, tshark {expected}")
    print(f"\n{len(verdicts)} captures, {sum(bool(v.differences) for v in verdicts)} with differences")
    for reason, count in totals.most_common():
        print(f"- {reason}: {count}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
