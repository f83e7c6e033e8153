"""The README shows what its commands print; ``make gen`` writes it anew."""

import pytest
from generate.readme import README, SHOWN, printed


@pytest.mark.parametrize("command", ["analyze", pytest.param("reproduce", marks=pytest.mark.slow)])
def test_readme_shows_what_its_commands_print(monkeypatch, command):
    monkeypatch.delenv("COLUMNS", raising=False)
    shown = {match[2].split()[0]: match for match in SHOWN.finditer(README.read_text(encoding="utf-8"))}
    assert shown.keys() == {"analyze", "reproduce"}
    assert printed(shown[command][2]) == shown[command][3]
