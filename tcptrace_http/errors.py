"""Every exception this package raises on purpose.

::

    TcptraceError
    ├── CaptureError              a capture that cannot be read: path and reason
    │   ├── UnknownFormat         not pcap or pcapng, also after unpacking
    │   ├── UnsupportedLinkType   no packet has a link type that can be decoded
    │   └── MalformedCapture      broken before the first packet could be read
    ├── FilterError               an expression that does not fit the table it selects from
    ├── PolicyError               a policy that cannot be used: file, line, the nearest valid name
    ├── ProbeError                a server that cannot be probed: address and reason
    ├── ScenarioError             a simulation that cannot be: file, field, what to do
    ├── DatasetError              a folder or URL that is no dataset, or one of another format
    ├── ExecutorError             who should work on a dataset does not, or no more
    ├── StoreError                a folder or object store that cannot be read or written: URL and reason
    ├── NothingToDraw             a chart of what the analysis does not have
    ├── MissingExtra              a library that a feature needs is not installed
    ├── UnknownName               a name that `explain` or `scan` does not know
    ├── UnknownSegment            a frame without a segment that `explain --frame` can explain
    └── StaleNativeCore           the compiled core is missing, or is not of this version

Strange traffic is no error but a row in the table ``anomalies``; slow traffic is a finding.
"""

from __future__ import annotations

__all__ = [
    "CaptureError",
    "DatasetError",
    "ExecutorError",
    "FilterError",
    "MalformedCapture",
    "MissingExtra",
    "NothingToDraw",
    "PolicyError",
    "ProbeError",
    "ScenarioError",
    "StaleNativeCore",
    "StoreError",
    "TcptraceError",
    "UnknownFormat",
    "UnknownName",
    "UnknownSegment",
    "UnsupportedLinkType",
]


class TcptraceError(Exception):
    """Base of the exceptions of this package; its text says what, where and what to do."""


class CaptureError(TcptraceError):
    """A capture that cannot be read; ``what`` holds the offset and packet number where they are known."""

    def __init__(self, path: str, what: str) -> None:
        super().__init__(f"{path}: {what}")
        self.path = path
        self.what = what

    def __reduce__(self) -> tuple[type[CaptureError], tuple[str, str]]:
        """Errors cross process pools; an exception is rebuilt from what it was made of."""
        return type(self), (self.path, self.what)


class UnknownFormat(CaptureError):
    """The bytes are no capture format that is known."""


class UnsupportedLinkType(CaptureError):
    """The capture has only packets of link types that cannot be decoded."""


class MalformedCapture(CaptureError):
    """The capture is broken before its first packet."""


class FilterError(TcptraceError):
    """An expression that cannot be evaluated on the table it is meant for."""


class PolicyError(TcptraceError):
    """A policy that cannot be used: ``what`` is wrong, with ``path`` and ``line`` where they are known."""

    def __init__(self, what: str, *, path: str = "", line: int | None = None) -> None:
        place = path if line is None else f"{path or 'policy'}:{line}"
        super().__init__(": ".join(filter(None, (place, what))))
        self.what = what
        self.path = path
        self.line = line


class ProbeError(TcptraceError):
    """A server that cannot be probed: ``url`` and what is wrong with it, or with its answer."""

    def __init__(self, url: str, what: str) -> None:
        super().__init__(f"{url}: {what}")
        self.url = url
        self.what = what


class ScenarioError(TcptraceError):
    """A simulation that cannot be: ``what`` is wrong, with ``field`` and ``path`` where they are known.

    An error gains its place on its way up: who reads a field names it, who reads a file names that.
    """

    def __init__(self, what: str, *, field: str = "", path: str = "") -> None:
        super().__init__(": ".join(filter(None, (path, field, what))))
        self.what = what
        self.field = field
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        """Errors cross process pools; an exception is rebuilt from what it was made of."""
        return _scenario_error, (self.what, self.field, self.path)

    def within(self, field: str, *, path: str = "") -> ScenarioError:
        """The same error of a field further out, and of a file."""
        separator = "." if field and self.field and not self.field.startswith("[") else ""
        return ScenarioError(self.what, field=f"{field}{separator}{self.field}", path=path or self.path)


def _scenario_error(what: str, field: str, path: str) -> ScenarioError:
    return ScenarioError(what, field=field, path=path)


class DatasetError(TcptraceError):
    """A place that has no dataset, or one that cannot be used: ``location`` and what is wrong."""

    def __init__(self, location: str, what: str) -> None:
        super().__init__(f"{location}: {what}")
        self.location = location
        self.what = what

    def __reduce__(self) -> tuple[type[DatasetError], tuple[str, str]]:
        """Errors cross process pools; an exception is rebuilt from what it was made of."""
        return type(self), (self.location, self.what)


class ExecutorError(TcptraceError):
    """An executor that cannot be reached, has another version, or takes no more work."""


class StoreError(TcptraceError):
    """An object store that cannot be read or written: ``uri`` and what is wrong."""

    def __init__(self, uri: str, what: str) -> None:
        super().__init__(f"{uri}: {what}")
        self.uri = uri
        self.what = what

    def __reduce__(self) -> tuple[type[StoreError], tuple[str, str]]:
        """Errors cross process pools; an exception is rebuilt from what it was made of."""
        return type(self), (self.uri, self.what)


class UnknownName(TcptraceError):
    """A name that is no detector, cause, table, column or anomaly, nor a part of a simulation."""


class UnknownSegment(TcptraceError):
    """A frame that is not in the capture, or has no data of an HTTP message."""


class NothingToDraw(TcptraceError):
    """A chart of a flow, retrieval or direction that the analysis does not have, or of a table without rows."""


class MissingExtra(TcptraceError):
    """A library that only some features need is not installed; the message has the command that installs it."""

    def __init__(self, needed: str, extra: str) -> None:
        """``needed`` says which feature needs which library; ``extra`` is the extra that brings it."""
        super().__init__(f"{needed}: {_pip_install(f'tcptrace-http[{extra}]')}")


class StaleNativeCore(TcptraceError):
    """The compiled core is missing, or was built from other sources than the Python around it."""

    def __init__(self, wrong: str) -> None:
        """``wrong`` says which core is wrong, and how; the message has the command that builds or installs it."""
        super().__init__(f"{wrong}; {_rebuild()}")


def _pip_install(*arguments: str) -> str:
    """Return a command line that installs into the environment of this process, from any directory.

    The interpreter is named: the `pip` on PATH is often another environment's. An installed package satisfies its
    own name, so that an extra is added to an editable installation, a wheel and a release alike.
    """
    import shlex
    import sys
    from importlib.util import find_spec

    installer = [sys.executable, "-m", "pip", "install"]
    if find_spec("pip") is None:  # environments of uv
        installer = ["uv", "pip", "install", "--python", sys.executable]
    return shlex.join([*installer, *arguments])


def _rebuild() -> str:
    """Return what to do about the core: a source tree is built, a wheel installed anew."""
    from pathlib import Path

    tree = Path(__file__).resolve().parents[1]
    if (tree / "Cargo.toml").exists():
        command = _pip_install("--editable", str(tree))
        return f"Python imports the source tree {tree}: build the core in it: {command}"
    return f"install the package again: {_pip_install('--force-reinstall', 'tcptrace-http')}"
