"""Runner of notebooks, each in a fresh kernel; ``make notebooks`` stores their outputs.

``python -m tests.notebooks.execution [NAME …]`` runs all notebooks, or the named notebooks. The stored result
depends on the notebook alone: no execution times, no widget state, cells counted from 1.
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
#: Timeout of a cell in seconds on a busy machine; a notebook takes less than a minute.
CELL_SECONDS: Final = 300
#: Stored metadata of the kernel: its version would differ between machines.
METADATA: Final = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def executed(path: Path) -> NotebookNode:
    """Return the notebook with its current outputs, run in its folder.

    :raises nbclient.exceptions.CellExecutionError: a cell failed; the message has its traceback.
    """
    notebook = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(path.parent)}}
    with tempfile.TemporaryDirectory() as folder:
        # File-system sockets: another program could take a chosen port before it is opened.
        kernel = AsyncKernelManager(
            transport="ipc",
            connection_file=str(Path(folder) / "kernel.json"),
            # This interpreter's kernel, not a kernel installed for the user.
            kernel_spec_manager=KernelSpecManager(kernel_dirs=[]),
            kernel_name="python3",
        )
        client = NotebookClient(
            notebook, km=kernel, timeout=CELL_SECONDS, resources=resources, record_timing=False
        )
        # Kernel without the user's profile, start-up files and history.
        client.execute(env={**os.environ, "IPYTHONDIR": folder}, cleanup_kc=True)
    notebook.metadata = nbformat.from_dict(METADATA)
    for number, cell in enumerate(notebook.cells):
        cell.id = f"c{number}"
        cell.metadata = NotebookNode()
        for output in cell.get("outputs", ()):
            _squeeze(output.get("data", {}))
    return notebook


def _squeeze(data: NotebookNode) -> None:
    """Compress the same picture to a fifth of the bytes: chart libraries compress fast, not well."""
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
