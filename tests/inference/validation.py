"""Validation of the inference: simulate scenarios, infer them from the captures, and compare.

>>> python -m tests.inference.validation --scenarios 100 --seed 0 --jobs 2
"""

from __future__ import annotations

import argparse
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from statistics import median
from time import process_time
from typing import TYPE_CHECKING, Final

import tcptrace_http
from reference_sim.scenario_file import parse
from reference_sim.scenario_writer import toml_of
from reference_sim.simulation import Simulation, simulate
from reference_sim.topology import ByteQueue, PacketQueue
from tcptrace_http.inference import NEEDED_TABLES, Figure, Inference, infer
from tcptrace_http.inference.stacks import first_window
from tcptrace_http.inference.writes import words_of
from tests.inference.scenarios import Case, random_case

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from reference_sim.scenario import Writes

ENDS: Final = ("client", "server")
RTT_WITHIN: Final = 0.02
RATE_WITHIN: Final = 0.10
PAGE_WITHIN: Final = 0.05
QUEUE_WITHIN: Final = 0.20
#: Quantities judged in words.
JUDGED: Final = ("window", "strategy", "nagle", "restart", "writes", "losses", "queue")
_FULL: Final = 1500


@dataclass(frozen=True)
class Outcome:
    """Comparison of one capture's inference with the true scenario."""

    seed: int
    at: str
    #: Relative error of each quantity; None: stated as assumed.
    rtt_off: float | None
    rate_off: float | None
    page_off: float
    #: For each of :data:`JUDGED`: exact, alike (the truth is among the stated alternatives), assumed, or
    #: wrong.
    words: dict[str, str]
    #: Packets with data were lost.
    is_lossy: bool
    #: Processor seconds of the inference.
    took: float
    #: Description of wrong results.
    told: str

    @property
    def is_beyond(self) -> bool:
        """Whether any result misses the requirements."""
        offs = ((self.rtt_off, RTT_WITHIN), (self.rate_off, RATE_WITHIN), (self.page_off, PAGE_WITHIN))
        return "wrong" in self.words.values() or any((off or 0) > bound for off, bound in offs)


def outcomes(seeds: Iterable[int], *, jobs: int = 1) -> Iterator[Outcome]:
    """Yield the outcomes at both ends of each seed's scenario."""
    if jobs == 1:
        for seed in seeds:
            yield from _of_seed(seed)
        return
    # Threads of a table library do not survive a fork.
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        for both in pool.map(_of_seed, seeds, chunksize=4):
            yield from both


def _of_seed(seed: int) -> list[Outcome]:
    case = random_case(seed)
    run = simulate(case.scenario)
    return [_outcome(seed, at, case, run) for at in ENDS]


def inference_of(run: Simulation, at: str, *, session: bool = False) -> Inference:
    """Return the inference from the capture at this end."""
    return infer(tcptrace_http.analyze(run.pcap(at=at), tables=NEEDED_TABLES), session=session)


def page_time(run: Simulation) -> int:
    """Return nanoseconds of the first retrieval."""
    times = run.truth.retrievals
    return int((times["end"] - times["start"]).to_physical()[0])


def _outcome(seed: int, at: str, case: Case, run: Simulation) -> Outcome:
    begun = process_time()
    found = inference_of(run, at)
    took = process_time() - begun
    link = case.scenario.network.links[-1]
    (server,) = case.scenario.servers
    again = simulate(parse(toml_of(found.scenario)))
    lost, queued = _drops(run)
    words = {
        "window": judged(found.figure("server.initial_window"), first_window(server.stack)),
        "strategy": judged(found.figure("browser.strategy"), case.strategy),
        "nagle": judged(found.figure("server.nagle"), str(server.stack.nagle)),
        "restart": judged(found.figure("server.idle_restart"), str(server.stack.idle_restart)),
        "writes": judged(found.figure("server.writes"), words_of(_as_it_shows(server.writes, run))),
        "losses": _judged_losses(found.figure("path.loss"), lost),
        "queue": _judged_queue(found.figure("path.queue"), link.queue, queued),
    }
    return Outcome(
        seed=seed,
        at=at,
        rtt_off=_off(found.figure("path.propagation"), 2 * int(link.delay)),
        rate_off=_off(found.figure("path.rate"), int(link.rate or 0)),
        page_off=abs(page_time(again) / page_time(run) - 1),
        is_lossy=lost > 0,
        took=took,
        told=_told(case, found, lost, queued),
        words=words,
    )


def _as_it_shows(writes: Writes, run: Simulation) -> Writes:
    """Chunks larger than every response are one write."""
    sizes = run.truth.transactions["response_head_bytes"] + run.truth.transactions["response_body_bytes"]
    longest = max(sizes)
    return replace(writes, chunk_bytes=None) if (writes.chunk_bytes or 0) >= longest else writes


def _told(case: Case, found: Inference, lost: float, queued: int) -> str:
    (server,) = case.scenario.servers
    link = case.scenario.network.links[-1]
    names = ("strategy", "stack", "nagle", "writes", "loss", "queue")
    places = ("browser", "server", "server", "server", "path", "path")
    truth = (
        case.strategy, server.stack.name, str(server.stack.nagle), words_of(server.writes), f"{lost:.4f}",
        f"{link.queue} ({queued} dropped)",
    )  # fmt: skip
    values = [found.figure(f"{place}.{name}").value for place, name in zip(places, names, strict=True)]
    return "; ".join(
        f"{name}: {true}, told {value}" for name, true, value in zip(names, truth, values, strict=True)
    )


def _drops(run: Simulation) -> tuple[float, int]:
    """Return the share of the server's lost data packets, and the number dropped by a full queue."""
    import polars as pl

    towards = (
        run.truth.hops.join(run.truth.packets, on="packet")
        .filter(pl.col("side") == "server")
        .select("payload_bytes", pl.col("drop").cast(pl.String))
    )
    data = towards.filter(pl.col("payload_bytes") > 0)
    lost = data["drop"].is_not_null().sum() / max(data.height, 1)
    return float(lost), int((towards["drop"] == "queue_full").sum())


def _off(figure: Figure, truth: int) -> float | None:
    if figure.is_assumed or not isinstance(figure.value, int):
        return None
    return abs(figure.value / truth - 1)


def judged(figure: Figure, truth: object) -> str:
    """Return the outcome of a figure: exact, alike (a stated alternative is true), assumed, or wrong."""
    if figure.is_assumed:
        return "assumed"
    if figure.value == truth:
        return "exact"
    return "alike" if str(truth) in figure.alternatives else "wrong"


def _judged_losses(figure: Figure, truth: float) -> str:
    """Return the outcome of a loss rate against the realized rate; alike: within the stated interval."""
    if figure.is_assumed or not isinstance(figure.value, float):
        return "assumed"
    if abs(figure.value - truth) <= 1e-3 * truth:
        return "exact"
    low, high = figure.low, figure.high
    is_within = isinstance(low, float) and isinstance(high, float) and low <= truth <= high
    return "alike" if is_within else "wrong"


def _judged_queue(figure: Figure, truth: object, dropped: int) -> str:
    """Return the outcome of a queue limit (within 20 %, full packets); without drops, the limit is invisible."""
    if figure.is_assumed or not isinstance(figure.value, int):
        return "assumed"
    if not dropped:
        return "wrong"
    told = figure.value * (_FULL if figure.unit == "packets" else 1)
    match truth:
        case ByteQueue(limit=limit):
            bound = int(limit)
        case PacketQueue(limit=limit):
            bound = _FULL * limit
        case _:
            return "wrong"
    return "exact" if abs(told / bound - 1) <= QUEUE_WITHIN else "wrong"


def table(found: list[Outcome]) -> str:
    """Return the requirements and the measured figures."""
    rows = [
        ("round trip within 2 %", _within([each.rtt_off for each in found], RTT_WITHIN)),
        ("rate within 10 %", _within([each.rate_off for each in found], RATE_WITHIN)),
        *((name, _counts([each.words[name] for each in found])) for name in JUDGED),
        ("page time", _pages(found)),
        ("page time, lossy", _pages([each for each in found if each.is_lossy])),
        ("page time, lossless", _pages([each for each in found if not each.is_lossy])),
        ("seconds an inference", _seconds(found)),
    ]
    return "\n".join(f"{name:<24} {told}" for name, told in rows)


def _pages(found: list[Outcome]) -> str:
    offs = sorted(each.page_off for each in found)
    if not offs:
        return "none"
    near = sum(off <= PAGE_WITHIN for off in offs)
    most = f"{offs[int(0.9 * (len(offs) - 1))]:.2%} (90th percentile), {offs[-1]:.1%} (most)"
    return f"off by {median(offs):.4%} (median), {most}; {near} of {len(offs)} within 5 %"


def _seconds(found: list[Outcome]) -> str:
    took = sorted(each.took for each in found)
    most = f"{took[int(0.9 * (len(took) - 1))]:.2f} (90th percentile), {took[-1]:.2f} (most)"
    return f"{median(took):.2f} (median), {most}"


def _within(offs: list[float | None], bound: float) -> str:
    known = [off for off in offs if off is not None]
    near = sum(off <= bound for off in known)
    return f"{near} of {len(known)} seen, {len(offs) - len(known)} stated to be assumed"


def _counts(words: list[str]) -> str:
    counted = Counter(words)
    return ", ".join(f"{counted[word]} {word}" for word in ("exact", "alike", "assumed", "wrong"))


def worst(found: list[Outcome]) -> list[Outcome]:
    """Return the captures with any missed requirement."""
    return [each for each in found if each.is_beyond]


def main() -> None:
    """Print the table, and the missed requirements."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scenarios", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    found = list(outcomes(range(options.seed, options.seed + options.scenarios), jobs=options.jobs))
    print(table(found))
    for each in worst(found):
        print(each)


if __name__ == "__main__":
    main()
