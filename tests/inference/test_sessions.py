"""Sessions: several pages of one client, reproduced with pauses and visible program settings."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import tcptrace_http
from reference_sim.networks import path
from reference_sim.page import Constant, Page, objects_of
from reference_sim.scenario import Browser, Scenario, Server, Writes
from reference_sim.scenario_file import parse
from reference_sim.simulation import simulate
from reference_sim.stack import DelayTimer, Heartbeat, Nagle, Stack
from reference_sim.stacks import stack
from reference_sim.workloads import retrieval
from tcptrace_http.errors import ScenarioError
from tcptrace_http.inference import NEEDED_TABLES, Inference, infer
from tcptrace_http.inference.observe import observe
from tcptrace_http.inference.report import as_toml
from tests.inference.restarts import judged_policies

if TYPE_CHECKING:
    from reference_sim.plan import Visit

MS = 1_000_000
PAGE = Page(name="page", objects=objects_of(6425, 3657, 1640))
SMALL = Page(name="small", objects=objects_of(700))


def session(
    *,
    page: Page = PAGE,
    visits: int = 4,
    think: int = 300 * MS,
    strategy: str = "http11",
    keeps: bool = True,
    client: Stack | str = "linux-6",
    server: Stack | None = None,
    writes: Writes | None = None,
    delay: int = 10 * MS,
    at: str = "client",
) -> Scenario:
    """Return a browser that visits a page repeatedly over 10 Mb/s."""
    made = retrieval(
        strategy=strategy,
        page=page,
        network=path("lan", rate=10_000_000, delay=delay),
        client_stack=client,
        server_stack=server,
        parse=MS // 10,
        at=at,
    )
    return replace(
        made,
        browsers=tuple(_again(browser, visits, think, keeps=keeps) for browser in made.browsers),
        servers=tuple(_writing(each, writes) for each in made.servers),
    )


def _again(browser: Browser, visits: int, think: int, *, keeps: bool) -> Browser:
    (visit,) = browser.visits
    kept = replace(visit, plan=replace(visit.plan, keeps_connections=keeps))
    return replace(browser, visits=(kept,) * visits, think=Constant(value=think))


def _writing(server: Server, writes: Writes | None) -> Server:
    return replace(server, min_head_bytes=226, writes=server.writes if writes is None else writes)


def retold(scenario: Scenario, tmp_path, *, at: str = "client", whole: bool = True) -> Inference:
    """Return the inference from the capture of a run."""
    capture = tmp_path / "session.pcap"
    simulate(scenario).write_pcap(capture, at=at)
    return infer(tcptrace_http.analyze(capture, tables=NEEDED_TABLES), session=whole)


def elapsed(scenario: Scenario) -> int:
    """Return nanoseconds of all retrievals."""
    return simulate(scenario).totals.retrieval_ns


@pytest.mark.parametrize("keeps", [True, False])
def test_a_session_is_retold_with_its_visits_pauses_and_connections(tmp_path, keeps):
    scenario = session(keeps=keeps)
    found = retold(scenario, tmp_path).scenario
    (browser,) = found.browsers
    assert [visit.think for visit in browser.visits] == [None, *([pytest.approx(300 * MS, rel=0.02)] * 3)]
    assert [visit.plan.keeps_connections for visit in browser.visits] == [keeps, keeps, keeps, False]
    assert elapsed(found) == pytest.approx(elapsed(scenario), rel=0.01)


def test_pauses_are_those_of_the_client_wherever_the_capture_was_taken(tmp_path):
    scenario = session(at="server")
    (browser,) = retold(scenario, tmp_path, at="server").scenario.browsers
    assert [visit.think for visit in browser.visits[1:]] == [pytest.approx(300 * MS, rel=0.02)] * 3


def test_without_the_session_one_retrieval_is_reported(tmp_path):
    found = retold(session(), tmp_path, whole=False).scenario
    assert len(found.browsers[0].visits) == 1


def test_the_file_of_a_session_runs_the_same(tmp_path):
    found = retold(session(), tmp_path)
    text = as_toml(found, "session.pcap")
    assert all(f"# {figure.name}: " in text for figure in found.figures)
    again = parse(text)
    assert elapsed(again) == elapsed(found.scenario)


def test_another_server_is_not_reported(tmp_path):
    found = session(visits=2)
    other = replace(found.servers[0], name="other", port=8081)
    second = replace(found.browsers[0], origin="other", start=5000 * MS)
    capture = tmp_path / "two.pcap"
    simulate(replace(found, servers=(*found.servers, other), browsers=(*found.browsers, second))).write_pcap(
        capture
    )
    analysis = tcptrace_http.analyze(capture, tables=NEEDED_TABLES)
    assert analysis.retrievals.height == 4
    assert len(observe(analysis, session=True).visits) == 2


def test_a_capture_without_http_has_no_session(tmp_path):
    capture = tmp_path / "empty.pcap"
    simulate(session(visits=1)).write_pcap(capture)
    capture.write_bytes(capture.read_bytes()[:24])
    with pytest.raises(ScenarioError):
        infer(tcptrace_http.analyze(capture, tables=NEEDED_TABLES), session=True)


def test_the_timer_of_delayed_acks_is_that_of_the_capture(tmp_path):
    linux = stack("linux-6")
    slow = replace(linux, acks=replace(linux.acks, delay=DelayTimer(delay=44 * MS)))
    scenario = session(page=SMALL, client=slow, server=linux, writes=Writes(head_alone=True), delay=MS)
    found = retold(scenario, tmp_path)
    assert found.figure("client.ack_timer").value == pytest.approx(44 * MS, rel=0.01)
    assert elapsed(found.scenario) == pytest.approx(elapsed(scenario), rel=0.01)


def test_a_heartbeat_whose_clock_is_off_keeps_its_phase_through_a_session(tmp_path):
    sunos = stack("sunos-4.1.3")
    late = replace(sunos, acks=replace(sunos.acks, delay=Heartbeat(period=200_600_000, phase=50 * MS)))
    scenario = session(
        strategy="http10-keep-alive",
        keeps=False,
        client=late,
        server=sunos,
        think=MS,
        visits=6,
        writes=Writes(head_alone=True, chunk_bytes=4096),
        delay=MS // 4,
    )
    found = retold(scenario, tmp_path)
    assert found.figure("client.heartbeat_period").value == pytest.approx(200_600_000, rel=5e-4)
    assert elapsed(found.scenario) == pytest.approx(elapsed(scenario), rel=0.01)


@pytest.mark.parametrize("nagle", [Nagle.BSD, Nagle.STRICT])
def test_nagles_algorithm_of_each_segment_is_distinguished_from_that_of_each_write(tmp_path, nagle):
    sunos = stack("sunos-4.1.3")
    server = replace(sunos, nagle=nagle)
    scenario = session(strategy="http10-keep-alive", client=sunos, server=server, delay=MS // 4)
    assert retold(scenario, tmp_path).figure("server.nagle").value == nagle.value


def test_a_request_in_two_parts_and_the_hold_of_the_second_are_reported(tmp_path):
    scenario = session(page=SMALL, visits=3)
    (browser,) = scenario.browsers
    split = replace(browser, visits=tuple(map(_split, browser.visits)))
    found = retold(replace(scenario, browsers=(split,)), tmp_path)
    assert found.figure("browser.split_request").value == 30
    assert found.figure("client.nagle").value == "minshall"
    assert found.scenario.browsers[0].visits[1].plan.fetches[0].split_after == 30
    free = replace(split, stack=replace(split.stack, nagle=Nagle.OFF))
    assert retold(replace(scenario, browsers=(free,)), tmp_path).figure("client.nagle").value == "off"


def _split(visit: Visit) -> Visit:
    fetches = tuple(replace(fetch, split_after=30) for fetch in visit.plan.fetches)
    return replace(visit, plan=replace(visit.plan, fetches=fetches))


def test_a_pause_between_writes_is_distinguished_from_a_wait_for_an_ack(tmp_path):
    paused = Writes(head_alone=True, gap=15 * MS)
    found = retold(session(page=SMALL, writes=paused, delay=MS), tmp_path)
    (server,) = found.scenario.servers
    assert server.writes.head_alone
    assert server.writes.gap == pytest.approx(15 * MS, rel=0.05)
    held = retold(session(page=SMALL, writes=Writes(head_alone=True), delay=MS), tmp_path)
    assert held.scenario.servers[0].writes.gap == 0


def test_writes_that_no_short_segment_shows_are_reported_by_psh(sample_traces):
    analysis = tcptrace_http.analyze(sample_traces / "bsd_phttp_orig.pcap", tables=NEEDED_TABLES)
    writes = infer(analysis, session=True).figure("server.writes")
    assert (writes.value, writes.alternatives) == ("head alone, 4096 B per write", ("head alone",))


def test_a_client_that_never_acknowledges_at_once_is_reported(tmp_path):
    linux = stack("linux-6")
    lazy = replace(linux, acks=replace(linux.acks, quick_acks=None))
    scenario = session(
        page=SMALL, keeps=False, client=lazy, server=linux, writes=Writes(head_alone=True), delay=MS
    )
    found = retold(scenario, tmp_path)
    assert found.figure("client.quick_acks").value == "no"
    assert elapsed(found.scenario) == pytest.approx(elapsed(scenario), rel=0.02)


def test_the_bound_of_a_browser_that_no_row_of_the_table_has_is_reported(tmp_path):
    many = Page(name="many", objects=objects_of(6000, *[3000] * 12))
    scenario = session(page=many, visits=2, strategy="http10-parallel", keeps=False)
    (browser,) = scenario.browsers
    three = replace(
        browser, visits=tuple(replace(visit, plan=replace(visit.plan, connections=3)) for visit in browser.visits)
    )
    found = retold(replace(scenario, browsers=(three,)), tmp_path)
    assert found.scenario.browsers[0].visits[0].plan.connections == 3


def test_a_nagle_hold_is_not_the_end_of_the_initial_window(tmp_path):
    found = retold(session(writes=Writes(chunk_bytes=4096)), tmp_path)
    assert found.figure("server.initial_window").is_assumed


def test_known_server_defaults_apply_without_evidence_on_nagles_algorithm(tmp_path):
    scenario = session(page=SMALL, visits=2)
    nginx = tuple(replace(server, product="nginx/1.22.1") for server in scenario.servers)
    nagle = retold(replace(scenario, servers=nginx), tmp_path).figure("server.nagle")
    assert (nagle.value, nagle.is_assumed) == ("off", True)


@pytest.mark.slow
def test_visible_effects_of_idle_periods_on_cwnd_are_reported():
    sessions = 60
    told = judged_policies(range(2000, 2000 + sessions))
    # If one end has a short RTO, the other end cannot distinguish a reset of cwnd from a decay.
    assert told["wrong"] <= 0.02 * told.total()
    assert told["exact"] + told["alike"] >= 0.6 * told.total()
