"""The frame of every page, and the parts that several of them have."""

from __future__ import annotations

from functools import cache
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from reference_sim.reproduction.report.tables import counts
from reference_sim.reproduction.report.words import SIGNS
from reference_sim.reproduction.verdict import Verdict
from tcptrace_http._version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reference_sim.reproduction.experiment import Effort

__all__ = ["badge", "document", "escape", "score"]

_CLASSES: Final = {
    Verdict.REPRODUCED: "same",
    Verdict.REPRODUCED_IN_SHAPE: "shape",
    Verdict.NOT_REPRODUCED: "apart",
}
_PAGE: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<link rel="icon" href="data:,">
<style>
{style}</style>
</head>
<body>
{body}
<footer><p>{footer}</p></footer>
</body>
</html>
"""


def document(title: str, body: str, effort: Effort) -> str:
    """A whole page; ``body`` is HTML."""
    runs = "fewer and shorter runs (--quick)" if effort.quick else "full runs"
    footer = f"tcptrace-http {__version__}; {runs}; repetitions of what is random: {effort.seeds}"
    return _PAGE.format(title=escape(title), style=_style(), body=body, footer=escape(footer))


def badge(verdict: Verdict) -> str:
    """The verdict in words, with a sign and a colour."""
    return f'<span class="badge {_CLASSES[verdict]}">{SIGNS[verdict]} {escape(verdict)}</span>'


def score(verdicts: Sequence[Verdict]) -> str:
    """How many there are of each verdict, as figures and as a bar."""
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


@cache
def _style() -> str:
    return files(__package__ or "").joinpath("style.css").read_text(encoding="utf-8")
