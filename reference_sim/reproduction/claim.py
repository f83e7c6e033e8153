"""The checkable claims of the five papers."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["PAPERS", "Claim", "claims"]

#: The papers, by the letter that their claims' names begin with.
PAPERS: Final = {
    "G": "gurkan-1998",
    "H": "heidemann-1996",
    "E": "eggert-1999",
    "K": "kruse-2001",
    "B": "bhalekar-2003",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Claim:
    """One claim of ``reference_sim/papers/claims.toml``."""

    #: Letter of the paper and number: ``"G1"``.
    id: str
    paper: str
    #: Section, table or figure.
    where: str
    #: What it is about: a strategy, a TCP variant, a cache, a model.
    system: str
    says: str
    #: How ours and the published figures are compared: exact, relative, range, order or shape.
    compare: str
    #: The published figures; ranges are ``[low, high]``.
    expect: Mapping[str, Any]
    note: str = ""


@cache
def claims() -> Mapping[str, Claim]:
    """All claims by their names, paper by paper as :data:`PAPERS` has them."""
    text = files("reference_sim.papers").joinpath("claims.toml").read_text(encoding="utf-8")
    return {entry["id"]: Claim(**{"expect": {}, **entry}) for entry in tomllib.loads(text)["claim"]}
