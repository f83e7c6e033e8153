"""Shell completion, tested in the shells themselves where possible."""

import shlex
import subprocess
import sys

import pytest

SHELLS = ("bash", "zsh", "fish")


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """Return the program's name, and an environment that finds it."""
    folder = tmp_path_factory.mktemp("bin")
    path = folder / "tcptrace-http"
    run = "from tcptrace_http.cli.main import main; main()"
    path.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{run}" "$@"\n')
    path.chmod(0o755)
    return path


def script(program, shell: str) -> str:
    command = f"_TCPTRACE_HTTP_COMPLETE={shell}_source {shlex.quote(str(program))}"
    finished = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True)
    assert finished.stderr == ""
    return finished.stdout


@pytest.mark.parametrize("shell", SHELLS)
def test_script_is_one_that_the_shell_can_read(program, shell, tmp_path):
    path = tmp_path / "completion"
    path.write_text(script(program, shell))
    assert "tcptrace-http" in path.read_text()
    subprocess.run([shell, "-n", path], check=True)


def by_bash(program, *words: str) -> list[str]:
    line = " ".join(map(shlex.quote, words))
    requested = (
        f"COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _tcptrace_http_completion {program};"
        ' printf "%s\\n" "${COMPREPLY[@]}"'
    )
    command = ["bash", "--norc", "-c", f"compopt() {{ :; }}; {script(program, 'bash')}\n{requested}"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        (["pl"], ["plot"]),
        (["plot", "wa"], ["waterfall", "waits", "wait-distribution"]),
        (["analyze", "--format", "x"], ["xplot"]),
        (["analyze", "--table", "retr"], ["retrievals", "retrieval_transactions"]),
        (["explain", "stall.ta"], ["stall.tail_loss"]),
        (["explain", "short-init"], ["short-initial-segment"]),
        (["simulate", "--stack", "sunos"], ["sunos-4.1.3"]),
        (["whatif", "--fix", "no-n"], ["no-nagle"]),
        (["diff", "a.pcap", "http11-pipelined-"], ["http11-pipelined-4k"]),
        (["diff", "a.pcap", "no-n"], ["no-nagle"]),
        (["whatif", "--strategy", "getl"], ["getlist"]),
    ],
)
def test_bash_completes(program, words, completed):
    assert by_bash(program, "tcptrace-http", *words) == completed


def test_fish_completes(program, tmp_path):
    path = tmp_path / "completion.fish"
    path.write_text(script(program, "fish"))
    folder = shlex.quote(str(program.parent))
    requested = f'set -x PATH {folder} $PATH; source {path}; complete -C "tcptrace-http plot wa"'
    command = ["fish", "--no-config", "-c", requested]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert {line.split("\t")[0] for line in found.splitlines()} == {"wait-distribution", "waits", "waterfall"}


def test_zsh_gets_names_with_descriptions(program):
    environment = (
        "COMP_WORDS='tcptrace-http simulate --page heide' COMP_CWORD=3 _TCPTRACE_HTTP_COMPLETE=zsh_complete"
    )
    command = ["zsh", "-f", "-c", f"{environment} {program}"]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert told[:2] == ["plain", "heidemann"]
    assert told[2]


def test_captures_are_files(program):
    environment = "COMP_WORDS='tcptrace-http analyze sl' COMP_CWORD=2 _TCPTRACE_HTTP_COMPLETE=bash_complete"
    told = subprocess.run(["sh", "-c", f"{environment} {program}"], capture_output=True, text=True, check=True)
    assert told.stdout.split() == ["file,sl"]
