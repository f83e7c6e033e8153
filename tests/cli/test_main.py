"""Command line outside the subcommands: help, exit codes, pipes, and no traceback."""

import json
import os
import signal
import subprocess
import sys

import pytest
from captures import clean_exchange, pcap

import tcptrace_http
from tcptrace_http.cli.main import commands, run

COMMAND = [sys.executable, "-m", "tcptrace_http"]


def test_version_and_help_are_there(cli):
    assert cli("--version").out.decode().split()[-1] == tcptrace_http.__version__
    text = cli("--help").out.decode()
    assert "analyze" in text
    assert "explain" in text


@pytest.mark.parametrize("arguments", [["analyze"], ["nonsense"], ["analyze", "--format", "doc", "x"], ["--no"]])
def test_usage_error_is_exit_code_2(cli, arguments):
    result = cli(*arguments)
    assert result.code == 2
    assert result.out == b""
    assert "Error" in result.err


def test_standard_input_is_a_capture_too(process):
    result = process("analyze", "--format", "json", "-", stdin=pcap(clean_exchange(2)))
    assert result.code == 0, result.err
    shown = json.loads(result.out)
    assert shown["capture"]["path"] == "-"
    assert len(shown["transactions"]) == 2


def test_empty_standard_input_is_exit_code_2(process):
    result = process("analyze", "-")
    assert result.code == 2
    assert result.err.startswith("tcptrace-http: -: ")


def test_reader_that_goes_away_is_no_error_message(clean):
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as closed:
        arguments = [*COMMAND, "analyze", str(clean)]
        finished = subprocess.run(arguments, stdout=closed, stderr=subprocess.PIPE, check=False)
    assert finished.returncode == -signal.SIGPIPE
    assert finished.stderr == b""


def test_unexpected_failure_is_one_line(cli, clean, monkeypatch):
    def broken(*_arguments, **_options):
        raise RuntimeError("something nobody thought of")

    monkeypatch.setattr("tcptrace_http.analysis.analyze", broken)
    result = cli("analyze", clean)
    assert result.code == 2
    assert result.err.count("\n") == 1
    assert "internal error: RuntimeError: something nobody thought of" in result.err
    monkeypatch.setenv("TCPTRACE_HTTP_TRACEBACK", "1")
    with pytest.raises(RuntimeError):
        run(["analyze", str(clean)])


def test_interrupt_ends_with_the_code_a_shell_expects(cli, clean, monkeypatch):
    def interrupted(*_arguments, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr("tcptrace_http.analysis.analyze", interrupted)
    assert cli("analyze", clean).code == 130


def test_core_of_another_version_is_named_and_how_to_mend_it(process, tmp_path, clean):
    (tmp_path / "sitecustomize.py").write_text(
        "import tcptrace_http._native as core\ncore.__version__ = '0.0.0'\n", encoding="utf-8"
    )
    result = process("analyze", clean, PYTHONPATH=str(tmp_path))
    assert result.code == 2
    assert "the native core is of version 0.0.0" in result.err
    assert "pip install" in result.err


def test_missing_core_is_named_and_how_to_mend_it(process, tmp_path, clean):
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['tcptrace_http._native'] = None\n")
    result = process("analyze", clean, PYTHONPATH=str(tmp_path))
    assert result.code == 2
    assert "the native core could not be loaded" in result.err
    assert result.err.count("\n") == 1


def test_quiet_keeps_standard_error_empty(cli, tmp_path):
    path = tmp_path / "cut.pcap"
    path.write_bytes(pcap(clean_exchange())[:-5])
    assert cli("analyze", "--quiet", path).err == ""


@pytest.mark.parametrize("name", [None, *commands.commands])
def test_help_keeps_its_text(cli, name):
    text = cli(*([name] if name else []), "--help").out.decode()
    assert "\\" not in text
    lines = text.splitlines()
    examples = [line for line in lines if line.strip().startswith(("Example:", "Examples:"))]
    assert examples
    assert all(line.strip() in {"Example:", "Examples:"} for line in examples)
    first = lines[lines.index(examples[0]) + 1]
    assert first.strip().startswith("tcptrace-http ")
