"""Policies on captures: counted findings, threshold values, and inconclusive rules."""

from __future__ import annotations

import pytest
from captures import MILLISECOND, pcap, stalled_exchange

from tcptrace_http import analyze
from tcptrace_http.analysis import in_parts
from tcptrace_http.capture import batches
from tcptrace_http.check import CheckReport, Level, Status, Verdict, check, gathered, parse_policy
from tcptrace_http.check.metrics import METRICS

from .conftest import of_many

STALL = "short-initial-segment"


@pytest.fixture
def judged(folder):
    """Judge the folder's captures of these names by a policy."""

    def of(policy: str, *names: str, **options: object) -> CheckReport:
        analyses = (analyze(folder / f"{name}.pcap") for name in names)
        return check(analyses, policy=parse_policy(policy), **options)

    return of


def outcome(report: CheckReport, name: str = STALL):
    (found,) = [one for one in report.outcomes if one.name == name]
    return found


def test_finding_that_a_rule_forbids_fails(judged):
    report = judged(f'[rules]\n{STALL} = "error"', "stalled")
    assert report.verdict is Verdict.FAILED
    (violation,) = report.violations
    assert (violation.name, violation.level, violation.method, violation.target) == (
        STALL,
        Level.ERROR,
        "GET",
        "/page",
    )
    assert (violation.host, violation.port, violation.status) == ("a.example", 8080, 200)
    # Held from the short segment until its ACK 180 ms later, plus 1 ms.
    assert 180e6 <= violation.lost_ns <= 182e6
    assert violation.settings
    assert judged(f'[rules]\n{STALL} = "error"', "clean").verdict is Verdict.PASSED


@pytest.mark.parametrize(
    ("level", "fail_on", "verdict"),
    [
        ("error", Level.ERROR, Verdict.FAILED),
        ("warn", Level.ERROR, Verdict.PASSED),
        ("warn", Level.WARNING, Verdict.FAILED),
        ("error", None, Verdict.PASSED),
        ("off", Level.WARNING, Verdict.PASSED),
    ],
)
def test_level_and_fail_on_determine_the_failures(judged, level, fail_on, verdict):
    assert judged(f'[rules]\n{STALL} = "{level}"', "stalled", fail_on=fail_on).verdict is verdict


@pytest.mark.parametrize(
    ("options", "status"),
    [
        ("max = 0", Status.FAILED),
        ("max = 1", Status.PASSED),
        ("max-ms = 170", Status.FAILED),
        ("max-ms = 190", Status.PASSED),
        # The handshake's RTT is 1.01 ms.
        ('max-ms = "100*rtt"', Status.FAILED),
        ('max-ms = "200*rtt"', Status.PASSED),
        ("min-confidence = 0.5", Status.FAILED),
        ("min-confidence = 1", Status.PASSED),
    ],
)
def test_options_of_a_rule_select_the_findings(judged, options, status):
    assert outcome(judged(f'[rules]\n{STALL} = ["error", {{ {options} }}]', "stalled")).status is status


def test_findings_are_counted_over_all_captures(judged):
    policy = f'[rules]\n{STALL} = ["error", {{ max = 1 }}]'
    assert outcome(judged(policy, "stalled", "clean")).status is Status.PASSED
    report = judged(policy, "stalled", "again")
    assert outcome(report).status is Status.FAILED
    assert outcome(report).message == "2 findings, 1 allowed"


def test_structure_without_cost_counts_only_on_request(sample_traces):
    def status(rule: str) -> Status:
        policy = parse_policy(f"[rules]\nuncompressed-text = {rule}")
        return outcome(
            check([analyze(sample_traces / "lan_4k_chunks.pcap")], policy=policy), "uncompressed-text"
        ).status

    assert status('"error"') is Status.PASSED
    assert status('["error", { structure = true }]') is Status.FAILED


@pytest.mark.parametrize(
    ("match", "fits"),
    [
        ('host = "A.example"', True),
        ('host = "b.example"', False),
        ('path = "/p*"', True),
        ('path = "/q*"', False),
        ("port = 8080", True),
        ("port = 80", False),
        ('status = "2xx"', True),
        ("status = 404", False),
        ('method = "GET"', True),
        ('method = "HEAD"', False),
        ('method = "GET"\nport = 80', False),
    ],
)
def test_match_has_other_rules_for_its_transactions(judged, match, fits):
    policy = f'[rules]\n{STALL} = "error"\n[[match]]\n{match}\nrules = {{ {STALL} = "off" }}'
    assert judged(policy, "stalled").verdict is (Verdict.PASSED if fits else Verdict.FAILED)


def test_rule_may_be_of_a_match_alone(judged):
    policy = f'[[match]]\npath = "/page"\nrules = {{ {STALL} = "error" }}'
    assert judged(policy, "stalled").verdict is Verdict.FAILED


def test_each_match_counts_for_itself(tmp_path):
    path = tmp_path / "two.pcap"
    path.write_bytes(of_many(4, targets=2))
    rule = f'rules = {{ {STALL} = ["error", {{ max = %d }}] }}'
    for allowed, status in ((2, Status.PASSED), (1, Status.FAILED)):
        matches = "".join(f'[[match]]\npath = "/page{number}"\n{rule % allowed}\n' for number in range(2))
        assert outcome(check([analyze(path)], policy=parse_policy(matches))).status is status


def test_threshold_of_a_match_measures_its_transactions_only(tmp_path):
    path = tmp_path / "two.pcap"
    path.write_bytes(of_many(4, targets=2))
    policy = parse_policy('[[match]]\npath = "/page1"\nthresholds = { ttfb = ["count==2"] }')
    (found,) = check([analyze(path)], policy=policy).outcomes
    assert (found.status, found.message) == (Status.PASSED, "count is 2")
    assert found.name == "ttfb count==2 (path /page1)"


#: The capture `clean`: three transactions per connection, from tests/captures.py. A response has 4,041 bytes
#: in three segments: the first 1 ms after the request, the others 32 us apart.
CLEAN = {
    "ttfb": 1e6,
    "send": 0,
    "receive": 64e3,
    "stall_time": 0,
    "stall_share": 0,
    "response_bytes": 4000,
    "connect": 1e6 + 10e3,
    "requests_per_connection": 3,
    "retransmission_rate": 0,
}


@pytest.mark.parametrize(("metric", "expected"), CLEAN.items())
def test_metric_equals_the_captures_construction(folder, metric, expected):
    found = values_of(metric, analyze(folder / "clean.pcap"))["value"].to_list()
    assert found == pytest.approx(
        [expected] * (1 if metric in {*("connect", "requests_per_connection"), "retransmission_rate"} else 3)
    )


def test_elapsed_has_the_handshake_and_ends_at_the_last_byte(folder):
    found = values_of("elapsed", analyze(folder / "clean.pcap"))["value"].to_list()
    # SYN to request 2.01 ms, request to response 1 ms, the response 64 us; without its last ACK, 20 us later.
    assert found == [2.01e6 + 1e6 + 64e3, 1e6 + 64e3, 1e6 + 64e3]


def test_stall_metrics_equal_the_captures_construction(folder):
    analysis = analyze(folder / "stalled.pcap")
    (stalled,) = values_of("stall_time", analysis)["value"]
    # From the head to the data that its ACK released: 180 ms, plus 1 ms of transit.
    assert 180e6 <= stalled <= 181e6 + 1e6
    (share,) = values_of("stall_share", analysis)["value"]
    (elapsed,) = values_of("elapsed", analysis)["value"]
    assert share == pytest.approx(stalled / elapsed, rel=0.01)


def test_page_time_is_that_of_the_retrieval(sample_traces):
    analysis = analyze(sample_traces / "heidemann_1996_figure2.pcap")
    (found,) = values_of("page_time", analysis)["value"]
    # README: 191.9 ms of 1 transaction.
    assert found == pytest.approx(191.9e6, abs=0.1e6)


def values_of(name, analysis):
    metric = METRICS[name]
    return metric.values(getattr(analysis, metric.table).lazy()).collect()


@pytest.mark.parametrize("metric", METRICS)
def test_every_metric_has_flow_transaction_and_value(folder, metric):
    frame = values_of(metric, analyze(folder / "stalled.pcap"))
    assert frame.columns == ["flow", "transaction", "value"]
    # Content of the capture: cleartext HTTP.
    assert (frame.height >= 1) == (metric != "tls_handshake")


#: Times to the first byte: 1, 2, 3, 4 and 10 ms by construction.
TTFB = (1, 2, 3, 4, 10)


@pytest.fixture
def five(tmp_path):
    path = tmp_path / "five.pcap"
    records = []
    for number, wait in enumerate(TTFB):
        from captures import Connection

        connection = Connection(client=("10.0.0.1", 30_000 + number))
        connection.time += number * 100 * MILLISECOND
        connection.open()
        connection.from_client(b"GET /%d HTTP/1.1\r\nHost: a.example\r\n\r\n" % number, 24, after=MILLISECOND)
        connection.from_server(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 24, after=wait * MILLISECOND)
        connection.from_client(after=20_000)
        connection.close()
        records += connection.records
    path.write_bytes(pcap(records))
    return analyze(path)


@pytest.mark.parametrize(
    ("threshold", "holds", "said"),
    [
        ("avg<=4ms", True, "avg is 4.0 ms"),
        ("avg<4ms", False, "avg is 4.0 ms"),
        ("med==3ms", True, "med is 3.0 ms"),
        ("min>=1ms", True, "min is 1.0 ms"),
        ("max>10ms", False, "max is 10.0 ms"),
        # Linear interpolation between the fourth and the fifth value: 4 + 0.8 * 6.
        ("p(95)<8.9ms", True, "p(95) is 8.8 ms"),
        ("p(95)<8.7ms", False, "p(95) is 8.8 ms"),
        ("p(0)==1ms", True, "p(0) is 1.0 ms"),
        ("p(100)==10ms", True, "p(100) is 10.0 ms"),
        ("count==5", True, "count is 5"),
    ],
)
def test_threshold_compares_an_aggregate(five, threshold, holds, said):
    (found,) = check([five], policy=parse_policy(f'[thresholds]\nttfb = ["{threshold}"]')).outcomes
    assert (found.status, found.message) == (Status.PASSED if holds else Status.FAILED, said)


def test_capture_without_http_is_inconclusive(judged):
    for names in ([], ["empty"], ["other"]):
        report = judged(f'[rules]\n{STALL} = "error"\n[thresholds]\nttfb = ["max<1s"]', *names)
        assert report.verdict is Verdict.INCONCLUSIVE
        assert {one.status for one in report.outcomes} == {Status.INCONCLUSIVE}
    assert judged("", "other").verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize(
    ("cut_short", "verdict"),
    [("ignored", Verdict.PASSED), ("inconclusive", Verdict.INCONCLUSIVE), ("failed", Verdict.FAILED)],
)
def test_truncated_capture_is_judged_by_the_policy(judged, cut_short, verdict):
    report = judged(f'cut-short = "{cut_short}"\n[rules]\nzero-window = "error"', "cut")
    assert report.verdict is verdict


def test_flaw_that_spoils_a_rule_is_inconclusive_up_to_a_share(tmp_path):
    # Without the handshake, and with one direction only: most detectors are inconclusive.
    path = tmp_path / "half.pcap"
    path.write_bytes(pcap([record for number, record in enumerate(stalled_exchange()) if number % 2 == 0]))
    policy = '[rules]\nzero-window = "error"\ninitial-window = "error"'
    strict = check([analyze(path)], policy=parse_policy(policy))
    assert strict.verdict is Verdict.INCONCLUSIVE
    assert any("could not be judged" in one.message for one in strict.outcomes)
    lenient = check([analyze(path)], policy=parse_policy(f'max-inconclusive = "100%"\n{policy}'))
    assert lenient.verdict is Verdict.PASSED


POLICY_OF_ALL = """
extends = "strict"
[thresholds]
page_time = ["p(95)<1ms"]
stall_share = ["max<1%"]
requests_per_connection = ["avg<1"]
[[match]]
path = "/**"
[match.thresholds]
ttfb = ["max<1us"]
connect = ["max<1us"]
"""


@pytest.mark.parametrize("name", ["bsd_phttp_orig", "python_httpserver_lan", "objects_nginx_curl", "ssr_cubic_on"])
def test_capture_that_is_judged_in_parts_gets_the_verdict_of_the_whole(sample_traces, name):
    policy = parse_policy(POLICY_OF_ALL)
    path = sample_traces / f"{name}.pcap"
    parts = in_parts(batches(path, rows_in_a_batch=1))
    assert check([gathered(parts, policy)], policy=policy) == check([analyze(path)], policy=policy)
