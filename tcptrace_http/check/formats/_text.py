"""Violation in words, shared by several formats."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Final

from tcptrace_http.quantity import duration

if TYPE_CHECKING:
    from tcptrace_http.check.report import CheckReport, Violation

__all__ = ["advice", "location", "place", "printable", "sentence"]

_REPLACEMENT: Final = "\N{REPLACEMENT CHARACTER}"


def printable(text: str) -> str:
    """Return captured text without characters that terminals, XML 1.0 or YAML do not accept."""
    if text.isprintable():
        return text
    return "".join(
        one if one.isprintable() or one in "\n\t" or unicodedata.category(one) == "Zs" else _REPLACEMENT
        for one in text
    )


def location(violation: Violation, report: CheckReport) -> str:
    """Return the file of a violation; for a probe without capture and location, the address as a path."""
    found = report.location or violation.capture or next(iter(report.captures), "captures")
    return found.partition("://")[2] or found


def place(violation: Violation) -> str:
    """Return the place of a violation: ``GET /a (slow.pcap: flow 3, frames 10 to 14)``."""
    request = " ".join(filter(None, (violation.method, violation.target)))
    parts = []
    if violation.flow is not None:
        parts.append(f"flow {violation.flow}")
    if violation.first_frame is not None:
        parts.append(f"frames {violation.first_frame} to {violation.last_frame}")
    inside = ": ".join(filter(None, (violation.capture, ", ".join(parts))))
    return f"{request} ({inside})" if request and inside else request or inside


def sentence(violation: Violation) -> str:
    """Return the violation, its place, its cost and its remedy on one line."""
    lost = f" Lost {duration(violation.lost_ns)}." if violation.lost_ns else ""
    where = place(violation)
    return " ".join(filter(None, (f"{where}:" if where else "", f"{violation.message}.{lost}", advice(violation))))


def advice(violation: Violation) -> str:
    """Return the remedy with the settings."""
    settings = "; ".join(violation.settings)
    return " ".join(filter(None, (_stopped(violation.remedy), f"Settings: {settings}" if settings else "")))


def _stopped(text: str) -> str:
    return text if not text or text.endswith(".") else f"{text}."
