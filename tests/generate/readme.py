"""Writes what the README's commands print into the README. Run by ``make gen``."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

README = Path(__file__).resolve().parents[2] / "README.md"
#: A command's arguments, and the block after it that shows its output.
SHOWN = re.compile(
    r"(\.venv/bin/tcptrace-http ((?:analyze|diff|reproduce|whatif) [^\n]+)\n```\n\n```\n)(.*?)\n?(?=^```)",
    re.DOTALL | re.MULTILINE,
)


def printed(arguments: str) -> str:
    """What the command prints, from the root of the repository; what it writes is not kept."""
    run = "from tcptrace_http.cli.main import main; main()"
    command = [sys.executable, "-c", run, *arguments.split()]
    with TemporaryDirectory() as folder:
        if command[3] == "reproduce":
            command += ["--output", folder]
        finished = subprocess.run(command, cwd=README.parent, capture_output=True, text=True, check=True)
    return finished.stdout.rstrip()


def main() -> None:
    text = README.read_text(encoding="utf-8")
    README.write_text(SHOWN.sub(lambda match: f"{match[1]}{printed(match[2])}\n", text), encoding="utf-8")


if __name__ == "__main__":
    main()
