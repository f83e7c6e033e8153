"""Imports of a run: start-up time is a promise, and one careless import breaks it."""

import subprocess
import sys

import pytest
from captures import clean_exchange, pcap

RUN = "from tcptrace_http.cli.main import main; main()"


def imported_by(*arguments: str) -> set[str]:
    command = [sys.executable, "-X", "importtime", "-c", RUN, *arguments]
    finished = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = [line for line in finished.stderr.splitlines() if line.startswith("import time:")]
    return {line.rpartition("|")[2].strip() for line in lines}


@pytest.fixture(params=["handshake", "pages"])
def capture_without_findings(tmp_path, request):
    records = clean_exchange(3)
    path = tmp_path / f"{request.param}.pcap"
    path.write_bytes(pcap(records[:3] if request.param == "handshake" else records))
    return str(path)


def test_help_imports_neither_libraries_nor_the_core():
    imported = imported_by("--help")
    assert "click" in imported
    libraries = {"polars", "altair", "scapy", "rich", "numpy", "tcptrace_http._native"}
    assert not imported & (libraries | {"importlib.resources", "tomllib"})


@pytest.mark.parametrize("command", ["simulate", "reproduce"])
def test_help_of_simulate_and_reproduce_imports_no_simulator(command):
    imported = imported_by(command, "--help")
    assert f"tcptrace_http.cli.{command}" in imported
    assert not [name for name in imported if name.startswith(("reference_sim", "polars"))]


@pytest.mark.parametrize("package", ["tcptrace_http", "reference_sim"])
def test_importing_a_package_imports_none_of_its_modules(package):
    command = [sys.executable, "-c", f"import sys, {package}; print(*sys.modules, sep='\\n')"]
    modules = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert [name for name in modules if name.startswith(("tcptrace_http", "reference_sim"))] == [package]


def test_json_of_a_capture_without_findings_needs_no_polars(capture_without_findings):
    imported = imported_by("analyze", "--format", "json", capture_without_findings)
    assert "tcptrace_http._native" in imported
    assert not imported & {"polars", "importlib.resources", "tempfile", "tomllib"}
