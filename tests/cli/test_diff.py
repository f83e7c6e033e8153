"""Command ``diff``: text in 80 columns, JSON with exact sums, plain errors."""

import json

import pytest
from captures import clean_exchange, pcap

from tcptrace_http.cli.diff import CHART_NAMES
from tcptrace_http.difference.plots import CHARTS

SCENARIO = 'strategy = "p-http-both-fixes"\npage = "heidemann"\nnetwork = "lan"\nstack = "sunos-4.1.3"\n'


@pytest.fixture
def scenario(tmp_path):
    path = tmp_path / "fixed.toml"
    path.write_text(SCENARIO)
    return path


def test_text_shows_the_difference_and_its_causes(cli, sample_traces):
    names = ("lan_hdrsep_small.pcap", "lan_hdrsep_small_nodelay.pcap")
    result = cli("diff", *(sample_traces / name for name in names))
    assert (result.code, result.err) == (0, "")
    text = result.out.decode()
    assert "20 aligned retrievals took 847.5 ms on the left, 47.1 ms on the right" in text
    assert "stall.nagle_delayed_ack alone: 820.6 ms (19 short-initial-segment)" in " ".join(text.split())
    assert "stall.nagle_delayed_ack  820.6 ms     0 ns   +820.6 ms" in text
    assert all(len(line) <= 80 for line in text.splitlines())


def test_capture_is_compared_with_a_scenario(cli, sample_traces, scenario):
    result = cli("diff", sample_traces / "bsd_phttp_orig.pcap", scenario)
    assert result.code == 0
    text = result.out.decode()
    assert "(scenario, simulated)" in text
    assert "Only on the left: 5 retrievals" in text
    assert all(len(line) <= 80 for line in text.splitlines())


def test_json_sums_are_exact(cli, sample_traces, scenario):
    result = cli("diff", "--format", "json", sample_traces / "bsd_phttp_orig.pcap", scenario)
    assert result.code == 0
    document = json.loads(result.out)
    assert document["schema_version"] == 1
    assert document["right"]["is_simulated"]
    assert sum(row["difference_ns"] for row in document["causes"]) == document["difference_ns"]
    assert document["left"]["elapsed_ns"] - document["right"]["elapsed_ns"] == document["difference_ns"]
    for row in (*document["retrievals"], *document["transactions"]):
        assert sum(part["difference_ns"] for part in row["causes"]) == row["difference_ns"]
    assert {row["how"] for row in document["transactions"]} == {"renamed", "only_left"}
    assert [row["kind"] for row in document["divergences"]] == ["size", "hold"]


def test_output_goes_to_a_file(cli, sample_traces, tmp_path):
    path = sample_traces / "lan_hdrsep_small.pcap"
    result = cli("diff", "-o", tmp_path / "difference.txt", path, path)
    assert (result.code, result.out) == (0, b"")
    assert "the same time on both sides" in (tmp_path / "difference.txt").read_text()


def test_flows_that_are_asked_for_are_compared(cli, sample_traces):
    path = sample_traces / "bsd_phttp_orig.pcap"
    result = cli("diff", "--flow", "2:2", path, path)
    assert b"Flow 2 of the left side against flow 2 of the right side" in result.out


def test_retrieval_that_is_asked_for_is_compared_alone(cli, sample_traces):
    path = sample_traces / "bsd_phttp_orig.pcap"
    result = cli("diff", "--retrieval", "0:5", "--format", "json", path, path)
    document = json.loads(result.out)
    assert [(row["left_retrieval"], row["right_retrieval"]) for row in document["retrievals"]] == [(0, 5)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--flow", "x"), "neither a number nor LEFT:RIGHT"),
        (("--flow", "1:2:3"), "neither a number nor LEFT:RIGHT"),
        (("--flow", "77"), "77 is no flow of"),
        (("--retrieval", "77"), "77 is no retrieval of"),
    ],
)
def test_choice_that_cannot_be_is_reported(cli, sample_traces, arguments, message):
    path = sample_traces / "lan_hdrsep_small.pcap"
    result = cli("diff", *arguments, path, path)
    assert result.code == 2
    assert message in result.err
    assert "Traceback" not in result.err


def test_scenario_that_cannot_be_is_reported(cli, sample_traces, tmp_path):
    path = tmp_path / "bad.toml"
    path.write_text('strategy = "no-such"\npage = "heidemann"\nnetwork = "lan"\n')
    result = cli("diff", sample_traces / "lan_hdrsep_small.pcap", path)
    assert result.code == 2
    assert "no strategy 'no-such'" in result.err


@pytest.mark.parametrize(
    ("silent", "said"), [("left", "the left side"), ("right", "the right side"), ("both", "either")]
)
def test_capture_without_http_has_nothing_to_compare(cli, joined, tmp_path, silent, said):
    from captures import clean_exchange, pcap

    empty = tmp_path / "handshake.pcap"
    empty.write_bytes(pcap(clean_exchange(1)[:3]))
    sides = [empty if silent in {side, "both"} else joined for side in ("left", "right")]
    result = cli("diff", *sides)
    assert (result.code, result.err) == (0, "")
    text = " ".join(result.out.decode().split())
    assert "There is no HTTP on" in text
    assert f"{said}" in text
    assert "nothing can be compared" in text


def test_capture_that_is_cut_short_is_compared_and_says_so(cli, sample_traces, tmp_path):
    path = sample_traces / "bsd_phttp_orig.pcap"
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(path.read_bytes()[:60_000])
    result = cli("diff", path, cut)
    assert (result.code, result.err) == (0, "")
    assert "(capture, cut short)" in result.out.decode()
    assert "Only on the left:" in result.out.decode()


def test_capture_is_compared_with_a_strategy_on_its_inferred_scenario(cli, sample_traces):
    path = sample_traces / "bsd_phttp_orig.pcap"
    result = cli("diff", path, "p-http-nagle-fix", "--retrieval", "2")
    assert (result.code, result.err) == (0, "")
    text = result.out.decode()
    assert "p-http-nagle-fix  (simulated on the inferred scenario)" in text
    assert "that the capture does not show: tcptrace-http infer lists them" in " ".join(text.split())
    assert all(len(line) <= 80 for line in text.splitlines())


@pytest.mark.parametrize(
    ("left", "right", "message"),
    [
        (
            "bsd_phttp_orig.pcap",
            "http1-pipelined",
            "neither a file nor a strategy or fix; did you mean 'http11-",
        ),
        ("bsd_phttp_orig.pcapng", "http11", "did you mean the file"),
        ("http11", "inferred", "both no files: one side must be a capture"),
        ("bsd_phttp_orig.pcap", "ftp", "ftp is not HTTP"),
        ("bsd_phttp_orig.pcap", "http11+no-nagel", "did you mean 'no-nagle'"),
        ("bsd_phttp_orig.pcap", "prefetch", "which is not in the capture"),
        ("bsd_phttp_orig.pcap", "xyzzy", "(these are: inferred, http10-serial"),
    ],
)
def test_name_that_can_be_no_side_is_reported(cli, sample_traces, monkeypatch, left, right, message):
    monkeypatch.chdir(sample_traces)
    result = cli("diff", left, right)
    assert result.code == 2
    assert message in result.err
    assert "Traceback" not in result.err


def test_file_that_is_called_like_a_strategy_is_a_file(cli, sample_traces, tmp_path, monkeypatch):
    path = sample_traces / "lan_hdrsep_small.pcap"
    (tmp_path / "http11").write_bytes(path.read_bytes())
    monkeypatch.chdir(tmp_path)
    result = cli("diff", path, "http11")
    assert "the same time on both sides" in result.out.decode()


def test_strategy_on_a_capture_without_http_is_reported(cli, tmp_path):
    from captures import clean_exchange, pcap

    empty = tmp_path / "handshake.pcap"
    empty.write_bytes(pcap(clean_exchange(1)[:3]))
    result = cli("diff", empty, "http11")
    assert result.code == 2
    assert "has no retrieval from which a scenario could be inferred" in result.err


def test_report_goes_to_a_file(cli, sample_traces, tmp_path):
    path = sample_traces / "lan_hdrsep_small.pcap"
    result = cli("diff", "--format", "html", "-o", tmp_path / "report.html", path, path)
    assert (result.code, result.out, result.err) == (0, b"", "")
    assert "<h1>Both sides take the same time</h1>" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize("chart", CHARTS)
def test_every_chart_is_drawn(cli, sample_traces, tmp_path, chart):
    names = ("lan_hdrsep_small.pcap", "lan_hdrsep_small_nodelay.pcap")
    path = tmp_path / "chart.json"
    result = cli("diff", "--chart", chart, "-o", path, *(sample_traces / name for name in names))
    assert (result.code, result.out, result.err) == (0, b"", "")
    assert json.loads(path.read_text())["layer"]


def test_command_knows_every_chart():
    assert set(CHART_NAMES) == set(CHARTS)


def test_chart_needs_a_file_name_with_a_known_suffix(cli, sample_traces):
    path = sample_traces / "lan_hdrsep_small.pcap"
    result = cli("diff", "--chart", "causes", path, path)
    assert result.code == 2
    assert ".html, .svg, .png, .json" in result.err


def test_chart_of_missing_data_is_a_usage_error(cli, joined, tmp_path):
    from captures import clean_exchange, pcap

    empty = tmp_path / "handshake.pcap"
    empty.write_bytes(pcap(clean_exchange(1)[:3]))
    result = cli("diff", "--chart", "causes", "-o", tmp_path / "chart.svg", empty, joined)
    assert result.code == 2
    assert "no retrieval of both sides" in result.err


def test_response_whose_request_the_capture_lacks_is_compared(cli, tmp_path):
    whole, without = tmp_path / "whole.pcap", tmp_path / "without.pcap"
    records = clean_exchange(2)
    whole.write_bytes(pcap(records))
    without.write_bytes(pcap([record for record in records if b"GET /" not in record[1]]))
    for sides in ((whole, without), (without, whole), (without, without)):
        result = cli("diff", *sides)
        assert "internal error" not in result.err
        assert result.code == 0
