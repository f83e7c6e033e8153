"""README: its commands and their real output (``make gen`` rewrites it)."""

import re
import shutil

from generate.readme import README, SHOWN, printed

from tcptrace_http.cli.main import run


def test_readme_shows_its_commands_outputs(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    shown = list(SHOWN.finditer(README.read_text(encoding="utf-8")))
    assert [match[2].split()[0] for match in shown] == ["analyze"]
    assert [printed(match[2]) for match in shown] == [match[3] for match in shown]


def test_commands_that_draw_do_so(monkeypatch, tmp_path, sample_traces):
    """Return the section's commands, on a sample in place of the reader's capture."""
    section = README.read_text(encoding="utf-8").partition("## Charts\n")[2].partition("\n## ")[0]
    commands = re.findall(r"^(?:\.venv/bin/)?tcptrace-http ((?:plot|analyze) [^#\n]*)", section, re.MULTILINE)
    assert len(commands) == 6
    for name in ("slow.pcap", "before.pcap", "after.pcap"):
        shutil.copy(sample_traces / "bsd_phttp_orig.pcap", tmp_path / name)
    monkeypatch.chdir(tmp_path)
    for command in commands:
        output = tmp_path / command.split("-o ")[1].split()[0]
        assert run(command.split()) == 0
        assert output.exists()
