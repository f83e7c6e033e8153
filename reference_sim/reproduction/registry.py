"""Registry of experiments, and selection by name.

Each package of :mod:`reference_sim.papers` is a paper and has ``EXPERIMENTS``; no other list exists.
"""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Final

from reference_sim import papers
from reference_sim.names import near
from reference_sim.reproduction.claim import PAPERS, claims
from tcptrace_http.errors import UnknownName

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from reference_sim.reproduction.experiment import Experiment

__all__ = ["ALL", "BASELINES", "asks_for_baselines", "claims_named", "experiments", "names"]

#: Name that selects every claim.
ALL: Final = "all"
#: Name that selects the baselines; "all" includes them.
BASELINES: Final = "baselines"


@cache
def experiments() -> Mapping[str, Experiment]:
    """Return the experiments by claim, in the order of the claims.

    :raises ValueError: a claim has two experiments, or an experiment has no claim.
    """
    found: dict[str, Experiment] = {}
    for package in pkgutil.iter_modules(papers.__path__):
        if not package.ispkg:
            continue
        for experiment in import_module(f"{papers.__name__}.{package.name}").EXPERIMENTS:
            if experiment.claim in found:
                raise ValueError(f"two experiments have the claim {experiment.claim}")
            found[experiment.claim] = experiment
    if strange := found.keys() - claims().keys():
        raise ValueError(f"experiments without a claim: {', '.join(sorted(strange))}")
    return {claim: found[claim] for claim in claims() if claim in found}


def names() -> list[str]:
    """Return the selectable names: all, papers (also by first author), claims, baselines."""
    return [ALL, BASELINES, *PAPERS.values(), *map(_author, PAPERS.values()), *claims()]


def claims_named(requested: Iterable[str]) -> list[str]:
    """Return the selected claims, each once, in order.

    :raises UnknownName: a name is unknown; the message gives the nearest name.
    """
    wanted: set[str] = set()
    for name in requested:
        known = _of(name)
        if not known and name != BASELINES:
            raise UnknownName(f"no claim or paper {name!r}{near(name, names())}")
        wanted |= known
    return [claim for claim in claims() if claim in wanted]


def asks_for_baselines(requested: Iterable[str]) -> bool:
    """Return whether the names select the baselines."""
    return not {ALL, BASELINES}.isdisjoint(requested)


def _of(name: str) -> set[str]:
    if name == ALL:
        return set(claims())
    return {
        claim.id
        for claim in claims().values()
        if name.upper() == claim.id or name.lower() in {claim.paper, _author(claim.paper)}
    }


def _author(paper: str) -> str:
    return paper.partition("-")[0]
