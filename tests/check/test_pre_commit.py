"""Hooks of .pre-commit-hooks.yaml, run by pre-commit itself."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
PRE_COMMIT = (sys.executable, "-m", "pre_commit")


def git(*arguments: str, cwd: Path) -> None:
    who = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    subprocess.run(["git", *who, *arguments], cwd=cwd, check=True, capture_output=True)


@pytest.fixture
def commits(tmp_path, folder):
    """Run the hook with the program on PATH, in a repository with these captures."""
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    shutil.copy(REPOSITORY / ".pre-commit-hooks.yaml", hooks)
    git("init", "--quiet", cwd=hooks)
    git("add", "--all", cwd=hooks)
    git("commit", "--quiet", "--message", "hooks", cwd=hooks)
    program = tmp_path / "bin" / "tcptrace-http"
    program.parent.mkdir()
    program.write_text(
        f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(REPOSITORY)!r})\n"
        "from tcptrace_http.cli.main import main\nmain()\n"
    )
    program.chmod(0o755)
    captures = tmp_path / "captures"
    captures.mkdir()
    git("init", "--quiet", cwd=captures)

    def ran(*names: str) -> subprocess.CompletedProcess[str]:
        for name in names:
            shutil.copy(folder / name, captures)
        (captures / "notes.txt").write_text("no capture\n")
        git("add", "--all", cwd=captures)
        environment = os.environ | {
            "PATH": f"{program.parent}:{os.environ['PATH']}",
            "PRE_COMMIT_HOME": str(tmp_path / "cache"),
        }
        command = [*PRE_COMMIT, "try-repo", str(hooks), "tcptrace-http-installed", "--all-files"]
        return subprocess.run(command, cwd=captures, env=environment, capture_output=True, text=True, check=False)

    return ran


def test_manifest_is_one_that_pre_commit_takes():
    subprocess.run([*PRE_COMMIT, "validate-manifest", REPOSITORY / ".pre-commit-hooks.yaml"], check=True)


def test_hook_passes_a_commit_whose_captures_keep_to_the_policy(commits):
    done = commits("clean.pcap")
    assert done.returncode == 0, done.stdout
    assert "Passed" in done.stdout


def test_hook_refuses_a_commit_with_a_stalled_capture_and_names_it(commits):
    done = commits("clean.pcap", "stalled.pcap")
    assert done.returncode == 1, done.stdout
    assert "short-initial-segment" in done.stdout
    assert "stalled.pcap" in done.stdout


def test_hook_leaves_a_commit_without_captures_alone(commits):
    assert "Skipped" in commits().stdout
