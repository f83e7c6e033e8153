"""Command ``plot``: every chart in every file type, and clear messages on missing data."""

import json

import pytest

from tcptrace_http.charts import CHARTS
from tcptrace_http.cli.main import commands

BEGINNINGS = {".html": b"<!doctype html>", ".svg": b"<svg", ".png": b"\x89PNG", ".json": b"{"}


@pytest.mark.parametrize("suffix", BEGINNINGS)
def test_file_type_follows_its_name(cli, sample_traces, tmp_path, suffix):
    out = tmp_path / f"chart{suffix}"
    result = cli("plot", "waits", sample_traces / "heidemann_1996_figure2.pcap", "-o", out)
    assert (result.code, result.out, result.err) == (0, b"", "")
    assert out.read_bytes().lstrip().startswith(BEGINNINGS[suffix])


@pytest.mark.parametrize("chart", CHARTS)
def test_every_chart_is_drawn(cli, sample_traces, tmp_path, chart):
    captures = [sample_traces / f"heidemann_1996_figure{number}.pcap" for number in (2, 4)]
    out = tmp_path / "chart.json"
    assert cli("plot", chart, *captures[: 2 if chart == "comparison" else 1], "-o", out).code == 0
    assert json.loads(out.read_text())["layer"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["time-sequence", "--flow", "9"], "flow 9 has no segments"),
        (["waterfall", "--retrieval", "9"], "there is no retrieval 9"),
        (["waits", "--flow", "0"], "--flow does not apply to the chart waits"),
        (["rtt", "--direction", "server_to_client"], "--direction does not apply to the chart rtt"),
        (["comparison"], "two to four captures"),
        (["nonsense"], "'nonsense' is not one of"),
    ],
)
def test_a_missing_thing_is_a_usage_error(cli, sample_traces, tmp_path, arguments, said):
    out = tmp_path / "chart.svg"
    result = cli("plot", *arguments, sample_traces / "heidemann_1996_figure2.pcap", "-o", out)
    assert (result.code, result.out) == (2, b"")
    assert said in result.err
    assert not out.exists()


def test_suffix_must_be_one_that_is_known(cli, sample_traces, tmp_path):
    result = cli("plot", "waits", sample_traces / "heidemann_1996_figure2.pcap", "-o", tmp_path / "chart.gif")
    assert result.code == 2
    assert ".html, .svg, .png, .json" in result.err


def test_only_a_comparison_is_of_several(cli, sample_traces, tmp_path):
    both = [sample_traces / f"heidemann_1996_figure{number}.pcap" for number in (2, 4)]
    result = cli("plot", "waits", *both, "-o", tmp_path / "chart.svg")
    assert result.code == 2
    assert "takes one capture" in result.err


def test_capture_that_is_not_there_is_named(cli, tmp_path):
    result = cli("plot", "waits", tmp_path / "nothing.pcap", "-o", tmp_path / "chart.svg")
    assert result.code == 2
    assert "nothing.pcap" in result.err
    assert "internal error" not in result.err


@pytest.mark.parametrize("command", commands.commands)
def test_help_has_examples_and_fits_80_columns(cli, command):
    text = cli(command, "--help").out.decode()
    assert f"  tcptrace-http {command}" in text.partition("Example")[2]
    prose = [line for line in text.splitlines() if "tcptrace-http" not in line]
    assert [line for line in prose if len(line) > 80] == []
