"""Report of a dataset: place of lost time, new findings, and their first day."""

import json
import math
import random
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import click
import polars as pl
import pytest

import tcptrace_http
from tcptrace_http.cli.corpus_report import _Since
from tcptrace_http.cli.main import run
from tcptrace_http.corpus import add_captures
from tcptrace_http.corpus_report import corpus_report
from tcptrace_http.corpus_report.change_point import SIGNIFICANCE, _student_tail, change_point
from tcptrace_http.corpus_report.json import document
from tcptrace_http.corpus_report.page import page
from tcptrace_http.corpus_report.text import rendered
from tcptrace_http.finding_groups import lost_ns

FIRST = datetime(2026, 11, 1, tzinfo=UTC)
BEGAN = datetime(2026, 11, 13, tzinfo=UTC)
DAYS = 20
STALL = timedelta(milliseconds=40)
TIMES = dict.fromkeys(("start", "end", "start_time", "end_time"), pl.Datetime("ns", "UTC"))
TEXTS = dict.fromkeys(("host", "server_software"), pl.String)
TYPES = {**TIMES, **TEXTS, "lost": pl.Duration("ns"), "shared": pl.Duration("ns"), "transaction": pl.UInt32}
TYPES |= {"flow_id": pl.UInt64, "index": pl.UInt32}


def frame(rows):
    return pl.DataFrame(rows, schema_overrides={name: TYPES[name] for name in TYPES if name in rows[0]}).lazy()


class Made:
    """Write tables of a dataset, transaction by transaction."""

    def __init__(self):
        self.rows = {"transactions": [], "flows": [], "findings": [], "waits": []}

    def transaction(self, time, host, target="/", *, software=None, elapsed=2 * STALL):
        flow = len(self.rows["flows"]) + 1
        self.rows["flows"].append({"flow_id": flow, "server": "10.0.0.2", "server_port": 443})
        self.rows["transactions"].append(
            {
                "capture": "capture",
                "flow_id": flow,
                "index": 0,
                "host": host,
                "target": target,
                "start_time": time,
                "end_time": time + elapsed,
                "server_software": software,
            }
        )
        self.rows["waits"].append({"cause": "server.think", "start": time, "end": time + elapsed})
        return flow

    def finding(self, flow, detector, time, **more):
        row = {
            "capture": "capture",
            "flow_id": flow,
            "transaction": None if flow is None else 0,
            "detector": detector,
            "severity": "error",
            "cause": "stall.nagle_delayed_ack",
            "start": time,
            "lost": STALL,
            "shared": timedelta(0),
            "server_software": None,
        }
        self.rows["findings"].append({**row, **more})

    @property
    def tables(self):
        return SimpleNamespace(table=lambda name: frame(self.rows[name]))


@pytest.fixture(scope="module")
def month():
    """Return a month in which one host stalls from the 13th on, and a second pathology appears on the last day."""
    chance = random.Random(7)
    made = Made()
    for day in range(DAYS):
        for number in range(100):
            time = FIRST + timedelta(days=day, seconds=number * 800)
            host = chance.choice(["api.example", "shop.example", None])
            flow = made.transaction(time, host, f"/{number % 3}?secret={number}", software="nginx/1.22.1")
            share = {"api.example": 0.4 if time >= BEGAN else 0.0, "shop.example": 0.1, None: 0.05}[host]
            if chance.random() < share:
                made.finding(flow, "nagle-delayed-ack", time, server_software="nginx/1.22.1")
            if day == DAYS - 1 and number % 10 == 0:
                made.finding(flow, "slow-start-restart", time, cause="stall.slow_start_restart")
    return corpus_report(made.tables, name="month")


def test_the_day_when_it_began_is_reported(month):
    (trend,) = (it for it in month.trends if (it.detector, it.host) == ("nagle-delayed-ack", "api.example"))
    assert trend.changed_at == BEGAN
    assert trend.change.word == "began"


def test_unchanged_findings_have_no_day(month):
    (trend,) = (it for it in month.trends if (it.detector, it.host) == ("nagle-delayed-ack", "shop.example"))
    assert trend.change is None


def test_new_findings_were_never_found_before(month):
    assert month.since == FIRST + timedelta(days=DAYS - 1)
    assert set(month.new["detector"]) == {"slow-start-restart"}


def test_new_findings_since_a_time_are_selected():
    made = Made()
    for day, detector in enumerate(("a", "b", "c")):
        made.finding(made.transaction(FIRST + timedelta(days=day), "h"), detector, FIRST + timedelta(days=day))
    since = corpus_report(made.tables, name="x", since=FIRST + timedelta(days=1))
    ago = corpus_report(made.tables, name="x", since=timedelta(days=1))
    assert sorted(since.new["detector"]) == sorted(ago.new["detector"]) == ["b", "c"]


def test_a_path_has_no_query_and_an_opaque_transaction_the_address_of_its_server(month):
    assert set(month.groups["path"]["path"]) == {"/0", "/1", "/2"}
    assert set(month.groups["host"]["host"]) == {"api.example", "shop.example", "10.0.0.2:443"}


@pytest.mark.parametrize("grouping", ["detector", "host", "path", "server software"])
def test_every_grouping_sums_to_all(month, grouping):
    frame = month.groups[grouping]
    assert frame["findings"].sum() == month.findings > 0
    assert frame["lost_ns"].sum() == month.lost_ns


def test_time_that_two_findings_claim_counts_once():
    made = Made()
    flow = made.transaction(FIRST, "h")
    made.finding(flow, "nagle-delayed-ack", FIRST, lost=STALL)
    made.finding(flow, "short-initial-segment", FIRST, lost=STALL / 2, shared=STALL / 2)
    report = corpus_report(made.tables, name="x")
    assert report.findings == 2
    assert report.lost_ns == 40_000_000


def test_notes_are_left_out():
    made = Made()
    made.finding(made.transaction(FIRST, "h"), "note", FIRST, severity="info")
    assert corpus_report(made.tables, name="x").findings == 0


@pytest.mark.parametrize(("others", "host"), [(["h"], "h"), (["h", "other"], "")])
def test_a_finding_of_a_whole_capture_is_of_its_only_host(others, host):
    made = Made()
    for other in others:
        made.transaction(FIRST, other)
    made.finding(None, "connection-per-request", FIRST)
    assert corpus_report(made.tables, name="x").groups["host"].rows() == [(host, 1, 40_000_000)]


def test_a_short_dataset_is_reported_by_hours():
    made = Made()
    for hour in range(30):
        time = FIRST + timedelta(hours=hour)
        for _ in range(50):
            flow = made.transaction(time, "h")
            if hour >= 20:
                made.finding(flow, "nagle-delayed-ack", time)
    report = corpus_report(made.tables, name="x")
    assert report.every == "hour"
    assert report.trends[0].changed_at == FIRST + timedelta(hours=20)


def test_a_dataset_without_findings_is_reported_in_every_format():
    made = Made()
    made.transaction(FIRST, "h")
    made.finding(1, "note", FIRST, severity="info")
    report = corpus_report(made.tables, name="quiet")
    assert "No finding costs time" in rendered(report, width=80)
    assert "No finding costs time" in page(report)
    assert json.loads(document(report))["findings"] == 0


def test_all_formats_show_the_day(month):
    text = rendered(month, width=100)
    assert "began 2026-11-13" in text
    assert all(len(line) <= 100 for line in text.splitlines())
    (trend,) = (it for it in json.loads(document(month))["trends"] if it["change"] and it["host"] == "api.example"
                and it["detector"] == "nagle-delayed-ack")  # fmt: skip
    assert trend["change"]["at"] == "2026-11-13T00:00:00Z"
    assert sum(point["findings"] for point in trend["points"]) > 0
    assert "nagle-delayed-ack at api.example began 2026-11-13" in page(month)


def test_names_of_captures_are_no_markup():
    made = Made()
    made.finding(made.transaction(FIRST, "<script>alert(1)</script>"), "nagle-delayed-ack", FIRST)
    html = page(corpus_report(made.tables, name="<b>x"))
    assert "<script>alert(1)" not in html
    assert "<b>x" not in html


def test_a_change_is_found_at_the_step_of_the_share():
    change = change_point([0, 0, 0, 0, 20, 25, 22], [1000] * 7)
    assert (change.at, change.before, change.word) == (4, 0.0, "began")
    assert change_point([20, 25, 22, 0, 0, 0, 0], [1000] * 7).word == "ended"


def test_a_busy_day_is_no_change():
    assert change_point([2, 2, 2, 200, 2, 2], [100, 100, 100, 10_000, 100, 100]) is None


def test_few_days_are_no_trend():
    assert change_point([0, 0, 90], [100, 100, 100]) is None


def overdispersed(chance, days, mean, step=None):
    """Return daily counts whose shares vary more than by chance: beta-binomial."""
    counts = []
    for day in range(days):
        share = mean if step is None or day < step[0] else step[1]
        of_day = chance.betavariate(share * 100, (1 - share) * 100)
        counts.append(sum(chance.random() < of_day for _ in range(200)))
    return counts, [200] * days


def test_days_that_differ_without_a_change_seldom_have_one():
    chance = random.Random(1)
    assert sum(change_point(*overdispersed(chance, 30, 0.05)) is not None for _ in range(200)) <= 2


def test_a_change_of_days_that_differ_is_found_at_its_day():
    chance = random.Random(2)
    found = [change_point(*overdispersed(chance, 30, 0.01, (15, 0.1))) for _ in range(50)]
    assert sum(change is not None and abs(change.at - 15) <= 1 for change in found) >= 45


@pytest.mark.parametrize(
    ("t", "freedom", "tail"),
    # Tables of Student's t (NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2), two-sided.
    [(12.706, 1, 0.05), (4.303, 2, 0.05), (2.571, 5, 0.05), (3.169, 10, 0.01), (6.869, 5, SIGNIFICANCE)],
)
def test_the_tail_is_that_of_published_tables(t, freedom, tail):
    assert math.isclose(_student_tail(t, freedom), tail, rel_tol=0.002)


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("2026-11-30", datetime(2026, 11, 30, tzinfo=UTC)),
        ("2026-11-30T08:00+02:00", datetime(2026, 11, 30, 6, tzinfo=UTC)),
        ("12h", timedelta(hours=12)),
        ("2w", timedelta(weeks=2)),
    ],
)
def test_a_time_is_a_date_or_how_long_ago(given, meant):
    assert _Since().convert(given, None, None) == meant


def test_another_time_is_a_usage_error():
    with pytest.raises(click.BadParameter, match="neither a date"):
        _Since().convert("yesterday", None, None)


@pytest.fixture(scope="module")
def dataset(sample_traces, tmp_path_factory):
    location = str(tmp_path_factory.mktemp("reported") / "dataset")
    add_captures([sample_traces / "lan_hdrsep_small.pcap"], into=location, jobs=1)
    return location


def test_the_command_reports_the_findings_of_analyze(dataset, sample_traces, capsys):
    assert run(["corpus", "report", dataset, "--format", "json", "--quiet"]) == 0
    report = json.loads(capsys.readouterr().out)
    analysis = tcptrace_http.analyze(sample_traces / "lan_hdrsep_small.pcap")
    told = analysis.findings.filter(pl.col("severity").cast(pl.String) != "info")
    assert report["transactions"] == analysis.transactions.height
    assert report["findings"] == told.height > 0
    assert report["lost_ns"] == lost_ns(told)
    assert {row["detector"] for row in report["by_detector"]} == set(told["detector"])


@pytest.mark.parametrize("format_name", ["text", "html"])
def test_the_command_writes_every_format_to_a_file(dataset, tmp_path, format_name):
    output = tmp_path / "report"
    assert run(["corpus", "report", dataset, "--format", format_name, "-o", str(output), "--since", "7d"]) == 0
    assert "costs the most" in output.read_text()


def test_a_folder_without_a_dataset_is_reported(tmp_path, capsys):
    assert run(["corpus", "report", str(tmp_path)]) == 2
    assert "is no dataset" in capsys.readouterr().err
