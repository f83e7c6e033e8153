"""Claims E1 to E8 of Eggert, Heidemann and Touch, "Effects of Ensemble-TCP" (1999)."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import polars as pl
import pytest

from reference_sim import pages
from reference_sim.papers.eggert_1999 import EXPERIMENTS, bundles
from reference_sim.papers.eggert_1999.bundles import (
    LOSS,
    PAGES,
    SCHEDULERS,
    Bars,
    Cell,
    Situation,
    Transport,
)
from reference_sim.papers.eggert_1999.transfers import (
    PACING_COUNT,
    PACKET_COUNTS,
    SEGMENT_BYTES,
    coarse,
    data_packets,
    transfers,
)
from reference_sim.reproduction.experiment import Effort, Results
from reference_sim.reproduction.verdict import Verdict
from reference_sim.scenario import Record
from reference_sim.simulation import simulate
from reference_sim.stacks import stack

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from reference_sim.reproduction.experiment import Experiment, Run

#: Pages with enough objects to make four connections a limit (section 4.2).
LARGE: Final = ("graphics", "frames", "java")
BY_CLAIM: Final = {experiment.claim: experiment for experiment in EXPERIMENTS}
S: Final = 10**9
EVENLY: Final = pages.spread
ETCP: Final = stack("etcp-fair")
RENO: Final = stack("reno-ns")


def measured(run: Run) -> dict[str, float]:
    return dict(run.measure(simulate(run.scenario)))


@cache
def results(claim: str) -> Results:
    runs = {run.label: run for run in BY_CLAIM[claim].runs(Effort(quick=True))}
    return Results({label: [measured(run)] for label, run in runs.items()})


@cache
def bar(what: str, situation: Situation, page: str, transport: Transport, again: bool = False) -> float:
    cell = Cell(page=page, situation=situation, transport=transport)
    return Bars(Results({cell.label: [measured_of(cell)]})).time(what, situation, page, transport, again=again)


@cache
def measured_of(cell: Cell) -> dict[str, float]:
    return measured(cell.run())


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        ("E1", Verdict.REPRODUCED_IN_SHAPE),
        ("E2", Verdict.NOT_REPRODUCED),
        ("E3", Verdict.REPRODUCED),
        ("E4", Verdict.NOT_REPRODUCED),
        ("E5", Verdict.REPRODUCED),
        ("E6", Verdict.REPRODUCED),
        ("E7", Verdict.REPRODUCED),
        ("E8", Verdict.REPRODUCED),
    ],
)
def test_outcome_of_each_claim(claim: str, verdict: Verdict) -> None:
    judgement = BY_CLAIM[claim].judge(results(claim))
    assert judgement.verdict is verdict, judgement.rule
    assert judgement.remarks


@pytest.mark.parametrize(
    ("claim", "what"),
    [("E1", "total of map: E-TCP takes longer than Reno"), ("E4", "total of map, HTML-pre: gain over Reno")],
)
def test_the_maps_total_has_the_other_sign_and_is_not_in_shape(claim, what):
    (one,) = (one for one in BY_CLAIM[claim].judge(results(claim)).comparisons if one.what == what)
    assert one.has_other_sign
    assert one.verdict is Verdict.NOT_REPRODUCED


def geometric(count: int, low: int, high: int) -> tuple[int, ...]:
    """Return this many sizes, small sizes denser than large ones, as on the web."""
    return tuple(round(low * (high / low) ** ((2 * number + 1) / (2 * count))) for number in range(count))


def descending(count: int, low: int, high: int) -> tuple[int, ...]:
    return tuple(reversed(EVENLY(count, low, high)))


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [geometric, descending])
def test_e1_e2_e3_hold_for_any_spread_of_sizes_over_the_printed_ranges(
    sizes: Callable[[int, int, int], tuple[int, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(pages, "spread", sizes)
        spread_so = {f"eggert-{name}": pages.eggert(name) for name in PAGES}
    monkeypatch.setattr(bundles, "page", spread_so.__getitem__)
    found = {run.label: [measured(run)] for claim in ("E1", "E2", "E3") for run in BY_CLAIM[claim].runs(Effort())}
    for claim in ("E1", "E2", "E3"):
        assert BY_CLAIM[claim].judge(Results(found)).verdict is not Verdict.NOT_REPRODUCED


def charted() -> list[Experiment]:
    return [BY_CLAIM[f"E{number}"] for number in range(1, 6)]


@pytest.mark.parametrize("experiment", charted(), ids=lambda experiment: experiment.claim)
def test_figures_are_drawn_with_the_published_ranges(experiment: Experiment) -> None:
    assert experiment.charts is not None
    drawn = experiment.charts(results(experiment.claim))
    assert len(drawn) == (4 if experiment.claim == "E5" else 1)
    for chart in drawn.values():
        marks = str(chart.to_dict())
        assert "'type': 'bar'" in marks
        assert "'type': 'rect'" in marks


@pytest.mark.parametrize(("claim", "transferred"), [("E6", [PACING_COUNT] * 2), ("E7", PACKET_COUNTS)])
def test_figures_3_and_4_draw_every_packet_once(claim: str, transferred: Sequence[int]) -> None:
    draw = BY_CLAIM[claim].charts
    assert draw is not None
    (chart,) = draw(results(claim)).values()
    (rows,) = chart.to_dict()["datasets"].values()
    for connection, packets in enumerate(transferred):
        drawn = [row["packet"] for row in rows if row["connection"] == connection]
        # Without T/TCP's option, a segment has room for a few more bytes.
        assert drawn == [*range(1, len(drawn) + 1)]
        assert packets - 2 <= len(drawn) <= packets


@pytest.mark.parametrize("page", PAGES)
def test_e1_html_pre_delivers_html_before_every_other_scheduler(page: str) -> None:
    html = {scheduler: bar("html", Situation.MODEL, page, scheduler) for scheduler in SCHEDULERS}
    assert min(html.values()) == html[Transport.HTML_PRE]


@pytest.mark.parametrize("page", PAGES)
def test_e1_without_losses_all_schedulers_end_a_page_together(page: str) -> None:
    totals = [bar("total", Situation.MODEL, page, scheduler) for scheduler in SCHEDULERS]
    assert max(totals) / min(totals) < 1.01


@pytest.mark.parametrize("page", [page for page in PAGES if page != "map"])
def test_e1_a_bundle_with_unlimited_resources_is_faster_than_an_ensemble(page: str) -> None:
    longer = bar("total", Situation.MODEL, page, Transport.FAIR) / bar(
        "total", Situation.MODEL, page, Transport.RENO
    )
    assert 1.02 <= longer <= 1.27


def test_e1_thirty_five_connections_that_open_do_not_open_the_window() -> None:
    """Check the Java page: its SYN-ACKs are acknowledged before HTML's second packet."""
    cell = Cell(page="java", situation=Situation.MODEL, transport=Transport.HTML_PRE)
    sent = data_packets(simulate(replace(cell.scenario(), record=Record(packets=True))))["sent"]
    assert [sent.filter((sent >= start) & (sent < start + 0.1)).len() for start in (0, 0.1, 0.2)] == [1, 2, 4]


@pytest.mark.parametrize("page", LARGE)
@pytest.mark.parametrize("situation", [Situation.CLIENT, Situation.REALISTIC])
def test_e2_e4_with_four_connections_an_ensemble_is_faster_than_a_bundle(page: str, situation: Situation) -> None:
    """Check the fastest scheduler: pacing delays each scheduler differently (section 4.2)."""
    ensemble = min(bar("total", situation, page, one) for one in SCHEDULERS)
    assert ensemble < 0.96 * bar("total", situation, page, Transport.RENO)


@pytest.mark.parametrize("transport", SCHEDULERS)
@pytest.mark.parametrize("page", PAGES)
def test_e3_a_short_queue_changes_nothing_for_an_ensemble(page: str, transport: Transport) -> None:
    for what in ("html", "total"):
        with_limit, without = (
            bar(what, situation, page, transport) for situation in (Situation.NETWORK, Situation.MODEL)
        )
        assert with_limit == pytest.approx(without, rel=0.02)


@pytest.mark.parametrize("page", LARGE)
def test_e3_a_short_queue_makes_an_unlimited_bundle_times_as_slow_as_an_ensemble(page: str) -> None:
    bundle, ensemble = (bar("total", Situation.NETWORK, page, one) for one in (Transport.RENO, Transport.HTML_PRE))
    assert 2.5 <= bundle / ensemble <= 20


def test_e3_an_unlimited_bundle_loses_a_seventh_of_the_java_page() -> None:
    cell = Cell(page="java", situation=Situation.NETWORK, transport=Transport.RENO)
    assert measured_of(cell)[LOSS] == pytest.approx(0.14, abs=0.02)


@pytest.mark.parametrize("transport", SCHEDULERS)
def test_e4_losses_of_the_bundle_make_every_scheduler_faster_for_the_text_page(transport: Transport) -> None:
    bundle, ensemble = (bar("html", Situation.REALISTIC, "text", one) for one in (Transport.RENO, transport))
    assert ensemble < 0.6 * bundle


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("situation", Situation)
def test_e5_a_repeated_access_is_faster_than_the_first(page: str, situation: Situation) -> None:
    for what, most in (("html", 0.83), ("total", 0.92)):
        first, second = (bar(what, situation, page, Transport.HTML_PRE, again) for again in (False, True))
        assert second < most * first


def trace(connection: int, scenario_of: object) -> tuple[list[float], float]:
    """Return the sending times of a connection's data packets, and its duration; in seconds."""
    own = data_packets(simulate(scenario_of)).filter(connection=connection)
    return [time - own["sent"][0] for time in own["sent"]], own["received"][-1] - own["sent"][0]


def test_e6_the_second_transfer_is_paced_and_ends_0_18_s_sooner() -> None:
    twice = transfers(coarse(ETCP), (0, 8 * SEGMENT_BYTES), (2 * S, 8 * SEGMENT_BYTES))
    (first, first_took), (second, second_took) = (trace(connection, twice) for connection in (0, 1))
    assert len(first) == len(second) == 8
    assert first_took - second_took == pytest.approx(0.18, rel=0.1)
    # Slow start needs four RTTs for data that now leaves within two, the first five packets one by one.
    assert first[-1] > 0.3
    assert second[-1] < 0.15
    paced = [later - earlier for earlier, later in pairwise(second[:5])]
    assert min(paced) > 0
    assert paced == pytest.approx([paced[0]] * 4, rel=0.01)


def test_e6_without_sharing_both_transfers_take_the_same_time() -> None:
    twice = transfers(coarse(RENO), (0, 8 * SEGMENT_BYTES), (2 * S, 8 * SEGMENT_BYTES))
    (first, first_took), (second, second_took) = (trace(connection, twice) for connection in (0, 1))
    assert first == pytest.approx(second)
    assert first_took == pytest.approx(second_took)


def test_e7_connections_share_the_window_equally_as_they_come_and_go() -> None:
    """Check starts at 0, 0.5 and 0.8 s: the third ends first, the second before the first."""
    found = results("E7").measured["etcp-fair"][0]
    assert found["third ends before second"] > 0
    assert found["second ends before first"] > 0
    assert [found[f"1:1:1, connection {number}"] for number in (1, 2, 3)] == pytest.approx([1 / 3] * 3, abs=0.02)
    assert found["1:1 again, connection 1"] == pytest.approx(1 / 2, abs=0.02)
    started = zip((0, S // 2, 8 * S // 10), PACKET_COUNTS, strict=True)
    packets = data_packets(
        simulate(transfers(ETCP, *((start, count * SEGMENT_BYTES) for start, count in started)))
    )
    second_end = packets.filter(connection=1)["sent"].max()
    alone = packets.filter(pl.col("sent") > second_end)
    assert alone.height > 20
    assert set(alone["connection"]) == {0}


def test_e7_connections_that_share_nothing_do_not_split_the_window_of_the_first() -> None:
    """Check Reno: the second connection begins with its own window, which is not half of the first's."""
    started = ((0, 350 * SEGMENT_BYTES), (S // 2, 140 * SEGMENT_BYTES))
    shared = {}
    for each in (ETCP, RENO):
        packets = data_packets(simulate(transfers(each, *started)))
        second = packets.filter(connection=1)["sent"]
        early = packets.filter((pl.col("sent") >= second[0]) & (pl.col("sent") <= second[4]))
        shared[each.name] = early.filter(connection=1).height / early.height
    assert shared["etcp-fair"] > 0.4
    assert shared["reno-ns"] < 0.3


def test_e8_an_ensemble_takes_as_long_as_one_connection_with_pipelining() -> None:
    for comparison in BY_CLAIM["E8"].judge(results("E8")).comparisons:
        assert comparison.ours.value == pytest.approx(1, abs=0.05), comparison.what
