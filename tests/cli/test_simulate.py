"""Command ``simulate``: captures for other tools, and one-line usage errors."""

import itertools
import json

import polars as pl
import pytest

from reference_sim.catalogue import entries

CHOICES = ("--strategy", "http11-pipelined", "--page", "heidemann", "--network", "lan")


def test_a_capture_is_analysed_like_its_simulation(cli, tmp_path):
    path = tmp_path / "page.pcapng"
    assert cli("simulate", *CHOICES, "--stack", "linux-6", "-o", str(path)).code == 0
    document = json.loads(cli("analyze", "--format", "json", str(path)).out)
    assert [row["response_body_bytes"] for row in document["transactions"]] == [6651, 3883, 1866]
    assert document["anomalies"] == []


def test_the_same_seed_gives_the_same_bytes(cli, tmp_path):
    made = [cli("simulate", *CHOICES, "--seed", "7", "-o", str(tmp_path / name)) for name in ("a.pcap", "b.pcap")]
    assert [result.code for result in made] == [0, 0]
    assert (tmp_path / "a.pcap").read_bytes() == (tmp_path / "b.pcap").read_bytes()


def test_the_capture_goes_to_standard_output(cli):
    result = cli("simulate", *CHOICES, "--quiet", "-o", "-")
    assert result.out[:4] == b"\x0a\x0d\x0d\x0a", "a pcapng section header"
    assert result.err == ""


def test_the_truth_is_json_or_parquet(cli, tmp_path):
    out = str(tmp_path / "page.pcapng")
    assert cli("simulate", *CHOICES, "-o", out, "--truth", str(tmp_path / "truth.json")).code == 0
    truth = json.loads((tmp_path / "truth.json").read_text())
    assert [row["fetch"] for row in truth["transactions"]] == [0, 1, 2]
    assert truth["packets"]
    assert cli("simulate", *CHOICES, "-o", out, "--truth", str(tmp_path / "truth")).code == 0
    assert pl.read_parquet(tmp_path / "truth" / "transactions.parquet").height == 3


def test_a_scenario_comes_from_a_file(cli, tmp_path):
    path = tmp_path / "office.toml"
    path.write_text('strategy = "http10-serial"\npage = "heidemann"\nnetwork = "wan"\n')
    result = cli("simulate", "--scenario", str(path), "-o", str(tmp_path / "out.pcapng"), "--at", "server")
    assert result.code == 0
    assert "captured at server; 3 connections, 3 transactions" in result.err


def test_a_strategy_alone_is_simulated_as_its_paper_has_it(cli, tmp_path):
    path = tmp_path / "stalls.pcapng"
    result = cli("simulate", "--strategy", "p-http-headers-fix", "-o", path)
    assert (result.code, "warning" in result.err) == (0, False)
    document = json.loads(cli("analyze", "--format", "json", path).out)
    assert [row["response_header_bytes"] for row in document["transactions"]] == [226, 226, 226]
    assert [finding["detector"] for finding in document["findings"]] == ["odd-short-final-segment"]


def test_a_reader_pauses_as_long_as_is_reported_and_a_contradiction_is_warned_of(cli, tmp_path):
    path = tmp_path / "restart.pcapng"
    longer, shorter = (
        cli("simulate", "--strategy", "p-http-restart-reset", "--think", pause, "-o", path)
        for pause in ("10s", "0s")
    )
    assert "warning" not in longer.err
    assert "warning: a pause of 0 ns" in shorter.err
    took = [float(result.err.split(" simulated seconds")[0].split()[-1]) for result in (longer, shorter)]
    assert took[0] - took[1] > 9
    assert (
        "warning"
        not in cli("simulate", "--strategy", "p-http-restart-reset", "--think", "0s", "--quiet", "-o", path).err
    )


def test_a_claim_is_listed_and_simulated_run_by_run(cli, tmp_path):
    path = tmp_path / "table-1.pcapng"
    listed = json.loads(cli("simulate", "--claim", "H4", "--list", "--format", "json").out)
    assert listed[1] == {"run": 2, "label": "reset 3 s"}
    assert cli("simulate", "--claim", "h4", "--list").out.decode().splitlines()[1] == "2  reset 3 s"
    by_label, by_number = (
        cli("simulate", "--claim", "H4", "--run", run, "-o", path) for run in ("reset 3 s", "2")
    )
    assert "claim H4, run 2: reset 3 s" in by_label.err
    assert by_label.err == by_number.err
    document = json.loads(cli("analyze", "--format", "json", path).out)
    assert "slow-start-restart" in [finding["detector"] for finding in document["findings"]]


def test_connections_are_secured_as_the_name_says(cli, tmp_path):
    path = tmp_path / "page.pcapng"
    assert cli("simulate", *CHOICES, "--tls", "tls-1.2-resumed", "-o", str(path)).code == 0
    document = json.loads(cli("analyze", "--format", "json", str(path)).out)
    assert {row["protocol"] for row in document["transactions"]} == {"tls"}
    lines = cli("analyze", "--table", "tls_handshakes", "--format", "ndjson", str(path)).out.splitlines()
    (handshake,) = map(json.loads, lines)
    assert (handshake["version"], handshake["resumed"]) == ("TLS 1.2", True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--page", "heidemann", "-o", "x"), "--strategy, --scenario or --claim is required"),
        (("--strategy", "http11", "--think", "long", "-o", "x"), "'long' is not a duration"),
        (("--run", "2", "-o", "x"), "--run is a scenario of a claim"),
        (("--claim", "H1", "--page", "heidemann", "-o", "x"), "omit the other names"),
        (("--claim", "H1", "--scenario", "x.toml", "-o", "x"), "omit one"),
        (("--claim", "H99", "-o", "x"), "no claim 'H99'"),
        (("--claim", "H1", "--run", "5", "-o", "x"), "it has 1 to 4"),
        (CHOICES, "-o OUT.pcapng"),
        ((*CHOICES, "--scenario", "x.toml", "-o", "x"), "omit the other names"),
        ((*CHOICES[:-1], "lam", "-o", "x"), "no network 'lam'; did you mean 'lan'?"),
        ((*CHOICES, "--strategy", "http111", "-o", "x"), "no strategy 'http111'; did you mean 'http11'"),
        ((*CHOICES, "--tls", "tls1.3", "-o", "x"), "no TLS 'tls1.3'; did you mean 'tls-1.3'?"),
        ((*CHOICES, "--page", "heideman", "-o", "x"), "no page 'heideman'; did you mean 'heidemann'?"),
        ((*CHOICES, "--stack", "linux-5", "-o", "x"), "no stack 'linux-5'; did you mean 'linux-6'?"),
        ((*CHOICES, "--server-stack", "reno2", "-o", "x"), "no stack 'reno2'; did you mean 'reno'?"),
        ((*CHOICES, "--seed", "-1", "-o", "x"), "--seed"),
        ((*CHOICES, "-o", "nowhere/x.pcapng"), "nowhere/x.pcapng: No such file or directory"),
        ((*CHOICES, "-o", "."), "Is a directory"),
        ((*CHOICES, "-o", "-", "--truth", "nowhere/x.json"), "nowhere/x.json: No such file or directory"),
        ((*CHOICES, "--at", "moon", "-o", "x"), "no link 'moon'"),
        (("--scenario", "nothing.toml", "-o", "x"), "nothing.toml: No such file or directory"),
    ],
)
def test_a_mistake_is_a_line_and_exit_code_2(cli, arguments, message):
    result = cli("simulate", *arguments)
    assert result.code == 2
    assert message in result.err
    assert "Traceback" not in result.err


ENDLESS = """
network = "thesis"
[[servers]]
node = "s1"
stack = "reno"
[[browsers]]
node = "c1"
stack = "reno"
page = "one-large"
plan = "http11"
forever = true
"""
SENSELESS = {
    "no TOML": ("strategy = ", "not TOML"),
    "an unknown field": ('network = "lan"\ncolour = 1', "colour: unknown"),
    "a link from nowhere": ('network = { duplex = [{ rate = "0 b/s" }] }', "network.duplex[0].between"),
    "nobody to talk to": ('network = "lan"', "browsers: the scenario has no traffic"),
    "more than fits": (
        'strategy = "http11"\nnetwork = "lan"\npage = { base = "1000000000000000 B" }',
        "pages[0].objects[0].size.value: 1000000000000000 is above the maximum of",
    ),
    "no end": (ENDLESS, "duration: a client never ends; set a stop time"),
}


@pytest.mark.parametrize(("text", "message"), SENSELESS.values(), ids=SENSELESS)
def test_a_senseless_file_is_a_line_that_names_the_field(process, tmp_path, text, message):
    path = tmp_path / "x.toml"
    path.write_text(text)
    result = process("simulate", "--scenario", path, "-o", tmp_path / "x.pcapng")
    assert (result.code, result.out) == (2, b"")
    assert message in result.err
    assert len(result.err.splitlines()) == 1
    assert not (tmp_path / "x.pcapng").exists()


def test_progress_is_shown_on_a_terminal_only(cli, monkeypatch, tmp_path):
    path = tmp_path / "long.toml"
    path.write_text(f'duration = "60 s"{ENDLESS}')
    command = ("simulate", "--scenario", path, "-o", tmp_path / "x.pcapng")
    monkeypatch.setattr("reference_sim.simulation._STEP_EVENTS", 1000)
    assert "times as fast" not in cli(*command).err
    # A line is due per second: this clock advances one second per call.
    seconds = itertools.count(0, 10**9)
    monkeypatch.setattr("time.monotonic_ns", lambda: next(seconds))
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert "times as fast as the clock" in cli(*command).err
    assert "times as fast" not in cli(*command, "--quiet").err


def test_the_list_names_everything_as_text_and_json(cli):
    text = cli("simulate", "--list").out.decode()
    listed = json.loads(cli("simulate", "--list", "--format", "json").out)
    names = {entry["name"] for table in listed.values() for entry in table}
    assert names == {entry.name for entry in entries()}
    assert all(f"  {name} " in text for name in names)
    assert set(listed) == {"strategies", "pages", "networks", "tcp_stacks", "tls"}


@pytest.mark.parametrize("entry", list(entries()), ids=lambda entry: entry.name)
def test_every_name_is_explained_with_its_source(cli, entry):
    result = cli("explain", entry.name)
    assert result.code == 0
    assert entry.about in result.out.decode()
    assert entry.source in result.out.decode()


def test_a_misspelt_strategy_is_named(cli):
    result = cli("explain", "segment-fild")
    assert result.code == 2
    assert "did you mean" in result.err


def test_explain_lists_the_parts_of_simulations(cli):
    text = cli("explain").out.decode()
    assert all(f"  {entry.name}\n" in f"{text}\n" for entry in entries())
