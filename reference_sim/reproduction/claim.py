"""Verifiable claims of the five papers."""

from __future__ import annotations

import textwrap
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["PAPERS", "TITLES", "Claim", "claims", "explain", "names_listed"]

_WIDTH: Final = 100

#: Papers, by the first letter of their claims' names.
PAPERS: Final = {
    "G": "gurkan-1998",
    "H": "heidemann-1996",
    "E": "eggert-1999",
    "K": "kruse-2001",
    "B": "bhalekar-2003",
}
#: Title and source of each paper.
TITLES: Final = {
    "gurkan-1998": (
        "A Simulation Study on HTTP Performance Analysis in Terms of its Interaction with TCP",
        "D. Gürkan, M.S. thesis, Bilkent University, 1998",
    ),
    "heidemann-1996": (
        "Performance Interactions Between P-HTTP and TCP Implementations",
        "J. Heidemann, USC/ISI, 1996; ACM Computer Communication Review 27(2), 1997",
    ),
    "eggert-1999": (
        "Effects of Ensemble-TCP",
        "L. Eggert, J. Heidemann, J. Touch, USC/ISI, 1999; ACM Computer Communication Review 30(1), 2000",
    ),
    "kruse-2001": (
        "Experimentation and Modeling of HTTP Over Satellite Channels",
        "H. Kruse, M. Allman, J. Griner, D. Tran, Ohio University and NASA Glenn Research Center, 2001",
    ),
    "bhalekar-2003": (
        "Internet Content Delivery Acceleration Methods for Hybrid Network Topologies",
        "A. R. Bhalekar, M.S. thesis, University of Maryland, 2003",
    ),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Claim:
    """Claim of ``reference_sim/papers/claims.toml``."""

    #: Letter of the paper and number: ``"G1"``.
    id: str
    paper: str
    #: Section, table or figure.
    where: str
    #: Subject: a strategy, a TCP variant, a cache, a model.
    system: str
    says: str
    #: Comparison of ours with the published figures: exact, relative, range, order or shape.
    compare: str
    #: Published figures; ranges are ``[low, high]``.
    expect: Mapping[str, Any]
    note: str = ""


@cache
def claims() -> Mapping[str, Claim]:
    """Return all claims by name, paper by paper in the order of :data:`PAPERS`."""
    text = files("reference_sim.papers").joinpath("claims.toml").read_text(encoding="utf-8")
    return {entry["id"]: Claim(**{"expect": {}, **entry}) for entry in tomllib.loads(text)["claim"]}


def explain(name: str) -> str | None:
    """Explain a claim: its statement, its source and the command that shows it; None if unknown."""
    claim = claims().get(name.upper())
    if claim is None:
        return None
    title, publication = TITLES[claim.paper]
    note = ["", *textwrap.wrap(f"Note: {claim.note}", _WIDTH, initial_indent="  ", subsequent_indent="  ")]
    return "\n".join(
        [
            f"{claim.id} (claim of a paper)",
            *textwrap.wrap(claim.says, _WIDTH, initial_indent="  ", subsequent_indent="  "),
            *(note if claim.note else []),
            "",
            "Source",
            f"  {title}, {claim.where}",
            f"  {publication}",
            "",
            "About",
            f"  {claim.system}",
            "",
            "See",
            f"  tcptrace-http reproduce {claim.id}",
            f"  tcptrace-http simulate --claim {claim.id} --list",
        ]
    )


def names_listed() -> str:
    """Return the names alone, by paper, as ``explain`` lists them."""
    of_papers = (
        f"  {paper}: {' '.join(one.id for one in claims().values() if one.paper == paper)}"
        for paper in PAPERS.values()
    )
    return "\n".join(["Claims of papers", *of_papers])
