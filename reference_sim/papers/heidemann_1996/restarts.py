"""Section 2.4: cwnd after a pause (H4).

A 50 kB document is retrieved twice over one connection at 1 Mb/s and 90 ms (the paper's path in section 2.5),
with a pause between. The paper has no figures here ("we have not yet experimentally verified"). The
experiment tests the paper's statement on each policy, by the packets sent in the first RTT after the pause.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, Final

from reference_sim.page import Constant
from reference_sim.reproduction.experiment import Effort, Experiment, Results, Run
from reference_sim.reproduction.readings import durations, gaps, of_server, seconds
from reference_sim.reproduction.verdict import Comparison, Judgement, Mean, judged
from reference_sim.strategies import named_strategy
from reference_sim.workloads import retrieval

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import altair as alt

    from reference_sim.simulation import Simulation
    from reference_sim.strategy import Strategy

__all__ = ["H4", "POLICIES", "SYSTEMS", "second_visit"]

_RTT_S: Final = 0.09
_PAUSE_S: Final = 3
#: Pause for the decayed window.
_PAUSES_S: Final = (1, 3, 10)
#: Strategies of each policy.
POLICIES: Final = {
    "keep": "p-http-restart-keep",
    "reset": "p-http-restart-reset",
    "decay": "p-http-restart-decay",
    "pace": "p-http-restart-pace",
}
#: Systems named in the paper, by our stacks (FreeBSD 2.1 has 4.4BSD's TCP), and whether they reset cwnd.
SYSTEMS: Final = {"sunos-4.1.3": False, "bsd-4.4": True, "linux-2.0": True}
#: Number of packets of the second visit in the charts.
_DRAWN: Final = 40


def second_visit(simulation: Simulation) -> Mapping[str, float]:
    """Return seconds, packets of the first RTT and their gaps, and sending times of the second visit."""
    import polars as pl

    truth = simulation.truth
    again = truth.retrievals["start"][1]
    sent = seconds(of_server(truth).filter(pl.col("sent") >= again)["sent"])
    # None of these packets can be acknowledged yet.
    flight = [time for time in sent if time < _RTT_S]
    between = gaps(flight) or [0.0]
    found = {
        "connections": float(truth.connections.height),
        "seconds": durations(truth)[1],
        "flight": float(len(flight)),
        "burst": float(flight.count(0.0)),
        "least_gap_ms": 1000 * min(between),
        "largest_gap_ms": 1000 * max(between),
    }
    return found | {f"sent_s_{number}": sent[min(number, len(sent) - 1)] for number in range(_DRAWN)}


def _runs(effort: Effort) -> Iterator[Run]:
    del effort
    for policy, strategy in POLICIES.items():
        for pause in _PAUSES_S if policy == "decay" else (_PAUSE_S,):
            yield _run(f"{policy} {pause} s", strategy=named_strategy(strategy), stack="reno", pause=pause)
    for system in SYSTEMS:
        # The system's own policy, not a policy that the strategy sets.
        as_it_is = replace(named_strategy(POLICIES["keep"]), server_stack={})
        yield _run(system, strategy=as_it_is, stack=system, pause=_PAUSE_S)


def _run(label: str, *, strategy: str | Strategy, stack: str, pause: int) -> Run:
    scenario = retrieval(
        strategy=strategy,
        page="one-large",
        network="wan",
        client_stack=stack,
        think=Constant(value=pause * 10**9),
    )
    return Run(label=label, scenario=scenario, measure=second_visit)


def _judge(results: Results) -> Judgement:
    def flight(label: str) -> float:
        return results.value(label, "flight")

    kept = flight(f"keep {_PAUSE_S} s")
    spans = {policy: results.value(f"{policy} {_PAUSE_S} s", "seconds") for policy in POLICIES}
    decayed = [flight(f"decay {pause} s") for pause in _PAUSES_S]
    paced = f"pace {_PAUSE_S} s"
    # "One every n/t seconds", for n packets in an RTT t.
    interval_ms = 1000 * _RTT_S / flight(paced)
    first = "packets in the first round trip after a pause of"
    comparisons = [
        *(
            _must(
                f"{first} 3 s, {system}",
                "packets",
                results.value(system, "flight"),
                (1, 1) if resets else (2, inf),
            )
            for system, resets in SYSTEMS.items()
        ),
        _must(f"{first} 3 s, reset", "packets", flight(f"reset {_PAUSE_S} s"), (1, 1)),
        _must(
            "share of a kept window that is sent in one burst",
            "of 1",
            results.value(f"keep {_PAUSE_S} s", "burst") / kept,
            (1, 1),
        ),
        _must(
            "cost of a reset against a kept window",
            "round trips",
            (spans["reset"] - spans["keep"]) / _RTT_S,
            (1, inf),
        ),
        _must(f"{first} 1 s, decayed over kept", "of 1", decayed[0] / kept, (0, 0.999)),
        *(
            _must(f"{first} {later} s over {earlier} s, decayed", "of 1", after / before, (0, 0.999))
            for earlier, later, before, after in zip(_PAUSES_S, _PAUSES_S[1:], decayed, decayed[1:], strict=False)
        ),
        _must(
            "a paced window against a kept one, seconds lost",
            "round trips",
            (spans["pace"] - spans["keep"]) / _RTT_S,
            (-inf, 1),
        ),
        *(
            Comparison(
                what=f"{which} gap between paced packets over t/n",
                unit="of 1",
                published=1.0,
                ours=Mean(results.value(paced, f"{which}_gap_ms") / interval_ms),
                tolerance=0.1,
                shape_tolerance=0.5,
            )
            for which in ("least", "largest")
        ),
    ]
    return judged(comparisons, remarks=_REMARKS)


_REMARKS: Final = (
    "The paper did not measure this; the comparisons are its statements about each policy. Packets are paced"
    ' t/n apart: the text\'s "one every n/t seconds" has the inverse fraction. FreeBSD 2.1 is not simulated'
    " separately, because its TCP is 4.4BSD's."
)


def _must(what: str, unit: str, ours: float, within: tuple[float, float]) -> Comparison:
    """Return the comparison of an inequality that has no shape."""
    return Comparison(what=what, unit=unit, published=within, ours=Mean(ours), tolerance=0.0, shape_tolerance=0.0)


def _charts(results: Results) -> Mapping[str, alt.TopLevelMixin]:
    import altair as alt
    import polars as pl

    drawn = pl.DataFrame(
        [
            {
                "policy": policy,
                "s": results.value(f"{policy} {_PAUSE_S} s", f"sent_s_{number}"),
                "packets": number + 1,
            }
            for policy in POLICIES
            for number in range(_DRAWN)
        ]
    )
    chart = (
        alt.Chart(drawn)
        .mark_line(interpolate="step-after")
        .encode(
            x=alt.X("s:Q", title="s after the first packet"),
            y=alt.Y("packets:Q", title="packets sent after a pause of 3 s"),
            color=alt.Color("policy:N", sort=list(POLICIES), title="the window is"),
        )
    )
    return {"Section 2.4: packets after a pause": chart}


H4: Final = Experiment(claim="H4", studies=frozenset({"idle_restart"}), runs=_runs, judge=_judge, charts=_charts)
