"""Examples of the documentation: every example has its page's output (``make gen`` rewrites the outputs)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from generate.documentation import agrees, blocks_of, run, written_pages

if TYPE_CHECKING:
    from pathlib import Path

#: Blocks that run or are parsed, and blocks for display only.
RUN = {"console", "python", "toml", "yaml"}
SHOWN = {"sh", "text"}
PAGES = {page.stem: page for page in written_pages()}
LANGUAGES = {
    name: {block.language for block in blocks_of(page.read_text(encoding="utf-8"))} for name, page in PAGES.items()
}
WITH_EXAMPLES = [name for name, languages in LANGUAGES.items() if RUN & languages]


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_of_a_page_give_its_outputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.delenv("SSLKEYLOGFILE", raising=False)
    blocks = blocks_of(PAGES[name].read_text(encoding="utf-8"))
    run(blocks, tmp_path)
    for command in (command for block in blocks for command in block.commands):
        assert command.code == 0, f"{command.text}\n{command.printed}"
        assert agrees(command.shown, command.printed), f"{command.text}\n{command.printed}"


@pytest.mark.parametrize("name", PAGES)
def test_block_of_a_page_runs_or_is_of_a_kind_that_is_shown_only(name: str) -> None:
    assert LANGUAGES[name] <= RUN | SHOWN


def test_elided_output_agrees_with_any_lines_and_with_no_others() -> None:
    assert agrees("first\n...\nlast", "first\nsecond\nthird\nlast")
    assert not agrees("first\n...\nlast", "first\nsecond")
    assert not agrees("first", "first\nsecond")
    assert agrees("", "anything")
