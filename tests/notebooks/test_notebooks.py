"""Notebooks: each runs in its own kernel and gives its stored outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import nbformat
import pytest
from nbformat import NotebookNode

from .execution import NOTEBOOKS, executed

if TYPE_CHECKING:
    from pathlib import Path

PATHS = sorted(NOTEBOOKS.glob("*.ipynb"))
#: This notebook runs every day; the others take about ten seconds each.
QUICK = "first_look"
#: Maximum size that a code host displays.
BYTES_MAX = 1_000_000


def notebooks() -> list[object]:
    return [
        pytest.param(path, id=path.stem, marks=[] if path.stem == QUICK else [pytest.mark.slow]) for path in PATHS
    ]


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def shape_and_text(cell: NotebookNode) -> list[tuple[str, frozenset[str], str]]:
    """Return each cell output's kind and formats, and its text unless a picture replaces it."""
    return [
        (each.output_type, frozenset(each.get("data", ())), text_of(each)) for each in merged_streams(cell.outputs)
    ]


def text_of(output: NotebookNode) -> str:
    data = output.get("data", {})
    return "" if "image/png" in data else str(data.get("text/plain", output.get("text", "")))


def merged_streams(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """Merge printed text, which arrives in one or several pieces."""
    merged: list[NotebookNode] = []
    for each in outputs:
        if each.output_type == "stream" and merged and merged[-1].get("name") == each.name:
            merged[-1] = NotebookNode(merged[-1] | {"text": merged[-1].text + each.text})
        else:
            merged.append(each)
    return merged


@pytest.mark.parametrize("path", notebooks())
def test_a_notebook_reproduces_its_stored_outputs_in_a_new_kernel(path: Path) -> None:
    stored = nbformat.read(path, as_version=4)
    now = executed(path)
    assert code_cells(now)
    for before, after in zip(code_cells(stored), code_cells(now), strict=True):
        assert shape_and_text(after) == shape_and_text(before), before.source
        assert not any(each.output_type == "error" or each.get("name") == "stderr" for each in after.outputs)


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_stored_notebook_reads_well_on_a_code_host(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    cells = code_cells(notebook)
    assert path.stat().st_size < BYTES_MAX
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert notebook.cells[0].source.startswith("# ")
    assert "**Shows:**" in notebook.cells[0].source
    charts = [each.data for cell in cells for each in cell.outputs if "image/png" in each.get("data", {})]
    assert charts, "a notebook has at least one chart"
    assert cells[-1].outputs, "a notebook ends with something to see"


def test_the_list_of_notebooks_names_each() -> None:
    text = (NOTEBOOKS / "README.md").read_text(encoding="utf-8")
    assert [path.name for path in PATHS if f"({path.name})" not in text] == []
