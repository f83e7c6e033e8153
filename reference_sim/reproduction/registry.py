"""All experiments, and which of them a name asks for.

A package of :mod:`reference_sim.papers` is a paper and has ``EXPERIMENTS``; nothing else lists them.
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

#: Asks for every claim.
ALL: Final = "all"
#: Asks for the analytic models beside the simulator; they are in all, too.
BASELINES: Final = "baselines"


@cache
def experiments() -> Mapping[str, Experiment]:
    """The experiments by their claims, in the order of the claims.

    :raises ValueError: a claim has two experiments, or an experiment is of no claim.
    """
    found: dict[str, Experiment] = {}
    for package in pkgutil.iter_modules(papers.__path__):
        if not package.ispkg:
            continue
        for experiment in import_module(f"{papers.__name__}.{package.name}").EXPERIMENTS:
            if experiment.claim in found:
                raise ValueError(f"two experiments are of claim {experiment.claim}")
            found[experiment.claim] = experiment
    if strange := found.keys() - claims().keys():
        raise ValueError(f"experiments of no claim: {', '.join(sorted(strange))}")
    return {claim: found[claim] for claim in claims() if claim in found}


def names() -> list[str]:
    """What can be asked for: all, the papers (also by their first author alone), the claims, the baselines."""
    return [ALL, BASELINES, *PAPERS.values(), *map(_author, PAPERS.values()), *claims()]


def claims_named(asked: Iterable[str]) -> list[str]:
    """The claims that the names ask for, each once, in their order.

    :raises UnknownName: a name is of none; the message says what is near.
    """
    wanted: set[str] = set()
    for name in asked:
        known = _of(name)
        if not known and name != BASELINES:
            raise UnknownName(f"no claim or paper {name!r}{near(name, names())}")
        wanted |= known
    return [claim for claim in claims() if claim in wanted]


def asks_for_baselines(asked: Iterable[str]) -> bool:
    """Whether the names ask for the baselines."""
    return not {ALL, BASELINES}.isdisjoint(asked)


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
