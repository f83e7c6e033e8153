"""Dependencies of the package: licences, sources, and consistent versions."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from tcptrace_http import __version__

REPOSITORY = Path(__file__).resolve().parents[2]
ALLOWED = set(tomllib.loads((REPOSITORY / "deny.toml").read_text(encoding="utf-8"))["licenses"]["allow"])
LICENCE = re.compile(r"[A-Za-z0-9.+-]+(?: WITH [A-Za-z0-9.-]+)?")


def is_allowed(expression: str) -> bool:
    """Return whether the licences of deny.toml satisfy an SPDX expression."""
    # Cargo still accepts an older spelling of OR.
    expression = expression.replace("/", " OR ")
    truth = LICENCE.sub(
        lambda found: found[0].lower() if found[0] in {"AND", "OR"} else str(found[0] in ALLOWED),
        expression,
    )
    return bool(eval(truth, {"__builtins__": {}}))


@pytest.fixture(scope="module")
def crates() -> list[dict[str, str]]:
    """Return every crate of the lock file that is built here, with Cargo's metadata."""
    host = re.search(r"^host: (\S+)$", subprocess.check_output(["rustc", "-vV"], text=True), re.MULTILINE)
    command = ["cargo", "metadata", "--locked", "--offline", "--format-version", "1", "--filter-platform", host[1]]
    return json.loads(subprocess.check_output(command, cwd=REPOSITORY))["packages"]


def test_every_crate_has_a_licence_that_deny_toml_allows(crates):
    assert len(crates) > 50
    assert {crate["name"]: crate["license"] for crate in crates if not is_allowed(crate["license"])} == {}


@pytest.mark.parametrize(
    ("expression", "allowed"),
    [
        ("MIT OR GPL-3.0-only", True),
        ("MIT AND GPL-3.0-only", False),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", True),
        ("MIT/GPL-2.0", True),
        ("GPL-3.0-only WITH Classpath-exception-2.0", False),
        ("Apache-2.0 WITH LLVM-exception", True),
    ],
)
def test_expressions_of_licences_are_read_as_spdx_means_them(expression, allowed):
    assert is_allowed(expression) is allowed


def test_every_crate_is_of_this_workspace_or_of_the_registry():
    locked = tomllib.loads((REPOSITORY / "Cargo.lock").read_text(encoding="utf-8"))["package"]
    sources = {crate.get("source") for crate in locked}
    assert len(sources) == 2
    assert all(source is None or re.fullmatch(r"registry\+\S+/crates\.io-index", source) for source in sources)
    assert all("checksum" in crate for crate in locked if "source" in crate)


def test_the_version_is_the_same_for_python_rust_and_the_changelog():
    workspace = tomllib.loads((REPOSITORY / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]
    assert workspace["package"]["version"] == __version__
    changelog = (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## \[(\d+\.\d+\.\d+)\]", changelog, re.MULTILINE)
    assert newest[1] == __version__


def test_the_examples_for_ci_install_this_version():
    page = (REPOSITORY / "docs/ci.md").read_text(encoding="utf-8")
    written = re.findall(r"(?:tcptrace-http@v|tcptrace-http==|rev: v)(\d+\.\d+\.\d+)", page)
    assert set(written) == {__version__}
