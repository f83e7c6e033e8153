"""Runs notebooks, each in a kernel of its own that knows nothing yet; ``make notebooks`` stores what they give.

``python -m tests.notebooks.execution [NAME …]`` runs all of them, or those that are named. What is stored
depends on the notebook alone: no times of execution, no widgets' state, cells counted from 1.
"""

from __future__ import annotations

import base64
import io
import os
import sys
import tempfile
from pathlib import Path
from typing import Final

import nbformat
from jupyter_client import AsyncKernelManager
from jupyter_client.kernelspec import KernelSpecManager
from nbclient import NotebookClient
from nbformat import NotebookNode
from PIL import Image

__all__ = ["NOTEBOOKS", "executed", "main"]

NOTEBOOKS: Final = Path(__file__).resolve().parents[2] / "notebooks"
#: A notebook takes less than a minute; a cell may take so many seconds on a busy machine.
CELL_SECONDS: Final = 300
#: What is stored of the kernel: its version would differ from machine to machine.
METADATA: Final = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def executed(path: Path) -> NotebookNode:
    """Return the notebook with the outputs that it gives now, run in its folder.

    :raises nbclient.exceptions.CellExecutionError: a cell failed; the message has its traceback.
    """
    notebook = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(path.parent)}}
    with tempfile.TemporaryDirectory() as folder:
        # Sockets of the file system: ports could be taken by others between being chosen and being opened.
        kernel = AsyncKernelManager(
            transport="ipc",
            connection_file=str(Path(folder) / "kernel.json"),
            # None that is installed for the user: this interpreter's own.
            kernel_spec_manager=KernelSpecManager(kernel_dirs=[]),
            kernel_name="python3",
        )
        client = NotebookClient(
            notebook, km=kernel, timeout=CELL_SECONDS, resources=resources, record_timing=False
        )
        # A kernel without the profile, the start-up files and the history of whoever runs it.
        client.execute(env={**os.environ, "IPYTHONDIR": folder}, cleanup_kc=True)
    notebook.metadata = nbformat.from_dict(METADATA)
    for number, cell in enumerate(notebook.cells):
        cell.id = f"c{number}"
        cell.metadata = NotebookNode()
        for output in cell.get("outputs", ()):
            _squeeze(output.get("data", {}))
    return notebook


def _squeeze(data: NotebookNode) -> None:
    """The same picture in a fifth of the bytes: what draws charts is quick rather than thorough."""
    if "image/png" in data:
        smaller = io.BytesIO()
        Image.open(io.BytesIO(base64.b64decode(data["image/png"]))).save(smaller, "PNG", optimize=True)
        data["image/png"] = base64.b64encode(smaller.getvalue()).decode()


def main() -> None:
    names = sys.argv[1:] or sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb"))
    for name in names:
        path = NOTEBOOKS / f"{name}.ipynb"
        nbformat.write(executed(path), path)
        print(path.name)


if __name__ == "__main__":
    main()
