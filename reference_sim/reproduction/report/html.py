"""Common footer and shared parts of a reproduction's pages."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final

from reference_sim.reproduction.report.tables import counts
from reference_sim.reproduction.report.words import SIGNS
from reference_sim.reproduction.verdict import Verdict
from tcptrace_http._version import __version__
from tcptrace_http.html_page import html_page, style_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reference_sim.reproduction.experiment import Effort

__all__ = ["badge", "document", "escape", "score"]

_CLASSES: Final = {
    Verdict.REPRODUCED: "same",
    Verdict.REPRODUCED_IN_SHAPE: "shape",
    Verdict.NOT_REPRODUCED: "apart",
}


def document(title: str, body: str, effort: Effort) -> str:
    """Return a complete page; ``body`` is HTML."""
    runs = "fewer and shorter runs (--quick)" if effort.quick else "full runs"
    footer = f"tcptrace-http {__version__}; {runs}; seeds per random run: {effort.seeds}"
    framed = f"{body}\n<footer><p>{escape(footer)}</p></footer>"
    return html_page(title, framed, style=style_of(__package__ or ""))


def badge(verdict: Verdict) -> str:
    """Return the verdict in words, with a symbol and a colour."""
    return f'<span class="badge {_CLASSES[verdict]}">{SIGNS[verdict]} {escape(verdict)}</span>'


def score(verdicts: Sequence[Verdict]) -> str:
    """Return the counts per verdict, as numbers and as a bar."""
    of = counts(verdicts)
    parts = "".join(
        f'<li class="{_CLASSES[verdict]}"><b>{count}</b> {SIGNS[verdict]} {escape(verdict)}</li>'
        for verdict, count in of.items()
    )
    bar = "".join(
        f'<span class="{_CLASSES[verdict]}" style="flex-grow:{count}"></span>'
        for verdict, count in of.items()
        if count
    )
    return f'<ul class="score">{parts}</ul><div class="bar" aria-hidden="true">{bar}</div>'
