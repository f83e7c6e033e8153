"""Section 2.5: a send buffer below the bandwidth-delay product limits the rate (H5).

The transfer is 500 kB over 1 Mb/s and 90 ms with segments of 512 bytes ("wide-area connections typically see
a 512B or 536B MSS", section 2.3). The rate is measured over the second half, after slow start, with an ACK
per segment.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, Final

from reference_sim.pages import sized
from reference_sim.papers.heidemann_1996.table_1 import HTTP
from reference_sim.reproduction.experiment import Effort, Experiment, Results, Run
from reference_sim.reproduction.readings import of_server
from reference_sim.reproduction.verdict import Comparison, Judgement, Mean, judged
from reference_sim.stacks import stack
from reference_sim.workloads import retrieval

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import altair as alt

    from reference_sim.simulation import Simulation

__all__ = ["H5", "link_rate"]

_RTT_S: Final = 0.09
_MBPS: Final = 1.0
_KB: Final = 1024
#: "Ranging from 2-16KB".
_SIZES_KB: Final = (2, 4, 6, 8, 10, 11, 12, 14, 16)
_MSS: Final = 512
_HEADERS: Final = 40
#: Share of its rate at which the link counts as full.
_FULL: Final = 0.99
_SAME: Final = 0.1
_ALIKE: Final = 0.25


def link_rate(simulation: Simulation) -> Mapping[str, float]:
    """Return the link rate in megabits per second, headers included, over the second half of the data."""
    data = of_server(simulation.truth)
    half = data.tail(data.height // 2)
    span = (half["received"][-1] - half["received"][0]).total_seconds()
    carried = half["payload_bytes"][1:].sum() + _HEADERS * (half.height - 1)
    return {"mbps": carried * 8 / span / 1e6, "retransmissions": float(data["is_retransmission"].sum())}


def _runs(effort: Effort) -> Iterator[Run]:
    del effort
    reno = replace(stack("reno"), mss=_MSS)
    client = replace(reno, acks=replace(reno.acks, every=1))
    for kbytes in _SIZES_KB:
        scenario = retrieval(
            strategy=HTTP,
            page=sized("bulk", 500_000),
            network="wan",
            client_stack=client,
            server_stack=replace(reno, send_buffer=kbytes * _KB),
        )
        yield Run(label=f"{kbytes} KB", scenario=scenario, measure=link_rate)


def _judge(results: Results) -> Judgement:
    rates = {kbytes: results.mean(f"{kbytes} KB", "mbps") for kbytes in _SIZES_KB}
    enough = (kbytes for kbytes, rate in rates.items() if rate.value >= _FULL * _MBPS)
    needed = min(enough, default=inf)
    comparisons = [
        Comparison(
            what="smallest buffer that fills 1 Mb/s at 90 ms",
            unit="bytes",
            published=12_000.0,
            ours=Mean(needed * _KB),
            tolerance=_SAME,
            shape_tolerance=_ALIKE,
        ),
        Comparison(
            what="rate with 12 KB",
            unit="Mb/s",
            published=_MBPS,
            ours=rates[12],
            tolerance=_SAME,
            shape_tolerance=_ALIKE,
        ),
        *(
            Comparison(
                what=f"rate with {kbytes} KB, one buffer per round trip",
                unit="Mb/s",
                published=_bound(kbytes),
                ours=rate,
                tolerance=_SAME,
                shape_tolerance=_ALIKE,
            )
            for kbytes, rate in rates.items()
            if _bound(kbytes) < _MBPS
        ),
    ]
    return judged(comparisons, remarks=_REMARKS)


def _bound(kbytes: int) -> float:
    """Return one buffer per RTT, up to the link's rate."""
    return min(_MBPS, kbytes * _KB * 8 / _RTT_S / 1e6)


_REMARKS: Final = (
    "The paper measured nothing here. It prints the bandwidth-delay product, with which its rule is compared,"
    " and calls 4 KB common and too small. Ours is the rate on the link, including headers of 40 bytes."
)


def _charts(results: Results) -> Mapping[str, alt.TopLevelMixin]:
    import altair as alt
    import polars as pl

    drawn = pl.DataFrame(
        [
            {"of": of, "KB": kbytes, "Mb/s": rate}
            for kbytes in _SIZES_KB
            for of, rate in (
                ("published rule", _bound(kbytes)),
                ("ours", results.value(f"{kbytes} KB", "mbps")),
            )
        ]
    )
    chart = (
        alt.Chart(drawn)
        .mark_line(point=True)
        .encode(
            x=alt.X("KB:Q", title="send buffer, KB"),
            y=alt.Y("Mb/s:Q", title="rate on the link, Mb/s"),
            color=alt.Color("of:N", sort=["published rule", "ours"], title=None),
            strokeDash=alt.StrokeDash("of:N", sort=["ours", "published rule"], legend=None),
        )
    )
    return {"Section 2.5: rate by the size of the send buffer": chart}


H5: Final = Experiment(claim="H5", studies=frozenset({"send_buffer"}), runs=_runs, judge=_judge, charts=_charts)
