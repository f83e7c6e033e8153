"""Figures 1 to 4, packet by packet: the short initial segment and the odd, short final segment (H2, H3).

Figures 1 and 3 draw the packets that Figures 2 and 4 print. A printed line is identified by its sender,
payload, PSH and acknowledged bytes. Requests match by kind: the Perl client's requests have 52 and 58 bytes,
but the simulated browser also sends Host and User-Agent.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Final

from reference_sim.papers.heidemann_1996.table_1 import APACHE, FIRST_FIX, phases
from reference_sim.papers.published import published
from reference_sim.reproduction.experiment import Effort, Experiment, Results, Run, mean
from reference_sim.reproduction.verdict import Comparison, Judgement, Mean, judged
from reference_sim.workloads import heidemann

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import altair as alt

    from reference_sim.scenario import Scenario
    from reference_sim.simulation import Simulation
    from reference_sim.truth import Truth

__all__ = [
    "H2",
    "H3",
    "Line",
    "figure_2",
    "figure_2_lines",
    "figure_4",
    "figure_4_lines",
    "last_retrieval",
    "printed",
    "simulated",
]

#: Each figure shows one of many consecutive retrievals. The heartbeat phase is random. The compared retrieval
#: comes after several stalled retrievals.
_RETRIEVALS: Final = 6
_SYN: Final = 0x02
_PSH: Final = 0x08

#: Relative, because a line's time may be a quarter of a millisecond or 200 ms.
_SAME: Final = 0.15
_ALIKE: Final = 0.5
#: Required share of the figures. The hosts of 1996 took time for a segment that ours send at once, and the
#: server's own heartbeat adds or removes a line.
_SHARE: Final = 0.8
_SHARE_REASON: Final = "single lines depend on the hosts' own delays, and only one trace is printed"


@dataclass(frozen=True, slots=True)
class Line:
    """Line of a trace, captured at the client."""

    sender: str
    #: Milliseconds after the first line.
    ms: float
    is_syn: bool
    is_pushed: bool
    #: None: a request of any length.
    payload: int | None
    #: Offset of the data in the response; None for the client's segments.
    offset: int | None
    #: Acknowledged bytes of this response; None for the server's segments.
    acked: int | None

    @property
    def what(self) -> tuple[object, ...]:
        """All fields but the time."""
        if self.is_syn:
            return self.sender, "SYN"
        return self.sender, self.is_pushed, self.payload, self.offset if self.payload else None, self.acked

    @property
    def described(self) -> str:
        """Text for a table."""
        if self.is_syn:
            return f"SYN of the {self.sender}"
        if self.payload is None:
            return "request"
        if self.payload:
            return f"segment of {self.payload} bytes"
        return (
            f"ACK of {self.acked} bytes"
            if self.acked is not None and self.acked > 0
            else f"ACK of the {self.sender}"
        )


def printed(figure: int) -> list[Line]:
    """Return the lines of Figure 2 or 4."""
    rows = published(f"heidemann_1996_figure{figure}")
    start = next(int(row["seq_start"]) for row in rows if row["sender"] == "server" and int(row["payload_bytes"]))
    first_ms = 1000 * float(rows[0]["time_s"])
    return [
        _line(
            row["sender"],
            1000 * float(row["time_s"]) - first_ms,
            flags=(_SYN if "S" in row["flags"] else 0) | (_PSH if "P" in row["flags"] else 0),
            payload=int(row["payload_bytes"]),
            offset=int(row["seq_start"]) - start,
            acked=int(row["ack"] or start) - start,
        )
        for row in rows
    ]


def simulated(truth: Truth, transaction: int, *, from_start: bool) -> list[Line]:
    """Return the client-side lines of a transaction, from its request or from the connection's start."""
    import polars as pl

    row = truth.transactions.row(transaction, named=True)
    at = pl.when(pl.col("side") == "client").then("sent").otherwise("received")
    own = truth.packets.filter(truth.packets["connection"] == row["connection"])
    seen = own.with_columns(at_client=at).sort("at_client", maintain_order=True)
    packets = (seen if from_start else seen.filter(pl.col("at_client") >= row["written"])).to_dicts()
    return [
        _line(
            packet["side"],
            1000 * (packet["at_client"] - packets[0]["at_client"]).total_seconds(),
            flags=packet["flags"],
            payload=packet["payload_bytes"],
            offset=packet["seq"] - row["response_offset"],
            acked=packet["ack"] - row["response_offset"],
        )
        for packet in packets
    ]


def _line(sender: str, ms: float, *, flags: int, payload: int, offset: int, acked: int) -> Line:
    is_client = sender == "client"
    return Line(
        sender=sender,
        ms=ms,
        is_syn=bool(flags & _SYN),
        is_pushed=bool(flags & _PSH),
        payload=None if is_client and payload else payload,
        offset=None if is_client else offset,
        acked=acked if is_client else None,
    )


def figure_2(seed: int) -> Scenario:
    """Return retrievals by Apache's P-HTTP: Figure 2 is the first response of the last retrieval."""
    phase, server_phase = phases(seed)
    return heidemann(strategy=APACHE, retrievals=_RETRIEVALS, phase=phase, server_phase=server_phase)


def figure_4(seed: int) -> Scenario:
    """Return retrievals with the first fix: Figure 4 is the second response of the last retrieval."""
    phase, server_phase = phases(seed)
    return heidemann(strategy=FIRST_FIX, retrievals=_RETRIEVALS, phase=phase, server_phase=server_phase)


def figure_2_lines(simulation: Simulation) -> Mapping[str, float]:
    """Return, for every line of Figure 2, whether ours is equal, and its time; and the stall."""
    truth = simulation.truth
    return _compared(
        printed(2), simulated(truth, last_retrieval(truth, document=0), from_start=True), stall_after=(226, 1460)
    )


def figure_4_lines(simulation: Simulation) -> Mapping[str, float]:
    """Return the same for Figure 4."""
    truth = simulation.truth
    return _compared(
        printed(4),
        simulated(truth, last_retrieval(truth, document=1), from_start=False),
        stall_after=(1460, 1460, 1176),
    )


def last_retrieval(truth: Truth, *, document: int) -> int:
    """Return the row of the last retrieval's transaction of this number."""
    rows = truth.transactions.with_row_index("row")
    (row,) = rows.filter((rows["visit"] == _RETRIEVALS - 1) & (rows["fetch"] == document))["row"]
    return int(row)


def _compared(expected: Sequence[Line], made: Sequence[Line], *, stall_after: tuple[int, ...]) -> dict[str, float]:
    """Compare line by line per sender: the order across senders depends on a shared medium.

    A line that ours lack, such as an ACK of the server's own heartbeat, has no time.
    """
    found = {"stall_ms": stall_ms(made, stall_after)}
    for sender in ("client", "server"):
        numbers = [number for number, line in enumerate(expected) if line.sender == sender]
        own = [line for line in made if line.sender == sender]
        matcher = SequenceMatcher(
            None, [expected[number].what for number in numbers], [line.what for line in own], autojunk=False
        )
        for block in matcher.get_matching_blocks():
            for at in range(block.size):
                found[f"ms_{numbers[block.a + at]}"] = own[block.b + at].ms
    return found


def stall_ms(lines: Sequence[Line], after: tuple[int, ...]) -> float:
    """Return the server's silence after consecutive segments of these sizes; 0 without them."""
    data = [line for line in lines if line.sender == "server" and line.payload]
    sizes = [line.payload for line in data]
    starts = (n for n in range(len(data) - len(after)) if tuple(sizes[n : n + len(after)]) == after)
    first = next(starts, None)
    if first is None:
        return 0.0
    last = first + len(after)
    return data[last].ms - data[last - 1].ms


def _runs_of(
    label: str, scenario: Callable[[int], Scenario], measure: Callable[[Simulation], Mapping[str, float]]
) -> Callable[[Effort], Iterator[Run]]:
    def runs(effort: Effort) -> Iterator[Run]:
        for seed in range(1, effort.seeds + 1):
            yield Run(label=label, scenario=scenario(seed), measure=measure)

    return runs


def _judge(
    figure: int, *, stall_range: tuple[float, float], stall_after: tuple[int, ...], remarks: str
) -> Callable[[Results], Judgement]:
    label = f"figure {figure}"

    def judge(results: Results) -> Judgement:
        lines = printed(figure)
        known = [number for number in range(len(lines)) if _times(results, label, number)]
        found = sum(len(_times(results, label, number)) for number in known) / len(results.measured[label])
        stall = results.mean(label, "stall_ms")
        comparisons = [
            Comparison(
                what="lines with the printed flags, lengths and ACKs, in the order of each sender",
                unit="lines",
                published=float(len(lines)),
                ours=Mean(found),
                tolerance=0.0,
                shape_tolerance=0.25,
            ),
            Comparison(
                what="stall, by the text",
                unit="ms",
                published=stall_range,
                ours=stall,
                tolerance=0.0,
                shape_tolerance=0.1,
            ),
            Comparison(
                what="stall, by the figure",
                unit="ms",
                published=stall_ms(lines, stall_after),
                ours=stall,
                tolerance=0.02,
                shape_tolerance=0.1,
            ),
        ]
        comparisons += [
            Comparison(
                what=f"line {number + 1}, {line.described}: after line 1",
                unit="ms",
                published=line.ms,
                ours=mean(_times(results, label, number)),
                tolerance=_SAME,
                shape_tolerance=_ALIKE,
            )
            for number, line in enumerate(lines)
            if number in known[1:]
        ]
        return judged(comparisons, share=_SHARE, share_reason=_SHARE_REASON, remarks=remarks)

    return judge


def _times(results: Results, label: str, number: int) -> list[float]:
    """Return milliseconds of a line, in the repetitions that have it."""
    return [one[f"ms_{number}"] for one in results.measured[label] if f"ms_{number}" in one]


def _charts(figure: int, title: str) -> Callable[[Results], Mapping[str, alt.TopLevelMixin]]:
    def charts(results: Results) -> Mapping[str, alt.TopLevelMixin]:
        import altair as alt
        import polars as pl

        label = f"figure {figure}"
        drawn = pl.DataFrame(
            [
                {
                    "of": of,
                    "sender": line.sender,
                    "ms": ms,
                    "byte": line.acked if line.offset is None else line.offset + (line.payload or 0),
                }
                for number, line in enumerate(printed(figure))
                if not line.is_syn and (line.sender == "server" or line.payload == 0)
                for of, times in (("published", [line.ms]), ("ours", _times(results, label, number)))
                for ms in times
            ]
        )
        chart = (
            alt.Chart(drawn)
            .mark_point()
            .encode(
                x=alt.X("ms:Q", title="ms after the first line"),
                y=alt.Y("byte:Q", title="last byte, or acknowledged byte, of the response"),
                color=alt.Color("of:N", sort=["published", "ours"], title=None),
                shape=alt.Shape("sender:N", title="sent by"),
                # The points coincide.
                size=alt.Size("of:N", sort=["published", "ours"], legend=None, scale=alt.Scale(range=[160, 35])),
            )
        )
        return {title: chart}

    return charts


_CHOICES: Final = (
    "The phases of the 200 ms heartbeats are random. The last of six consecutive retrievals is compared, since"
    " the earlier ones determine its stall. Our hosts lack the client's 0.65 ms before the first request of a"
    " connection (line 4 of Figure 2) and the ACK of the server's own heartbeat (line 2 of Figure 4). The"
    " lines are in the order of each sender: on a shared Ethernet an ACK waits for the segment that occupies"
    " the medium, on ours it does not."
)

H2: Final = Experiment(
    claim="H2",
    runs=_runs_of("figure 2", figure_2, figure_2_lines),
    judge=_judge(2, stall_range=(170.0, 190.0), stall_after=(226, 1460), remarks=_CHOICES),
    charts=_charts(2, "Figures 1 and 2: the short initial segment"),
)
H3: Final = Experiment(
    claim="H3",
    runs=_runs_of("figure 4", figure_4, figure_4_lines),
    judge=_judge(4, stall_range=(160.0, 190.0), stall_after=(1460, 1460, 1176), remarks=_CHOICES),
    charts=_charts(4, "Figures 3 and 4: the odd, short final segment"),
)
