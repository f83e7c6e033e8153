"""Predictions from captures: Heidemann's Table 1, exact sums, repeatability, and impossible predictions."""

import json
import re
from dataclasses import replace

import pytest
from captures import clean_exchange, pcap

import tcptrace_http
from reference_sim.simulation import simulate
from reference_sim.strategies import STRATEGIES
from reference_sim.workloads import retrieval
from tcptrace_http.errors import NothingToDraw, ScenarioError, UnknownName
from tcptrace_http.what_if import FIXES
from tcptrace_http.what_if.draws import draws
from tcptrace_http.what_if.text import headline, retelling

STALL = "stall.nagle_delayed_ack"
MS = 1_000_000


@pytest.fixture(scope="module")
def apache(sample_traces):
    """Return row 2 of Table 1 with BSD's rules: 602 ms per page, of which 590 ms are stalls."""
    return tcptrace_http.whatif(sample_traces / "bsd_phttp_orig.pcap", draws=2)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """Return a capture of a page of 1998 over four connections, with one stack at both ends."""
    path = tmp_path_factory.mktemp("what_if") / "page.pcap"
    made = retrieval(strategy="http10-parallel-4", page="heidemann", network="wan", client_stack="linux-6")
    simulate(made).write_pcap(path)
    return path


def test_model_retells_the_capture(apache):
    assert apache.is_reproduced
    assert apache.off < 0.001
    assert apache.measured_ns == pytest.approx(605 * MS, rel=0.01)


def test_both_fixes_save_the_stalls_of_table_1(apache, sample_traces):
    """Check 605 ms against 26 ms: 579 ms are saved. Our hosts take 12 ms in place of 26 ms."""
    both = tcptrace_http.whatif(sample_traces / "bsd_phttp_orig.pcap", fixes=["one-write+no-nagle"], draws=0)
    saved = both.row("one-write+no-nagle")
    assert saved.saved_ns == pytest.approx(579 * MS, rel=0.15)
    assert saved.causes[0].cause == STALL
    assert saved.causes[0].saved_ns == pytest.approx(saved.saved_ns, rel=0.02)


def test_first_fix_alone_leaves_a_stall_as_table_1_has_it(apache):
    """Check row 3, 195 ms: the head is sent with the data, which is still written in 4 kB chunks."""
    first = apache.row("p-http-headers-fix")
    assert first.elapsed_ns == pytest.approx(195 * MS, rel=0.15)


def test_second_fix_alone_leaves_the_stall_of_slow_start(apache):
    """Check section 2.2: even without Nagle, one short and one full segment wait for the delayed ACK."""
    second = apache.row("no-nagle")
    assert second.saved_ns == pytest.approx(2 * 195 * MS, rel=0.05)
    assert {cause.cause: cause.after_ns for cause in second.causes}[STALL] > 150 * MS


def test_headline_shows_the_fix_the_times_and_the_findings(apache):
    told = headline(apache)
    assert re.match(r"With one-write the retrieval takes 12\.\d ms instead of 60\d\.\d ms: 5[89]\d", told)
    assert "2 short-initial-segment, 1 odd-short-final-segment" in told


def test_open_choices_of_the_capture_are_in_the_range(apache, sample_traces):
    """Check 4.4BSD hosts: they send the same packets here, and would stall again with one write (sosend)."""
    assert set(apache.undetermined["server.stack"]) == {"sunos-4.1.3", "bsd-4.4"}
    assert "leaves server.stack open: sunos-4.1.3 or bsd-4.4" in " ".join(apache.text().split())
    every = tcptrace_http.whatif(sample_traces / "bsd_phttp_orig.pcap", fixes=["one-write"], draws=8)
    saved = every.row("one-write").saved
    assert saved.low_ns < 1 * MS < 580 * MS < saved.high_ns


def test_rows_are_all_there_or_have_a_reason(apache):
    rows = {(row.kind, row.name) for row in apache.rows}
    skipped = {(one.kind, one.name) for one in apache.skipped}
    assert not rows & skipped
    assert rows | skipped == {("fix", name) for name in FIXES} | {("strategy", name) for name in STRATEGIES}
    assert all(one.reason for one in apache.skipped)


def test_causes_sum_to_the_difference_exactly(apache):
    for row in apache.rows:
        assert sum(cause.saved_ns for cause in row.causes) == row.saved_ns, row.name
        assert row.elapsed_ns + row.saved_ns == apache.baseline_ns
        assert row.elapsed.low_ns <= row.elapsed_ns <= row.elapsed.high_ns
        assert row.saved.low_ns <= row.saved_ns <= row.saved.high_ns
    assert sum(apache.baseline_causes.values()) == apache.baseline_ns


def test_rows_begin_with_the_largest_saving(apache):
    saved = [row.saved_ns for row in apache.rows]
    assert saved == sorted(saved, reverse=True)
    assert apache.table["name"].to_list() == [row.name for row in apache.rows]
    assert apache.table["saved"].dt.total_nanoseconds().to_list() == saved


def test_fix_that_changes_nothing_saves_exactly_nothing(sample_traces):
    prediction = tcptrace_http.whatif(sample_traces / "bsd_phttp_orig.pcap", fixes=["keep-alive"])
    row = prediction.row("keep-alive")
    assert (row.saved_ns, row.saved.low_ns, row.saved.high_ns, row.causes) == (0, 0, 0, ())
    assert row.note == FIXES["keep-alive"].unneeded


def test_same_capture_gives_the_same_rows_for_any_thread_count(page):
    ones = [tcptrace_http.whatif(page, fixes="all", draws=1, jobs=jobs).json() for jobs in (1, 3)]
    assert ones[0] == ones[1]


def test_own_strategy_saves_nothing(page):
    prediction = tcptrace_http.whatif(page, strategies=["http10-parallel-4"], draws=2)
    assert prediction.is_reproduced
    assert prediction.row("http10-parallel-4").saved_ns == 0


def test_prediction_equals_the_strategys_simulated_time(page):
    prediction = tcptrace_http.whatif(page, strategies=["http11-pipelined"], draws=0)
    truth = simulate(
        retrieval(strategy="http11-pipelined", page="heidemann", network="wan", client_stack="linux-6")
    ).totals
    assert prediction.row("http11-pipelined").elapsed_ns == pytest.approx(truth.retrieval_ns, rel=0.05)


def test_another_path_takes_the_place_of_the_captured_one(page):
    far = tcptrace_http.whatif(page, fixes=["keep-alive"], rtt="300 ms", rate="10 Mb/s", draws=2)
    same = tcptrace_http.whatif(page, fixes=["keep-alive"], draws=2)
    assert far.modelled_ns == same.modelled_ns == same.baseline_ns
    assert far.baseline_ns > 2 * far.modelled_ns
    assert far.row("keep-alive").saved_ns > same.row("keep-alive").saved_ns
    assert "Over a round trip of 300.0 ms and 10 Mb/s the retrieval takes" in retelling(far)


def test_draws_are_seeded_and_within_the_figures(sample_traces):
    from tcptrace_http.inference import NEEDED_TABLES, infer

    inference = infer(
        tcptrace_http.analyze(sample_traces / "bsd_phttp_orig.pcap", tables=NEEDED_TABLES), retrieval=0
    )
    made = draws([inference.scenario], inference.figures, 6)
    assert made == draws([inference.scenario], inference.figures, 6)
    assert made[0] == inference.scenario
    figure = inference.figure("path.propagation")
    delays = {2 * scenario.network.links[0].delay for scenario in made[1:]}
    assert len(delays) > 3
    assert all(figure.low <= delay <= figure.high for delay in delays)
    assert len({scenario.seed for scenario in made}) == len(made)


def test_draws_retell_the_capture(apache, page):
    """Check the heartbeat's phase: another phase has other stalls, which the capture lacks."""
    for prediction in (apache, tcptrace_http.whatif(page, fixes=["keep-alive"], draws=6)):
        assert prediction.baseline.low_ns >= 0.9 * prediction.modelled_ns
        assert prediction.baseline.high_ns <= 1.1 * prediction.modelled_ns


def test_model_that_is_far_off_is_warned_of(apache):
    assert "Warning" not in retelling(apache)
    assert "Warning: the model is far off" in retelling(replace(apache, modelled_ns=apache.measured_ns // 2))


def test_session_is_all_that_its_client_retrieved(sample_traces):
    """Check 20 small responses on a connection: delayed ACKs of about 42 ms hold 19 of them."""
    path = sample_traces / "lan_hdrsep_small.pcap"
    one = tcptrace_http.whatif(path, fixes=["no-nagle"], draws=0)
    assert (one.retrievals, one.captured_retrievals) == (1, 20)
    assert "The capture has 20 retrievals: --session predicts all of its client." in retelling(one)
    session = tcptrace_http.whatif(path, fixes=["no-nagle"], draws=0, session=True)
    assert session.is_reproduced
    assert session.retrievals == 20
    row = session.row("no-nagle")
    # The same server without Nagle took 47.1 ms in place of 847.5 ms.
    assert row.saved_ns == pytest.approx(800 * MS, rel=0.05)
    assert row.causes[0].cause == STALL
    assert "19 short-initial-segment" in headline(session)


def test_capture_without_a_retrieval_is_reported(tmp_path):
    path = tmp_path / "handshake.pcap"
    path.write_bytes(pcap(clean_exchange(1)[:3]))
    with pytest.raises(ScenarioError, match="no page was retrieved"):
        tcptrace_http.whatif(path)


@pytest.mark.parametrize(
    ("choice", "error"),
    [
        ({"fixes": ["no-nagel"]}, UnknownName),
        ({"strategies": ["http12"]}, ScenarioError),
        ({"rtt": "soon"}, ScenarioError),
        ({"rate": "0 b/s"}, ScenarioError),
        ({"retrieval": 99}, ScenarioError),
    ],
)
def test_choice_that_cannot_be_is_reported(page, choice, error):
    with pytest.raises(error):
        tcptrace_http.whatif(page, **choice)


def test_json_has_all_of_it(apache):
    document = json.loads(apache.json())
    assert document["schema_version"] == 1
    assert [row["name"] for row in document["rows"]] == [row.name for row in apache.rows]
    assert sum(cause["time_ns"] for cause in document["baseline_causes"]) == document["baseline_ns"]
    for row in document["rows"]:
        assert sum(cause["saved_ns"] for cause in row["causes"]) == row["saved_ns"]


def test_second_accesses_are_distinguished(apache):
    again = {row.name for row in apache.rows if row.is_second_access}
    assert {"conditional-get", "http10-ttcp", "p-http-restart-keep"} <= again
    assert not again & {"http11", "getall", "optimistic-delta", "cumulative-cache"}
    first, second = apache.text().split("second access by")
    assert "conditional-get" in second
    assert "conditional-get" not in first


def test_chart_has_a_bar_a_row_and_the_baseline(apache):
    specification = apache.chart().to_dict()
    assert [layer["mark"]["type"] for layer in specification["layer"]] == ["bar", "rule", "rule"]
    assert "ms" in specification["layer"][0]["encoding"]["x"]["title"]
    with pytest.raises(NothingToDraw):
        replace(apache, rows=()).chart()


@pytest.mark.parametrize(
    ("before", "fix", "after"),
    [
        ("bsd_phttp_orig", "one-write+no-nagle", "bsd_phttp_fix2"),
        ("page_rtt100_conn_per_req_serial", "keep-alive", "page_rtt100_keepalive_serial"),
        ("page_rtt100_conn_per_req_serial", "keep-alive+parallel-4", "page_rtt100_keepalive_par4"),
        ("page_rtt100_conn_per_req_serial", "parallel-4", "page_rtt100_conn_per_req_par4"),
        ("page_rtt100_conn_per_req_par4", "keep-alive", "page_rtt100_keepalive_par4"),
        ("page_rtt100_keepalive_serial", "parallel-4", "page_rtt100_keepalive_par4"),
    ],
)
def test_predictions_equal_the_times_of_real_hosts(captures, before, fix, after):
    """Check captures of real stacks before and after the change: within 3 % of the time before."""
    folder = captures / "kernel"
    prediction = tcptrace_http.whatif(folder / f"{before}.pcap", fixes=[fix], draws=0)
    took = tcptrace_http.whatif(folder / f"{after}.pcap", fixes=[], draws=0).measured_ns
    assert prediction.is_reproduced
    assert prediction.row(fix).elapsed_ns == pytest.approx(took, abs=0.03 * prediction.measured_ns)
