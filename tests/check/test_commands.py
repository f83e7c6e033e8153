"""Commands ``check`` and ``init``: exit codes, options and files."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from captures import ACK, MILLISECOND, PSH, REQUEST, Connection, pcap

from tcptrace_http import analyze
from tcptrace_http.check import check, load_policy, preset
from tcptrace_http.check.formats import FORMATS
from tcptrace_http.check.metrics import METRICS
from tcptrace_http.check.policy_file import PRESETS
from tcptrace_http.cli import check as command
from tcptrace_http.detectors import DETECTORS

HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n"


@pytest.mark.parametrize(
    ("names", "code"),
    [
        (["clean"], 0),
        (["stalled"], 1),
        (["clean", "stalled"], 1),
        (["other"], 3),
        (["cut"], 3),
        (["none"], 2),
        (["clean", "none"], 2),
        (["stalled", "none"], 1),
    ],
)
def test_exit_code_shows_the_outcome(cli, folder, names, code):
    result = cli("check", *(folder / f"{name}.pcap" for name in names), "--quiet")
    assert result.code == code
    verdict = {0: "passed", 1: "failed", 3: "inconclusive"}
    assert code == 2 or result.out.splitlines()[-1].startswith(verdict[code])
    assert ("none.pcap" in result.err) == ("none" in names)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "Missing argument"),
        (("x.pcap", "--select", "short-inital-segment"), "did you mean 'short-initial-segment'?"),
        (("x.pcap", "--ignore", "tfb"), "did you mean 'ttfb'?"),
        (("x.pcap", "--output-file", "sarif"), "FORMAT:PATH"),
        (("x.pcap", "--output-file", "pdf:x"), "FORMAT:PATH"),
        (("x.pcap", "--preset", "lan", "--policy", "p.toml"), "two policies"),
        (("x.pcap", "--policy", "none.toml"), "none.toml: No such file"),
    ],
)
def test_usage_that_makes_no_sense_is_exit_code_2(cli, options, said):
    result = cli("check", *options)
    assert (result.code, result.out) == (2, "")
    assert said in result.err


def test_fail_on_select_and_ignore_determine_the_failures(cli, folder):
    path = folder / "stalled.pcap"
    assert cli("check", path, "--fail-on", "never").code == 0
    assert cli("check", path, "--select", "cork-timeout").code == 0
    assert cli("check", path, "--ignore", "short-initial-segment").code == 0
    assert cli("check", path, "--select", "short-initial-segment").code == 1


@pytest.mark.parametrize(("choice", "code"), [("", 3), ("pass", 0), ("fail", 1)])
def test_exit_code_of_an_inconclusive_verdict_can_be_chosen(cli, folder, choice, code):
    options = ["--inconclusive", choice] if choice else []
    assert cli("check", folder / "other.pcap", *options).code == code


@pytest.mark.parametrize("choice", ["pass", "fail"])
def test_other_verdicts_keep_their_exit_codes(cli, folder, choice):
    assert cli("check", folder / "clean.pcap", "--inconclusive", choice).code == 0
    assert cli("check", folder / "stalled.pcap", "--inconclusive", choice).code == 1
    assert cli("check", folder / "none.pcap", "--inconclusive", choice).code == 2


@pytest.fixture
def merged(tmp_path):
    """Write a capture with responses merged by segmentation offload; other bodies may be held."""

    def written(*, stall: int = 0):
        connection = Connection()
        connection.open()
        for _ in range(3):
            connection.from_client(REQUEST, PSH | ACK, after=MILLISECOND)
            connection.from_server(HEAD % 20_000 + bytes(20_000), PSH | ACK, after=MILLISECOND)
            connection.from_client(after=20_000)
            if stall:
                connection.from_client(REQUEST, PSH | ACK, after=MILLISECOND)
                connection.from_server(HEAD % 700, PSH | ACK, after=MILLISECOND)
                connection.from_client(after=stall)
                connection.from_server(bytes(700), PSH | ACK, after=MILLISECOND)
                connection.from_client(after=20_000)
        connection.close()
        path = tmp_path / "offload.pcap"
        path.write_bytes(pcap(connection.records))
        return path

    return written


def test_good_server_passes_despite_merged_segments(cli, merged):
    assert cli("check", merged()).code == 0


def test_holds_are_visible_despite_merged_segments(cli, merged):
    result = cli("check", merged(stall=40 * MILLISECOND))
    assert result.code == 1
    assert "short-initial-segment: 3 findings" in result.out


def test_super_segments_are_reported_with_the_command_that_switches_offload_off(cli, merged):
    result = cli("check", merged(), "--preset", "lan")
    assert "inconclusive: unfilled-segments" in result.out
    assert " ".join(result.out.split()).count("ethtool -K IF gro off lro off gso off tso off") == 1


def test_several_files_are_written_at_once_also_of_one_format(cli, folder, tmp_path):
    files = [(name, tmp_path / f"{name}.out") for name in FORMATS] + [("json", tmp_path / "again.json")]
    options = [part for name, path in files for part in ("--output-file", f"{name}:{path}")]
    result = cli("check", folder / "stalled.pcap", "--output-format", "json", *options)
    assert result.code == 1
    assert all(path.read_text() for _, path in files)
    assert (tmp_path / "json.out").read_text() == (tmp_path / "again.json").read_text() == result.out


def test_names_that_the_command_line_knows_are_those_there_are():
    assert set(FORMATS) == set(command.FORMAT_NAMES)
    assert list(FORMATS) == list(command.FORMAT_NAMES)
    assert tuple(PRESETS) == command._PRESET_NAMES


def test_list_has_every_name(cli):
    result = cli("check", "--list")
    assert result.code == 0
    words = set(result.out.split())
    assert words.issuperset((*DETECTORS, *METRICS, *PRESETS))


def test_init_writes_a_policy_that_judges_as_recommended(cli, folder, sample_traces, tmp_path):
    path = tmp_path / "tcptrace-http.toml"
    result = cli("init", path)
    assert result.code == 0
    assert str(path) in result.err
    written = load_policy(path)
    assert written == preset("recommended")
    text = path.read_text()
    assert all(name in text for name in (*DETECTORS, *METRICS))
    for capture in (folder / "stalled.pcap", sample_traces / "lan_4k_chunks.pcap"):
        analysis = analyze(capture)
        assert check([analysis], policy=written) == check([analysis], policy=preset("recommended"))


def test_init_overwrites_a_file_only_on_request(cli, tmp_path):
    path = tmp_path / "own.toml"
    path.write_text("# mine")
    refused = cli("init", path)
    assert (refused.code, path.read_text()) == (2, "# mine")
    assert "--force" in refused.err
    assert cli("init", path, "--force").code == 0
    assert load_policy(path)


def test_every_example_that_the_template_has_is_valid(cli, tmp_path):
    path = tmp_path / "all.toml"
    cli("init", path)
    lines = path.read_text().splitlines()
    # Commented-out settings, each with a limit in place of a missing value.
    bare = [line.removeprefix("# ") for line in lines]
    examples = [
        line for line in bare if line.startswith(('path = "/d', "rules = {", "thresholds = {", "[[match]]"))
    ]
    rules = [line for line in bare if line.partition(" ")[0] in DETECTORS]
    (tmp_path / "examples.toml").write_text("\n".join(["[rules]", *rules, *examples]))
    policy = load_policy(tmp_path / "examples.toml")
    assert set(policy.rules) == set(DETECTORS)
    assert policy.matches[0].thresholds


def test_json_has_every_outcome_and_violation(cli, folder):
    shown = json.loads(cli("check", folder / "stalled.pcap", "--output-format", "json").out)
    assert (shown["schema_version"], shown["verdict"], shown["fail_on"]) == (1, "failed", "error")
    assert {one["name"] for one in shown["outcomes"]} >= {"short-initial-segment", "cork-timeout"}
    (violation,) = [one for outcome in shown["outcomes"] for one in outcome["violations"]]
    assert violation["settings"]
    assert violation["fingerprint"]


def test_help_of_the_gate_imports_neither_libraries_nor_the_core():
    for name in ("check", "probe", "init"):
        run = "from tcptrace_http.cli.main import main; main()"
        command = [sys.executable, "-X", "importtime", "-c", run, name, "--help"]
        finished = subprocess.run(command, capture_output=True, text=True, check=True)
        imported = {line.rpartition("|")[2].strip() for line in finished.stderr.splitlines()}
        assert not imported & {"polars", "tomllib", "h11", "tcptrace_http._native", "importlib.resources"}


@pytest.mark.parametrize("name", [*METRICS, *PRESETS])
def test_metrics_and_presets_are_explained(cli, name):
    result = cli("explain", name)
    assert result.code == 0
    assert f"{name} (metric of a policy, " in result.out or f"{name} (preset of policies)" in result.out


def test_explanation_of_a_detector_names_settings_and_their_sources(cli):
    shown = cli("explain", "slow-start-restart").out
    assert "sysctl net.ipv4.tcp_slow_start_after_idle=0\n    https://" in shown
    assert "Settings" not in cli("explain", "reordering").out
    assert "  satellite\n" in cli("explain").out
