"""Output files: complete or absent, never one of the inputs; and closed or unread streams."""

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from captures import pcap, stalled_exchange

from tcptrace_http.output_file import replacing

COMMAND = [sys.executable, "-m", "tcptrace_http"]


def writing_commands(capture, output):
    """Return every command that writes a file from its input."""
    return {
        "analyze": ["analyze", "--format", "csv", capture, "-o", output],
        "check": ["check", capture, "--output-file", f"json:{output}"],
        "baseline": ["check", capture, "--write-baseline", output],
        "diff": ["diff", capture, capture, "-o", output],
        "infer": ["infer", capture, "-o", output],
        "whatif": ["whatif", capture, "-o", output],
        "simulate": ["simulate", "--scenario", capture, "-o", output],
    }


NAMES = tuple(writing_commands("", ""))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("link", ["same", "hard", "symbolic"])
def test_no_command_writes_over_an_input(cli, stalled, tmp_path, name, link):
    before = stalled.read_bytes()
    output = stalled if link == "same" else tmp_path / "other"
    if link != "same":
        (os.link if link == "hard" else os.symlink)(stalled, output)
    result = cli(*writing_commands(stalled, output)[name])
    assert result.code == 2
    assert "is one of the inputs" in result.err
    assert stalled.read_bytes() == before


def test_chart_is_not_drawn_over_its_capture(cli, stalled, tmp_path):
    output = tmp_path / "chart.svg"
    os.link(stalled, output)
    assert cli("plot", "waits", stalled, "-o", output).code == 2
    assert output.read_bytes() == stalled.read_bytes()


@pytest.mark.parametrize("option", ["--policy", "--baseline"])
def test_policy_and_baseline_are_inputs(cli, stalled, tmp_path, option):
    read = tmp_path / "read"
    read.write_text("[rules]\n")
    result = cli("check", stalled, option, read, "--write-baseline", read)
    assert (result.code, read.read_text()) == (2, "[rules]\n")


def test_standard_input_is_an_input(stalled):
    before = stalled.read_bytes()
    arguments = [*COMMAND, "analyze", "-", "-o", str(stalled)]
    with stalled.open("rb") as capture:
        finished = subprocess.run(arguments, stdin=capture, capture_output=True, check=False)
    assert finished.returncode == 2
    assert stalled.read_bytes() == before


def test_two_outputs_to_one_file_are_refused(cli, stalled, tmp_path):
    output = tmp_path / "both"
    result = cli("check", stalled, "--output-file", f"json:{output}", "--output-file", f"tap:{tmp_path}/./both")
    assert result.code == 2
    assert "two outputs" in result.err
    assert not output.exists()


def write_half(target):
    with replacing(target) as file:
        file.write(b"half")
        raise KeyboardInterrupt


def test_output_file_stays_unchanged_after_a_failure(tmp_path):
    target = tmp_path / "report"
    for before in (None, b"before"):
        if before is not None:
            target.write_bytes(before)
        with pytest.raises(KeyboardInterrupt):
            write_half(target)
        assert (target.read_bytes() if target.exists() else None) == before
        assert list(tmp_path.iterdir()) == ([] if before is None else [target])


def test_output_keeps_permissions_and_links(tmp_path):
    target, link = tmp_path / "report", tmp_path / "link"
    target.touch(0o640)
    link.symlink_to(target)
    with replacing(link) as file:
        file.write(b"whole")
    assert link.is_symlink()
    assert (target.read_bytes(), target.stat().st_mode & 0o777) == (b"whole", 0o640)
    with replacing(tmp_path / "capture", mode=0o600):
        pass
    assert (tmp_path / "capture").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("form", ["text", "json", "csv", "ndjson", "parquet", "html", "har"])
def test_full_disk_is_one_line_and_leaves_no_file(stalled, tmp_path, form):
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    output = tmp_path / "out"
    finished = subprocess.run(
        [*COMMAND, "analyze", "--format", form, str(stalled), "-o", str(output)],
        capture_output=True,
        text=True,
        check=False,
        # Python would leave about a hundred bytes of bytecode, which other processes then read.
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
        preexec_fn=limit,
    )
    assert finished.returncode == 2
    assert finished.stderr == f"tcptrace-http: {output}: File too large\n"
    assert [path.name for path in tmp_path.iterdir()] == [stalled.name]


@pytest.mark.parametrize("form", ["text", "json", "csv", "ndjson", "parquet", "html", "har"])
def test_full_standard_output_is_one_line(stalled, form):
    with Path("/dev/full").open("wb") as full:
        finished = subprocess.run(
            [*COMMAND, "analyze", "--format", form, str(stalled)], stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert finished.returncode == 2
    assert finished.stderr == b"tcptrace-http: output: No space left on device\n"


def shell(line, *arguments):
    return subprocess.run(["bash", "-c", line, "bash", *COMMAND, *arguments], capture_output=True, check=False)


@pytest.mark.parametrize("form", ["text", "json", "csv", "parquet"])
def test_closed_standard_output_is_one_line(stalled, form):
    finished = shell('"$@" >&-', "analyze", "--format", form, str(stalled))
    assert (finished.returncode, finished.stderr) == (2, b"tcptrace-http: output: Bad file descriptor\n")


def test_closed_standard_error_changes_neither_code_nor_output(tmp_path):
    cut, output = tmp_path / "cut.pcap", tmp_path / "out"
    cut.write_bytes(pcap(stalled_exchange())[:-5])
    for closed in ('"$@" 2>&-', '"$@" 2> >(exec true)', '"$@" >&- 2>&- <&-'):
        finished = shell(closed, "analyze", "--format", "csv", str(cut), "-o", str(output))
        assert (finished.returncode, finished.stdout) == (0, b"")
        assert output.read_bytes().startswith(b"flow,")
        output.unlink()
    assert shell('"$@" 2>&-', "analyze", str(tmp_path / "none")).returncode == 2


def test_closed_standard_input_is_reported():
    finished = shell('"$@" <&-', "analyze", "-")
    assert finished.returncode == 2
    assert finished.stderr == b"tcptrace-http: -: standard input is closed\n"
