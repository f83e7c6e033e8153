"""Features without their libraries: message, time of the message, and install command."""

from __future__ import annotations

import importlib.util
import re
import shlex
import sys
from configparser import ConfigParser
from pathlib import Path

import pytest

from tcptrace_http.errors import MissingExtra, StaleNativeCore

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture
def base_install(monkeypatch):
    """Simulate an installation without extras: their packages are not found."""
    found = importlib.util.find_spec
    absent = {"altair", "vl_convert", "h2"}
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name in absent else found(name))
    for name in absent:
        monkeypatch.setitem(sys.modules, name, None)


@pytest.mark.parametrize(
    ("command", "extra"),
    [
        ("analyze --format html -o written unread.pcap", "charts"),
        ("plot time-sequence unread.pcap -o written.svg", "charts"),
        ("diff unread.pcap http11 --format html -o written", "charts"),
        ("diff unread.pcap http11 --chart causes -o written.svg", "charts"),
        ("whatif unread.pcap --chart written.svg", "charts"),
        ("reproduce H1 -o written", "reproduce"),
        ("probe http://127.0.0.1:9/ --http2", "http2"),
    ],
)
def test_a_missing_extra_is_named_before_anything_is_read_or_written(
    base_install, cli, tmp_path, monkeypatch, command, extra
):
    monkeypatch.chdir(tmp_path)
    # A command that reads the file first reports its error.
    Path("unread.pcap").write_bytes(b"no capture")
    result = cli(*command.split())
    assert result.code == 2
    install = shlex.split(result.err.rpartition(": ")[2])
    assert install == [sys.executable, "-m", "pip", "install", f"tcptrace-http[{extra}]"]
    assert [path.name for path in tmp_path.iterdir()] == ["unread.pcap"]


def test_a_page_of_two_captures_is_refused_before_they_are_read(cli, tmp_path):
    for name in ("a.pcap", "b.pcap"):
        (tmp_path / name).write_bytes(b"no capture")
    result = cli("analyze", "--format", "html", tmp_path / "a.pcap", tmp_path / "b.pcap")
    assert result.code == 2
    assert "a page of one capture" in result.err


def test_an_environment_without_pip_is_reported_the_command_of_uv(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    message = str(MissingExtra("charts need Altair", "charts"))
    assert message.endswith(f"uv pip install --python {sys.executable} 'tcptrace-http[charts]'")


def test_every_extra_that_a_message_names_is_declared():
    config = ConfigParser()
    config.read(REPOSITORY / "setup.cfg", encoding="utf-8")
    named = {
        extra
        for package in ("tcptrace_http", "reference_sim")
        for source in (REPOSITORY / package).rglob("*.py")
        for extra in re.findall(r'MissingExtra\(\s*f?"[^"]*", "(\w+)"', source.read_text(encoding="utf-8"))
    }
    assert named >= {"charts", "http2", "reproduce"}
    assert named <= set(config["options.extras_require"])


def test_a_stale_core_of_a_clone_names_its_build_folder():
    command = str(StaleNativeCore("the native core is stale")).rpartition(": ")[2]
    assert shlex.split(command) == [sys.executable, "-m", "pip", "install", "--editable", str(REPOSITORY)]


def test_a_stale_core_of_a_wheel_is_installed_again(monkeypatch, tmp_path):
    monkeypatch.setattr("tcptrace_http.errors.__file__", str(tmp_path / "tcptrace_http" / "errors.py"))
    command = str(StaleNativeCore("the native core is stale")).rpartition(": ")[2]
    assert command.endswith("pip install --force-reinstall tcptrace-http")
