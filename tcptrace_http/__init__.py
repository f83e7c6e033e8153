"""Analysis of packet captures: where HTTP transactions spend their time, and why.

::

    import tcptrace_http

    analysis = tcptrace_http.analyze("slow.pcapng")
    analysis.findings      # findings with frames, lost time and remedy (a polars frame)
    analysis.transactions  # one row per HTTP request and its response
    tcptrace_http.scan("slow.pcapng", table="segments")  # a lazy frame
    tcptrace_http.diff("before.pcapng", "after.pcapng").causes  # the time difference by cause
    tcptrace_http.whatif("slow.pcapng").table  # the predicted times with fixes and strategies
    tcptrace_http.explain("short-initial-segment")
    tcptrace_http.add_captures(["captures/"], into="week")  # a dataset of many captures
    tcptrace_http.corpus("week").findings  # the tables of a dataset, as lazy frames

The names in ``__all__`` are the public ones. They are imported when they are first used: importing the
package costs nothing, and ``--help`` works without the native core.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tcptrace_http._version import __version__
    from tcptrace_http.analysis import Analysis, analyze
    from tcptrace_http.capture import read
    from tcptrace_http.corpus import add_captures, corpus
    from tcptrace_http.difference import Difference, diff
    from tcptrace_http.errors import (
        CaptureError,
        DatasetError,
        FilterError,
        MalformedCapture,
        NothingToDraw,
        PolicyError,
        ProbeError,
        ScenarioError,
        StaleNativeCore,
        TcptraceError,
        UnknownFormat,
        UnknownName,
        UnsupportedLinkType,
    )
    from tcptrace_http.glossary import explain
    from tcptrace_http.lazy_scan import scan
    from tcptrace_http.rollups import by_rfc4898, by_tapo, har_timings
    from tcptrace_http.trace import Provenance, Trace, write_pcap
    from tcptrace_http.what_if import WhatIf, whatif

__all__ = [
    "Analysis",
    "CaptureError",
    "DatasetError",
    "Difference",
    "FilterError",
    "MalformedCapture",
    "NothingToDraw",
    "PolicyError",
    "ProbeError",
    "Provenance",
    "ScenarioError",
    "StaleNativeCore",
    "TcptraceError",
    "Trace",
    "UnknownFormat",
    "UnknownName",
    "UnsupportedLinkType",
    "WhatIf",
    "__version__",
    "add_captures",
    "analyze",
    "by_rfc4898",
    "by_tapo",
    "corpus",
    "diff",
    "explain",
    "har_timings",
    "read",
    "scan",
    "whatif",
    "write_pcap",
]

_MODULE_OF: Final = {
    "__version__": "_version",
    "Analysis": "analysis",
    "CaptureError": "errors",
    "DatasetError": "errors",
    "Difference": "difference",
    "FilterError": "errors",
    "MalformedCapture": "errors",
    "NothingToDraw": "errors",
    "PolicyError": "errors",
    "ProbeError": "errors",
    "Provenance": "trace",
    "ScenarioError": "errors",
    "StaleNativeCore": "errors",
    "TcptraceError": "errors",
    "Trace": "trace",
    "UnknownFormat": "errors",
    "UnknownName": "errors",
    "UnsupportedLinkType": "errors",
    "WhatIf": "what_if",
    "add_captures": "corpus",
    "analyze": "analysis",
    "by_rfc4898": "rollups",
    "by_tapo": "rollups",
    "corpus": "corpus",
    "diff": "difference",
    "explain": "glossary",
    "har_timings": "rollups",
    "read": "capture",
    "scan": "lazy_scan",
    "whatif": "what_if",
    "write_pcap": "trace",
}


def __getattr__(name: str) -> object:
    """Import a public name from the module that holds it (PEP 562)."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
