"""Generator of the command outputs in the README, run by ``make gen``.

``readme.py --first-report PROGRAM`` runs the README's first report with an installed program, and compares.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).resolve().parents[2] / "README.md"
#: Command arguments, and the following block with the command's output.
SHOWN = re.compile(
    r"(\.venv/bin/tcptrace-http (analyze [^\n]+)\n```\n\n```\n)(.*?)\n?(?=^```)",
    re.DOTALL | re.MULTILINE,
)
#: Command line of this checkout.
_HERE = (sys.executable, "-c", "from tcptrace_http.cli.main import main; main()")


def printed(arguments: str, program: tuple[str, ...] = _HERE) -> str:
    """Return the command's output, run from the root of the repository."""
    command = [*program, *arguments.split()]
    finished = subprocess.run(command, cwd=README.parent, capture_output=True, text=True, check=True)
    return finished.stdout.rstrip()


def first_report(program: str) -> None:
    """Run the first report with this program; it must equal the printed report."""
    shown = SHOWN.search(README.read_text(encoding="utf-8"))
    if shown is None:
        sys.exit(f"{README}: there is no command with a report")
    if printed(shown[2], (program,)) != shown[3]:
        sys.exit(f"{program} {shown[2]}: the report is not the one in {README}")
    print(shown[2])


def main() -> None:
    if sys.argv[1:2] == ["--first-report"]:
        first_report(sys.argv[2])
        return
    text = README.read_text(encoding="utf-8")
    README.write_text(SHOWN.sub(lambda match: f"{match[1]}{printed(match[2])}\n", text), encoding="utf-8")


if __name__ == "__main__":
    main()
