"""Inferred scenarios: the simulated parameters are recovered, and invisible parameters are marked as assumed."""

import json
from dataclasses import replace
from statistics import median

import pytest

from reference_sim.scenario_file import parse
from reference_sim.scenario_writer import toml_of
from reference_sim.simulation import simulate
from reference_sim.topology import DataSegments
from reference_sim.workloads import retrieval
from tcptrace_http.inference.report import as_json, as_text, as_toml
from tests.inference.scenarios import random_scenario
from tests.inference.validation import (
    JUDGED,
    PAGE_WITHIN,
    RATE_WITHIN,
    RTT_WITHIN,
    inference_of,
    outcomes,
    page_time,
    worst,
)

EVERYDAY = range(2)
THOROUGH = range(1000, 1500)
#: Permitted share of captures with a wrong quantity: borderline cases, and indistinguishable losses.
MISTAKEN = 0.03
#: A spurious RTO's retransmission may count as a loss: permitted counts outside their interval.
MISCOUNTED = 0.08
JOBS = 2


@pytest.fixture(scope="module")
def inference():
    return inference_of(simulate(random_scenario(0)), "client")


def test_scenarios_are_found_again_from_the_captures_of_both_ends():
    found = list(outcomes(EVERYDAY))
    assert len(found) == 2 * len(EVERYDAY)
    assert worst(found) == []


@pytest.mark.slow
def test_inferences_of_500_random_scenarios_are_right_or_marked_as_assumed():
    found = list(outcomes(THOROUGH, jobs=JOBS))
    assert len(found) == 2 * len(THOROUGH)
    # Required accuracy of each inferred quantity: within 2 % and 10 %.
    for offs, bound in (
        ([each.rtt_off for each in found], RTT_WITHIN),
        ([each.rate_off for each in found], RATE_WITHIN),
    ):
        told = [off for off in offs if off is not None]
        assert len(told) >= 0.7 * len(found)
        assert sum(off > bound for off in told) <= MISTAKEN * len(found)
    for name in JUDGED:
        most = MISCOUNTED if name == "losses" else MISTAKEN
        assert sum(each.words[name] == "wrong" for each in found) <= most * len(found), name
    lossy = [each.page_off for each in found if each.is_lossy]
    assert median(each.page_off for each in found) <= PAGE_WITHIN
    assert median(lossy) <= PAGE_WITHIN
    assert sum(each.page_off <= PAGE_WITHIN for each in found) >= 0.9 * len(found)


def test_the_file_of_an_inferred_scenario_loads_and_runs_the_same(inference):
    again = parse(as_toml(inference, "page.pcap"))
    assert page_time(simulate(again)) == page_time(simulate(inference.scenario))


def test_the_file_gives_the_source_of_each_figure(inference):
    text = as_toml(inference, "page.pcap")
    assert all(f"# {figure.name}: " in text for figure in inference.figures)


def test_the_text_lists_every_figure_and_marks_assumptions_in_lines_of_a_terminal(inference):
    text = as_text(inference, width=80)
    seen, assumed = text.split("Assumed (not shown by the capture)")
    shown = [figure for figure in inference.figures if not figure.name.startswith("objects[")]
    assert any(figure.is_assumed for figure in shown)
    assert all(f"  {figure.name} " in (assumed if figure.is_assumed else seen) for figure in shown)
    assert f"processing of {len(inference.figures) - len(shown)} objects" in seen
    assert max(map(len, text.splitlines())) <= 80


def test_figures_that_were_seen_have_frames_and_a_method(inference):
    for figure in inference.figures:
        assert figure.is_assumed or (figure.frames and figure.how and 0 < figure.confidence <= 1), figure
        assert not figure.is_assumed or figure.reason, figure


def test_json_has_the_figures(inference):
    figures = json.loads(as_json(inference))["figures"]
    assert [figure["name"] for figure in figures] == [figure.name for figure in inference.figures]


def test_a_figure_that_there_is_not_is_an_error(inference):
    with pytest.raises(KeyError):
        inference.figure("path.colour")


@pytest.mark.parametrize("seed", range(6))
def test_any_written_scenario_is_read_back_unchanged(seed):
    scenario = random_scenario(seed)
    written = toml_of(scenario)
    # TOML expresses a non-binding limit on connections differently; all else is equal.
    assert toml_of(parse(written)) == written
    assert page_time(simulate(parse(written))) == page_time(simulate(scenario))


@pytest.mark.parametrize(
    ("strategy", "writes", "nagle"),
    [("p-http-apache-1.1b4", "head alone", "bsd"), ("p-http-nagle-fix", "head alone", "off")],
)
def test_a_separate_head_shows_the_nagle_hold_of_the_body(strategy, writes, nagle):
    found = inference_of(
        simulate(retrieval(strategy=strategy, page="heidemann", network="lan", client_stack="sunos-4.1.3")),
        "client",
    )
    assert str(found.figure("server.writes").value).startswith(writes)
    assert found.figure("server.nagle").value == nagle


def test_packets_that_are_lost_are_counted_and_those_sent_in_vain_are_not():
    plain = random_scenario(0)
    back = plain.network.links[1].title
    base = replace(plain, network=plain.network.with_link(back, loss=()))
    lossy = replace(base, network=base.network.with_link(back, loss=(DataSegments(segments=(1,)),)))
    assert inference_of(simulate(base), "client").figure("path.loss").value == 0
    assert inference_of(simulate(lossy), "client").figure("path.loss").value > 0
