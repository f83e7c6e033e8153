"""The README shows what its first command prints; ``make gen`` writes it anew."""

from generate.readme import README, SHOWN, printed


def test_readme_shows_what_its_command_prints(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    shown = SHOWN.search(README.read_text(encoding="utf-8"))
    assert shown is not None
    assert printed(shown[2]) == shown[3]
