"""Untested remedies of the paper: at the receiver, at the sender, in the server.

Section 2.2: a receiver that delays an ACK by the time of one segment (H8). Section 2.4: a decayed window with
a cap (H9), and a server that closes idle connections in place of its kernel's reset (H10).
"""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, Final

from reference_sim.page import Constant
from reference_sim.papers.heidemann_1996.restarts import POLICIES, second_visit
from reference_sim.papers.heidemann_1996.table_1 import APACHE, BOTH_FIXES, retrieval_times
from reference_sim.reproduction.experiment import Effort, Experiment, Results, Run
from reference_sim.reproduction.verdict import Comparison, Judgement, Mean, judged
from reference_sim.scenario import KeepAlive, Record
from reference_sim.stack import DelayTimer
from reference_sim.stacks import stack
from reference_sim.strategies import named_strategy
from reference_sim.workloads import heidemann, retrieval

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from reference_sim.scenario import Scenario
    from reference_sim.simulation import Simulation
    from reference_sim.stack import Stack

__all__ = ["REMEDIES"]

_S: Final = 10**9
_RTT_S: Final = 0.09
_RETRIEVALS: Final = 20
#: 1460 bytes at the paper's measured bandwidth, 8.7 Mb/s (section 2.1).
_SEGMENT_NS: Final = 1460 * 8 * _S // 8_700_000
_PROMPT: Final = "ACKs delayed by one segment's time"
_LATE: Final = "ACKs delayed by the heartbeat"
#: RFC 2414, section 1: about 4 KB is no burst. The paper has no figure.
_CAP_SEGMENTS: Final = 3
#: After the first pause, half of the window is left.
_PAUSES_S: Final = (1, 3, 10)
_CAPPED: Final = "decay, capped"
#: Idle timeouts of the server, above and below the reader's pause.
_PAUSE_S: Final = 3
_TIMEOUTS_S: Final = (2, 5)
#: Larger than the differences by heads, processes and handshakes, apart from an RTT.
_WHOLE: Final = 0.1


def _prompt(plain: Stack) -> Stack:
    acks = replace(plain.acks, delay=DelayTimer(delay=_SEGMENT_NS))
    return replace(plain, name=f"{plain.name}, {_PROMPT}", acks=acks)


def _with_prompt_acks(made: Scenario) -> Scenario:
    return replace(made, browsers=tuple(replace(one, stack=_prompt(one.stack)) for one in made.browsers))


def _segments_per_ack(simulation: Simulation) -> Mapping[str, float]:
    """Return the server's data segments per pure ACK of the client."""
    import polars as pl

    packets = simulation.truth.packets
    data = packets.filter(pl.col("side") == "server", pl.col("payload_bytes") > 0).height
    acks = packets.filter(pl.col("side") == "client", pl.col("payload_bytes") == 0).height
    return {"segments_per_ack": data / acks}


def _transfer(name: str) -> str:
    return f"50 kB over Ethernet, {name}"


def _acks(_: Effort) -> Iterator[Run]:
    for strategy in (APACHE, BOTH_FIXES):
        made = heidemann(strategy=strategy, retrievals=_RETRIEVALS)
        yield Run(label=f"{strategy}, {_LATE}", scenario=made, measure=retrieval_times)
        yield Run(label=f"{strategy}, {_PROMPT}", scenario=_with_prompt_acks(made), measure=retrieval_times)
    sunos = stack("sunos-4.1.3")
    for name, receiver in ((_LATE, sunos), (_PROMPT, _prompt(sunos))):
        made = retrieval(
            strategy="http10-serial",
            page="one-large",
            network="lan",
            client_stack=receiver,
            server_stack=sunos,
            record=Record(packets=True),
        )
        yield Run(label=_transfer(name), scenario=made, measure=_segments_per_ack)


def _judge_acks(results: Results) -> Judgement:
    def ms(strategy: str, acks: str) -> float:
        return results.value(f"{strategy}, {acks}", "mean_ms")

    stalls = ms(APACHE, _LATE) - ms(BOTH_FIXES, _LATE)
    per_ack = [results.value(_transfer(name), "segments_per_ack") for name in (_PROMPT, _LATE)]
    return judged(
        [
            Comparison(
                what="share of an unfixed server's stalls that such ACKs avoid",
                unit="share",
                published=1.0,
                ours=Mean((ms(APACHE, _LATE) - ms(APACHE, _PROMPT)) / stalls),
                tolerance=0.05,
                shape_tolerance=0.5,
                neutral=0.0,
            ),
            Comparison(
                what="data segments per ACK of a transfer, over those with delayed ACKs",
                unit="ratio",
                published=1.0,
                ours=Mean(per_ack[0] / per_ack[1]),
                tolerance=_WHOLE,
                shape_tolerance=0.4,
                neutral=0.0,
            ),
        ],
        remarks="One segment's time is 1.34 ms: 1460 bytes at 8.7 Mb/s, as measured in section 2.1. The hosts"
        " and the page are those of Table 1; the server has no fix.",
    )


def _label(policy: str, pause: int) -> str:
    return f"{policy}, {pause} s"


def _decay(_: Effort) -> Iterator[Run]:
    decay = named_strategy(POLICIES["decay"])
    knobs = {**decay.server_stack, "restart_cap_segments": _CAP_SEGMENTS}
    strategies = {
        "decay": decay,
        _CAPPED: replace(decay, server_stack=knobs),
        "reset": named_strategy(POLICIES["reset"]),
    }
    for policy, strategy in strategies.items():
        for pause in _PAUSES_S:
            made = retrieval(
                strategy=strategy,
                page="one-large",
                network="wan",
                client_stack="reno",
                think=Constant(value=pause * _S),
            )
            yield Run(label=_label(policy, pause), scenario=made, measure=second_visit)


def _judge_decay(results: Results) -> Judgement:
    def of(policy: str, pause: int, quantity: str) -> float:
        return results.value(_label(policy, pause), quantity)

    shortest = min(_PAUSES_S)
    return judged(
        [
            _must(
                f"packets in one burst after {shortest} s, decayed",
                "packets",
                of("decay", shortest, "burst"),
                (_CAP_SEGMENTS + 1, inf),
            ),
            *(
                _must(
                    f"packets in one burst after {pause} s, decayed and capped",
                    "packets",
                    of(_CAPPED, pause, "burst"),
                    (1, _CAP_SEGMENTS),
                )
                for pause in _PAUSES_S
            ),
            _must(
                f"cost of the cap after {shortest} s",
                "round trips",
                (of(_CAPPED, shortest, "seconds") - of("decay", shortest, "seconds")) / _RTT_S,
                (0, inf),
            ),
            *(
                _must(
                    f"time of a reset after {pause} s over that of a decayed and capped window",
                    "ratio",
                    of("reset", pause, "seconds") / of(_CAPPED, pause, "seconds"),
                    (1, inf),
                )
                # After the longest pause the decayed window is one segment, as after a reset.
                for pause in _PAUSES_S[:-1]
            ),
        ],
        remarks='The paper gives no cap ("determining parameters for this approach is difficult"); ours is'
        " about 4 KB, three segments.",
    )


def _close_label(what: str) -> str:
    return f"idle connections, {what}"


def _closing(_: Effort) -> Iterator[Run]:
    for policy in ("keep", "reset"):
        yield Run(label=_close_label(policy), scenario=_two_visits(policy), measure=second_visit)
    for timeout in _TIMEOUTS_S:
        made = _two_visits("keep")
        kept = KeepAlive(timeout=timeout * _S)
        scenario = replace(made, servers=tuple(replace(server, keep_alive=kept) for server in made.servers))
        yield Run(label=_close_label(f"closed after {timeout} s"), scenario=scenario, measure=second_visit)


def _two_visits(policy: str) -> Scenario:
    return retrieval(
        strategy=POLICIES[policy],
        page="one-large",
        network="wan",
        client_stack="reno",
        think=Constant(value=_PAUSE_S * _S),
    )


def _judge_closing(results: Results) -> Judgement:
    def of(what: str, quantity: str) -> float:
        return results.value(_close_label(what), quantity)

    closed, open_still = (f"closed after {timeout} s" for timeout in _TIMEOUTS_S)
    return judged(
        [
            _must(
                f"packets in the first round trip after {_PAUSE_S} s, {closed}",
                "packets",
                of(closed, "flight"),
                (1, 1),
            ),
            _must(
                f"packets in the first round trip after {_PAUSE_S} s, {open_still}",
                "packets",
                of(open_still, "flight"),
                (of("keep", "flight"), inf),
            ),
            Comparison(
                what=f"cost of a new connection against a reset, {closed}",
                unit="round trips",
                published=1.0,
                ours=Mean((of(closed, "seconds") - of("reset", "seconds")) / _RTT_S),
                tolerance=_WHOLE,
                shape_tolerance=0.5,
                neutral=0.0,
            ),
        ],
        remarks="The sender's TCP keeps its window, as SunOS 4.x does; the server closes idle connections. A"
        " timeout longer than the pause has no effect.",
    )


def _must(what: str, unit: str, ours: float, within: tuple[float, float]) -> Comparison:
    """Return the comparison of an inequality that has no shape."""
    return Comparison(what=what, unit=unit, published=within, ours=Mean(ours), tolerance=0.0, shape_tolerance=0.0)


REMEDIES: Final = (
    Experiment(claim="H8", studies=frozenset({"acks"}), runs=_acks, judge=_judge_acks),
    Experiment(
        claim="H9", studies=frozenset({"idle_restart", "restart_cap_segments"}), runs=_decay, judge=_judge_decay
    ),
    Experiment(claim="H10", studies=frozenset({"idle_restart"}), runs=_closing, judge=_judge_closing),
)
