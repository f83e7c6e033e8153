"""Exceptions of this package.

::

    TcptraceError
    ├── CaptureError              a capture that cannot be read: path and reason
    │   ├── UnknownFormat         not pcap or pcapng, also after unpacking
    │   ├── UnsupportedLinkType   no packet has a link type that can be decoded
    │   └── MalformedCapture      broken before the first packet could be read
    ├── FilterError               an expression that does not fit the table it selects from
    ├── PolicyError               a policy that cannot be used: file, line, the nearest valid name
    ├── ProbeError                a server that cannot be probed: address and reason
    ├── ScenarioError             an invalid simulation: file, field, what to do
    ├── DatasetError              a folder or URL without a dataset, or with one of another format
    ├── ExecutorError             an executor that does not work on a dataset
    ├── StoreError                a folder or object store that cannot be read or written: URL and reason
    ├── NothingToDraw             a chart of data that the analysis lacks
    ├── MissingExtra              a library that a feature needs is not installed
    ├── UnknownName               a name that `explain` or `scan` does not know
    ├── UnknownSegment            a frame without a segment that `explain --frame` can explain
    └── StaleNativeCore           the compiled core is missing, or is not of this version

Strange traffic is a row of the table ``anomalies``, not an error. Slow traffic is a finding.
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
    """Base class of the exceptions of this package. The text says what happened, where, and what to do."""


class CaptureError(TcptraceError):
    """Unreadable capture. ``what`` holds the offset and packet number if they are known."""

    def __init__(self, path: str, what: str) -> None:
        super().__init__(f"{path}: {what}")
        self.path = path
        self.what = what

    def __reduce__(self) -> tuple[type[CaptureError], tuple[str, str]]:
        """Return the arguments for pickling: errors cross process pools."""
        return type(self), (self.path, self.what)


class UnknownFormat(CaptureError):
    """Bytes without a known capture format."""


class UnsupportedLinkType(CaptureError):
    """Capture with only undecodable link types."""


class MalformedCapture(CaptureError):
    """Capture that is broken before its first packet."""


class FilterError(TcptraceError):
    """Expression that cannot be evaluated on its table."""


class PolicyError(TcptraceError):
    """Invalid policy: ``what`` is wrong, with ``path`` and ``line`` if they are known."""

    def __init__(self, what: str, *, path: str = "", line: int | None = None) -> None:
        place = path if line is None else f"{path or 'policy'}:{line}"
        super().__init__(": ".join(filter(None, (place, what))))
        self.what = what
        self.path = path
        self.line = line


class ProbeError(TcptraceError):
    """Server that cannot be probed: ``url``, and the fault of the URL or of the answer."""

    def __init__(self, url: str, what: str) -> None:
        super().__init__(f"{url}: {what}")
        self.url = url
        self.what = what


class ScenarioError(TcptraceError):
    """Invalid simulation: ``what`` is wrong, with ``field`` and ``path`` if they are known.

    Each caller adds its place to the error: a field reader the field, a file reader the file.
    """

    def __init__(self, what: str, *, field: str = "", path: str = "") -> None:
        super().__init__(": ".join(filter(None, (path, field, what))))
        self.what = what
        self.field = field
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        """Return the arguments for pickling: errors cross process pools."""
        return _scenario_error, (self.what, self.field, self.path)

    def within(self, field: str, *, path: str = "") -> ScenarioError:
        """Return the same error with an outer field and a file."""
        separator = "." if field and self.field and not self.field.startswith("[") else ""
        return ScenarioError(self.what, field=f"{field}{separator}{self.field}", path=path or self.path)


def _scenario_error(what: str, field: str, path: str) -> ScenarioError:
    return ScenarioError(what, field=field, path=path)


class DatasetError(TcptraceError):
    """Location without a usable dataset: ``location`` and the fault."""

    def __init__(self, location: str, what: str) -> None:
        super().__init__(f"{location}: {what}")
        self.location = location
        self.what = what

    def __reduce__(self) -> tuple[type[DatasetError], tuple[str, str]]:
        """Return the arguments for pickling: errors cross process pools."""
        return type(self), (self.location, self.what)


class ExecutorError(TcptraceError):
    """Executor that is unreachable, has another version, or accepts no more work."""


class StoreError(TcptraceError):
    """Object store that cannot be read or written: ``uri`` and the fault."""

    def __init__(self, uri: str, what: str) -> None:
        super().__init__(f"{uri}: {what}")
        self.uri = uri
        self.what = what

    def __reduce__(self) -> tuple[type[StoreError], tuple[str, str]]:
        """Return the arguments for pickling: errors cross process pools."""
        return type(self), (self.uri, self.what)


class UnknownName(TcptraceError):
    """Name of no detector, cause, table, column, anomaly or simulation part."""


class UnknownSegment(TcptraceError):
    """Frame that the capture lacks, or that has no HTTP message data."""


class NothingToDraw(TcptraceError):
    """Chart of a flow, page or direction that the analysis lacks, or of a table without rows."""


class MissingExtra(TcptraceError):
    """Missing optional library. The message gives the installation command."""

    def __init__(self, needed: str, extra: str) -> None:
        """Make the error. ``needed`` names the feature and its library; ``extra`` is the extra with that
        library.
        """
        super().__init__(f"{needed}: {_pip_install(f'tcptrace-http[{extra}]')}")


class StaleNativeCore(TcptraceError):
    """Compiled core that is missing, or was built from other sources than the Python package."""

    def __init__(self, wrong: str) -> None:
        """Make the error. ``wrong`` names the core and its fault; the message gives the build or install
        command.
        """
        super().__init__(f"{wrong}; {_rebuild()}")


def _pip_install(*arguments: str) -> str:
    """Return a command line that installs into the environment of this process, from any directory.

    The command names the interpreter, because the `pip` on PATH often belongs to another environment. An
    installed package satisfies its own name. The command thus adds an extra to an editable installation, a
    wheel or a release.
    """
    import shlex
    import sys
    from importlib.util import find_spec

    installer = [sys.executable, "-m", "pip", "install"]
    if find_spec("pip") is None:  # environments of uv
        installer = ["uv", "pip", "install", "--python", sys.executable]
    return shlex.join([*installer, *arguments])


def _rebuild() -> str:
    """Return the command that repairs the core: build a source tree, or reinstall a wheel."""
    from pathlib import Path

    tree = Path(__file__).resolve().parents[1]
    if (tree / "Cargo.toml").exists():
        command = _pip_install("--editable", str(tree))
        return f"Python imports the source tree {tree}: build the core in it: {command}"
    return f"install the package again: {_pip_install('--force-reinstall', 'tcptrace-http')}"
