"""First commands of the README, and the output of the installation."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
README = (REPOSITORY / "README.md").read_text(encoding="utf-8")


def test_readme_is_at_most_150_lines():
    assert README.count("\n") <= 150


def test_readme_starts_with_two_commands_and_ci_runs_the_second():
    blocks = re.findall(r"^```sh\n(.*?)^```", README.partition("\n## ")[0], re.DOTALL | re.MULTILINE)
    first, second = (line for block in blocks for line in block.splitlines())
    assert first.startswith("make build && .venv/bin/tcptrace-http analyze ")
    assert second == "make test"
    assert "\nmake test " in (REPOSITORY / ".ci" / "run").read_text(encoding="utf-8")


def test_links_of_the_readme_lead_to_files():
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", README)
    assert len(targets) > 10
    assert [target for target in targets if not (REPOSITORY / target).exists()] == []


@pytest.fixture
def install(tmp_path):
    """Run .ci/install with a script in place of pip; ``path`` is the program search path."""

    def ran(pip: str, path: str = os.environ["PATH"]) -> subprocess.CompletedProcess[str]:
        program = tmp_path / "pip"
        program.write_text(f"#!/bin/bash\n{pip}\n")
        program.chmod(0o755)
        command = [REPOSITORY / ".ci" / "install", program]
        environment = os.environ | {"PATH": path}
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    return ran


def test_installation_shows_each_crate_and_library_and_nothing_else(install):
    done = install(
        "echo '  Running command Building editable'; echo '     Compiling libc v0.2.191'\n"
        "echo '       Running `rustc --crate-name libc`'; echo 'Collecting polars>=2.0 (from tcptrace-http)'"
    )
    assert done.returncode == 0
    assert [line.split() for line in done.stdout.splitlines()[1:]] == [
        ["Compiling", "libc", "v0.2.191"],
        ["Collecting", "polars>=2.0"],
    ]


def test_installation_that_compiles_nothing_is_no_failure(install):
    assert install("true").returncode == 0


def test_failed_installation_ends_with_pips_output(install):
    done = install("echo '     Compiling libc v0.2.191'; echo 'error: linker `cc` not found'; exit 1")
    assert done.returncode == 1
    assert "error: linker `cc` not found" in done.stderr


def test_installation_without_rust_fails_before_pip_runs(install, tmp_path):
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("bash", "dirname"):
        (programs / name).symlink_to(shutil.which(name))
    done = install(f"touch {tmp_path}/ran", path=str(programs))
    assert done.returncode == 1
    assert "https://rustup.rs" in done.stderr
    assert not (tmp_path / "ran").exists()
