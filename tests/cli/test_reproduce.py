"""Command ``reproduce``: from claim names to pages."""

import json
import re

import pytest

from reference_sim.reproduction import registry
from reference_sim.reproduction.claim import claims
from tests.simulator.reproduction import examples
from tests.simulator.reproduction.examples import experiment

CLAIMS = [f"H{number}" for number in range(1, 12)]


def test_heidemann_end_to_end(cli, tmp_path):
    result = cli("reproduce", "heidemann", "--quick", "--jobs", "1", "-o", tmp_path)
    assert result.code == 0, result.err
    lines = result.out.decode().splitlines()
    assert [line.split()[0] for line in lines[1 : len(CLAIMS) + 1]] == CLAIMS
    assert f"{len(CLAIMS)} reproduced, 0 reproduced in shape, 0 not reproduced" in lines
    assert max(map(len, lines)) <= 80
    assert "\x1b" not in result.out.decode()
    assert {path.name for path in tmp_path.iterdir()} == {
        ".results", "charts", "heidemann-1996.html", "index.html", "summary.csv", "tables",
    }  # fmt: skip
    assert len(list((tmp_path / "tables").iterdir())) == 2 * len(CLAIMS)


def test_json_has_every_figure(cli, tmp_path):
    result = cli("reproduce", "H1", "H4", "--format", "json", "--jobs", "1", "--quiet", "-o", tmp_path)
    assert result.code == 0
    assert result.err == ""
    first, second = json.loads(result.out)
    assert first["claim"] == "H1"
    assert first["verdict"] == "reproduced"
    assert [round(one["ours"], 1) for one in first["comparisons"]] == [42.8, 590.6, 191.0, 25.7]
    # A bound has one end.
    assert None in [one["published_high"] for one in second["comparisons"]]


def test_verdicts_alone_need_no_charts(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    result = cli("reproduce", "H5", "--format", "json", "--jobs", "1", "--quiet")
    assert (result.code, result.err) == (0, "")
    assert [row["verdict"] for row in json.loads(result.out)] == ["reproduced"]
    assert not list(tmp_path.rglob("*.html"))


def test_conclusions_are_tested_with_a_custom_stack(cli, tmp_path):
    ours = ("--stack", "linux-6", "--jobs", "1", "--quiet", "-o", tmp_path)
    text = cli("reproduce", "H1", "H2", *ours)
    assert text.code == 0, text.err
    lines = text.out.decode().splitlines()
    assert [line.split()[0] for line in lines[:3]] == ["claim", "H1", "H2"]
    assert "does not hold" in lines[2], "there is no stall that a heartbeat ends"
    row = json.loads(cli("reproduce", "H1", *ours, "--format", "json").out)[0]
    assert row["conclusion"]["asked"] == 6
    page = cli("reproduce", "H1", *ours, "--format", "markdown").out.decode()
    assert page.startswith("# Conclusions of the papers that hold with linux-6")
    assert "| H1 | " in page
    assert "reproduced; holds (6 of 6)" in page


def test_every_scenario_of_a_claim_is_written_to_be_read_and_analysed(cli, tmp_path):
    result = cli("reproduce", "H4", "K3", "--quick", "--captures", tmp_path)
    assert (result.code, result.out) == (0, b"")
    names = sorted(path.name for path in (tmp_path / "H4").iterdir())
    assert len(names) == 18
    assert names[2:4] == ["002-reset-3-s.pcapng", "002-reset-3-s.toml"]
    again = tmp_path / "again.pcapng"
    written = tmp_path / "H4" / "002-reset-3-s.toml"
    assert cli("simulate", "--scenario", written, "-o", again).code == 0
    assert again.read_bytes() == written.with_suffix(".pcapng").read_bytes()


def test_a_second_call_simulates_nothing(cli, tmp_path, monkeypatch):
    examples.CALLS.clear()
    monkeypatch.setattr(registry, "experiments", lambda: {"H1": experiment("H1", examples.counted)})
    for _ in range(2):
        assert cli("reproduce", "H1", "--jobs", "1", "-o", tmp_path).code == 0
    assert len(examples.CALLS) == 8


@pytest.mark.usefixtures("_interrupts")
def test_an_interrupt_ends_with_130_and_the_next_call_continues(cli, tmp_path, monkeypatch):
    examples.CALLS.clear()
    monkeypatch.setattr(registry, "experiments", lambda: {"H1": experiment("H1", examples.interrupts_here)})
    interrupted = cli("reproduce", "H1", "--jobs", "1", "-o", tmp_path)
    assert (interrupted.code, interrupted.out, interrupted.err.strip()) == (130, b"", "")
    assert cli("reproduce", "H1", "--jobs", "1", "-o", tmp_path).code == 0
    assert len(examples.CALLS) == 4 + 5


def test_failed_runs_exit_with_2_and_the_rest_is_written(cli, tmp_path, monkeypatch):
    both = {"H1": experiment("H1", examples.raises), "H2": experiment("H2")}
    monkeypatch.setattr(registry, "experiments", lambda: both)
    result = cli("reproduce", "H1", "H2", "--jobs", "1", "-o", tmp_path)
    assert result.code == 2
    assert "could not run run 0: ValueError: no such figure" in result.err
    assert "Traceback" not in result.err
    assert "1 reproduced, 0 reproduced in shape, 1 not reproduced" in result.out.decode()
    assert (tmp_path / "tables" / "H2.csv").exists()


def test_torn_results_are_reported(cli, tmp_path):
    (tmp_path / ".results").mkdir()
    (tmp_path / ".results" / "results.jsonl").write_bytes(b'{"run": "torn')
    result = cli("reproduce", "H6", "--jobs", "1", "-o", tmp_path)
    assert result.code == 0
    assert "1 results" in result.err


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ((), "say what to reproduce"),
        (("heidemannn",), "did you mean 'heidemann'"),
        (("all", "--seeds", "0"), "--seeds"),
        (("H1", "--jobs", "none"), "--jobs"),
        (("H1", "--stack", "linux-5"), "no stack 'linux-5'; did you mean 'linux-6'?"),
        (("H1", "--network", "lam"), "no network 'lam'; did you mean 'lan'?"),
        (("H1", "--format", "markdown"), "--stack NAME"),
    ],
)
def test_usage_errors_end_with_2(cli, tmp_path, arguments, what):
    result = cli("reproduce", *arguments, "-o", tmp_path / "none")
    assert result.code == 2
    assert what in result.err
    assert not (tmp_path / "none").exists()


def test_the_list_has_every_claim_in_80_columns(cli):
    lines = cli("reproduce", "--list").out.decode().splitlines()
    assert max(map(len, lines)) <= 80
    listed = [match[1] for line in lines if (match := re.match(r"  ([GHEKB]\d+) ", line))]
    papers = list(dict.fromkeys(claim.paper for claim in claims().values()))
    assert listed == sorted(claims(), key=lambda name: papers.index(claims()[name].paper))
    as_json = json.loads(cli("reproduce", "--list", "--format", "json").out)
    assert [row["claim"] for row in as_json] == list(claims())


@pytest.mark.slow
def test_all_in_a_hurry(cli, tmp_path):
    """Check every claim of every paper, and the baselines: no failure, and no simulation on a second call."""
    result = cli("reproduce", "all", "--quick", "--jobs", "2", "-o", tmp_path)
    assert result.code == 0, result.err
    assert [line.split()[0] for line in result.out.decode().splitlines()[1 : len(claims()) + 1]] == list(claims())
    pages = {path.stem for path in tmp_path.glob("*.html")}
    assert pages == {"index", "baselines", *(claim.paper for claim in claims().values())}
    kept = (tmp_path / ".results" / "results.jsonl").read_bytes()
    again = cli("reproduce", "all", "--quick", "--jobs", "2", "-o", tmp_path)
    assert again.out == result.out
    assert (tmp_path / ".results" / "results.jsonl").read_bytes() == kept
