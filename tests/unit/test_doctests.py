"""Examples in public docstrings: every example runs, and every public function has one."""

import doctest
import inspect
from importlib import import_module
from pathlib import Path

import pytest

import tcptrace_http

REPOSITORY = Path(__file__).resolve().parents[2]
MODULES = [
    "analysis",
    "capture",
    "charts",
    "charts.namespace",
    "difference",
    "glossary",
    "lazy_scan",
    "rollups",
    "trace",
]
FUNCTIONS = [name for name in tcptrace_http.__all__ if inspect.isfunction(getattr(tcptrace_http, name))]


@pytest.mark.parametrize("module", MODULES)
def test_examples_show_their_outputs(module, monkeypatch):
    monkeypatch.chdir(REPOSITORY)
    result = doctest.testmod(import_module(f"tcptrace_http.{module}"), raise_on_error=False)
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.parametrize("name", FUNCTIONS)
def test_public_function_has_an_example(name):
    assert ">>> " in getattr(tcptrace_http, name).__doc__
