"""Runner of the documentation's examples; as a program, it updates the outputs in the pages (``make gen``).

A page runs from top to bottom in a folder of its own, in which ``sample_traces`` is the repository's:

- A ``console`` block has commands after ``$ ``, each followed by its output. A line ``...`` in an output
  stands for any lines. Every command must end with exit code 0.
- The ``python`` blocks of a page are one program.
- A block whose first line is ``# file: NAME`` is written to that file; ``toml`` and ``yaml`` must be
  well-formed.
- ``sh`` and ``text`` blocks are for display only: their needs (root, a live network, hours) are not met here.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import tomllib
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = Path(__file__).resolve().parents[2]
DOCS: Final = ROOT / "docs"
_BLOCK: Final = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_FILE: Final = re.compile(r"# file: (\S+)\n")
#: Server name in the pages, and a document large enough for a probe.
_EXAMPLE_PORT: Final = "localhost:8080"
_DOCUMENT_BYTES: Final = 120_000
_ANY_LINES: Final = "..."
#: Separator of two commands' outputs.
_MARK: Final = "\x1e"


@dataclass
class Command:
    """Command of a console block: its text, the page's output, and the real output."""

    text: str
    shown: str
    printed: str = ""
    code: int | None = None


@dataclass
class Block:
    """Fenced block of a page."""

    language: str
    text: str
    commands: list[Command] = field(default_factory=list)

    def rendered(self) -> str:
        """Return the block with its current outputs; outputs with ``...`` stay unchanged."""
        lines = []
        for command in self.commands:
            kept = _ANY_LINES in command.shown.splitlines()
            lines += [f"$ {command.text}", command.shown if kept else command.printed]
        return "".join(f"{line}\n" for line in lines if line)


def written_pages() -> list[Path]:
    """Return the handwritten pages."""
    return sorted(DOCS.glob("*.md"))


def blocks_of(text: str) -> list[Block]:
    """Return the fenced blocks of a page in order."""
    return [
        Block(language, body, _commands(body) if language == "console" else [])
        for language, body in _BLOCK.findall(text)
    ]


def _commands(body: str) -> list[Command]:
    found: list[Command] = []
    for line in body.splitlines():
        if line.startswith("$ "):
            found.append(Command(line.removeprefix("$ "), ""))
        else:
            found[-1].shown += f"{line}\n"
    for command in found:
        command.shown = command.shown.rstrip("\n")
    return found


def run(blocks: list[Block], folder: Path) -> None:
    """Run the blocks of a page in a folder.

    :raises subprocess.CalledProcessError: a command or program failed.
    """
    (folder / "sample_traces").symlink_to(ROOT / "sample_traces")
    program = folder / ".bin" / "tcptrace-http"
    program.parent.mkdir()
    # Subprocesses import this file, and must not run it.
    start = 'from tcptrace_http.cli.main import main\nif __name__ == "__main__":\n    main()\n'
    program.write_text(f"#!{sys.executable}\n{start}")
    program.chmod(0o755)
    environment = os.environ | {
        "PATH": f"{program.parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "COLUMNS": "80",
    }
    programs = "".join(block.text for block in blocks if block.language == "python")
    with _server(folder) as address:
        for block in blocks:
            _write_file(block, folder)
            _run_commands(block.commands, folder, environment, address)
        if programs:
            _checked([sys.executable, "-W", "error", "-c", programs], folder, environment)


def _write_file(block: Block, folder: Path) -> None:
    if named := _FILE.match(block.text):
        target = folder / named[1]
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(block.text.removeprefix(named[0]), encoding="utf-8")
    if block.language == "toml":
        tomllib.loads(block.text)
    if block.language == "yaml":
        yaml.safe_load(block.text)


def _run_commands(commands: list[Command], folder: Path, environment: dict[str, str], address: str) -> None:
    if not commands:
        return
    script = "".join(f"{{ {one.text}\n}} 2>&1; printf '{_MARK}%s{_MARK}' $?\n" for one in commands)
    done = _checked(["bash", "-c", script.replace(_EXAMPLE_PORT, address)], folder, environment)
    parts = done.replace(address, _EXAMPLE_PORT).split(_MARK)
    for command, printed, code in zip(commands, parts[::2], parts[1::2], strict=False):
        command.printed, command.code = printed.rstrip(), int(code)


def _checked(command: list[str], folder: Path, environment: dict[str, str]) -> str:
    finished = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if finished.returncode:
        raise AssertionError(f"{command[-1]}\n{finished.stdout}\n{finished.stderr}")
    return finished.stdout


@contextmanager
def _server(folder: Path) -> Iterator[str]:
    """Serve one large document; yield the server's address."""
    documents = folder / ".documents"
    documents.mkdir()
    (documents / "large.html").write_bytes(bytes(_DOCUMENT_BYTES))
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(documents))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"localhost:{server.server_port}"
        server.shutdown()
        thread.join()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 -- as its base has it
        """Suppress the log."""


def agrees(shown: str, printed: str) -> bool:
    """Return whether an output equals the page's; a page may omit it."""
    if not shown:
        return True
    pattern = "\n".join(re.escape(line) for line in shown.splitlines())
    pattern = re.sub(rf"^{re.escape(re.escape(_ANY_LINES))}$", "(?:.*\n)*.*", pattern, flags=re.MULTILINE)
    return re.fullmatch(pattern, printed) is not None


def main() -> None:
    """Write the current outputs into the pages; arguments select pages."""
    names = sys.argv[1:]
    for page in written_pages():
        text = page.read_text(encoding="utf-8")
        blocks = blocks_of(text)
        if (names and page.stem not in names) or not any(block.commands for block in blocks):
            continue
        with TemporaryDirectory() as folder:
            run(blocks, Path(folder))
        failed = [one for block in blocks for one in block.commands if one.code]
        if failed:
            sys.exit(f"{page.name}: {failed[0].text}\n{failed[0].printed}")
        for block in blocks:
            if block.commands:
                old, new = (f"```console\n{body}```" for body in (block.text, block.rendered()))
                text = text.replace(old, new, 1)
        page.write_text(text, encoding="utf-8")
        print(page.name)


if __name__ == "__main__":
    main()
