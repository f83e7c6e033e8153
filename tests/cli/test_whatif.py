"""Command ``whatif``: text in 80 columns, JSON with exact sums, plain errors."""

import json
import re

import pytest

from tcptrace_http.what_if import FIXES


@pytest.fixture
def capture(sample_traces):
    return sample_traces / "bsd_phttp_orig.pcap"


def test_text_begins_with_the_models_error_and_the_largest_saving(cli, capture):
    result = cli("whatif", capture)
    assert (result.code, result.err) == (0, "")
    text = result.out.decode()
    words = " ".join(text.split())
    assert re.search(r"reproduces the retrieval as 60\d\.\d ms \(measured: 601\.8 ms; 0\.\d% off\)\.", words)
    assert "With one-write the retrieval takes 12." in words
    assert "more strategies: --strategy all shows them" in text
    assert "No strategy optimized-browser: 'optimized-browser' needs a network with a hub" in words
    assert all(len(line) <= 80 for line in text.splitlines())


def test_all_rows_are_shown_on_request(cli, capture):
    from reference_sim.strategies import STRATEGIES

    result = cli("whatif", "--strategy", "all", "--jobs", "2", capture)
    assert result.code == 0
    text = result.out.decode()
    assert "more strategies" not in text
    shown = {line.split()[0] for line in text.splitlines() if line}
    named = {name for name in STRATEGIES if any(name.startswith(first.partition("…")[0]) for first in shown)}
    assert len(named) >= len(STRATEGIES) - 2


def test_few_rows_have_their_causes_in_a_table(cli, capture):
    result = cli("whatif", "--fix", "no-nagle+one-write", capture)
    lines = [line.split() for line in result.out.decode().splitlines()]
    row = next(line for line in lines if line[:2] == ["no-nagle+one-write", "stall.nagle_delayed_ack"])
    assert row[3:6] == ["ms", "0", "ns"]
    assert row[2] == row[6]
    assert float(row[2]) == pytest.approx(589, abs=3)


def test_json_sums_are_exact(cli, capture):
    result = cli(
        "whatif", "--format", "json", "--fix", "no-nagle", "--strategy", "http11", "--rtt", "50 ms", capture
    )
    assert result.code == 0
    document = json.loads(result.out)
    assert {row["name"] for row in document["rows"]} == {"no-nagle", "http11"}
    assert document["rtt_ns"] == 50_000_000
    for row in document["rows"]:
        assert sum(cause["saved_ns"] for cause in row["causes"]) == row["saved_ns"]


def test_output_goes_to_a_file(cli, capture, tmp_path):
    path = tmp_path / "whatif.txt"
    result = cli("whatif", "--fix", "no-nagle", "-o", path, capture)
    assert (result.code, result.out) == (0, b"")
    assert "no-nagle" in path.read_text()


@pytest.mark.parametrize("suffix", [".svg", ".html"])
def test_chart_is_drawn(cli, capture, tmp_path, suffix):
    path = tmp_path / f"whatif{suffix}"
    result = cli("whatif", "--fix", "no-nagle", "--strategy", "http11-pipelined", "--chart", path, capture)
    assert result.code == 0
    assert "Predicted time of the retrieval" in path.read_text()


def test_list_names_every_fix_and_needs_no_capture(cli):
    result = cli("whatif", "--list")
    assert result.code == 0
    assert [line.split()[0] for line in result.out.decode().splitlines()] == list(FIXES)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--fix", "no-nagel"), "no fix 'no-nagel'; did you mean 'no-nagle'?"),
        (("--fix", "no-nagle+no-such"), "no fix 'no-such'"),
        (("--strategy", "http11-pipeline"), "no strategy 'http11-pipeline'; did you mean 'http11-pipelined'?"),
        (("--rtt", "soon"), "a duration such as '30 ms'"),
        (("--rate", "fast"), "a rate such as '1.5 Mb/s'"),
        (("--retrieval", "99"), "none has the number 99"),
        (("--chart", "whatif.gif"), "use one of .html, .svg, .png, .json"),
        (("--jobs", "0"), "0 is not in the range"),
    ],
)
def test_choice_that_cannot_be_is_reported(cli, capture, arguments, message):
    result = cli("whatif", *arguments, capture)
    assert (result.code, result.out) == (2, b"")
    assert message in result.err
    assert "Traceback" not in result.err


def test_capture_that_is_missing_is_reported(cli):
    result = cli("whatif")
    assert result.code == 2
    assert "say which CAPTURE" in result.err


def test_capture_without_a_retrieval_is_reported(cli, tmp_path):
    from captures import clean_exchange, pcap

    path = tmp_path / "handshake.pcap"
    path.write_bytes(pcap(clean_exchange(1)[:3]))
    result = cli("whatif", path)
    assert (result.code, result.out) == (2, b"")
    assert "no page was retrieved in this capture" in result.err
