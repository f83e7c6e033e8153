"""Scenarios of a claim, each once, with a tap at its client, for inspection rather than judgement."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from reference_sim.names import near
from reference_sim.reproduction.experiment import Effort
from reference_sim.reproduction.registry import experiments
from reference_sim.scenario import NodeTap
from tcptrace_http.errors import UnknownName

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reference_sim.scenario import Scenario

__all__ = ["ClaimScenario", "claim_scenarios", "named_scenario"]

_NOT_OF_NAMES: Final = re.compile(r"[^a-z0-9.]+")


@dataclass(frozen=True, slots=True)
class ClaimScenario:
    """One of the compared scenarios of a claim."""

    claim: str
    #: Number within the claim, from 1.
    number: int
    label: str
    scenario: Scenario

    @property
    def file_name(self) -> str:
        """File name without suffix: number and label as letters and digits."""
        return f"{self.number:03}-{_NOT_OF_NAMES.sub('-', self.label.lower()).strip('-')}"


def claim_scenarios(claim: str, effort: Effort | None = None) -> Sequence[ClaimScenario]:
    """Return the scenarios of a claim, the first repetition of each; none if the claim is only calculated.

    :raises UnknownName: no experiment has this claim.
    """
    known = experiments()
    experiment = known.get(claim.upper())
    if experiment is None:
        raise UnknownName(f"no claim {claim!r}{near(claim.upper(), known)}")
    first: dict[str, Scenario] = {}
    for run in experiment.runs(Effort() if effort is None else effort):
        first.setdefault(run.label, run.scenario)
    return [
        ClaimScenario(experiment.claim, number, label, _seen_by_client(scenario))
        for number, (label, scenario) in enumerate(first.items(), start=1)
    ]


def named_scenario(claim: str, run: str | None) -> ClaimScenario:
    """Return the scenario of a claim by number or label, by default the first.

    :raises UnknownName: the claim or run is unknown, or the claim is only calculated.
    """
    known = claim_scenarios(claim)
    if not known:
        raise UnknownName(f"claim {claim.upper()} is calculated, not simulated; see: reproduce {claim.upper()}")
    found = next((one for one in known if run is None or run in {str(one.number), one.label}), None)
    if found is None:
        labels = [one.label for one in known]
        raise UnknownName(
            f"claim {claim.upper()} has no run {run!r}{near(run or '', labels)}; it has 1 to {len(known)}"
            f" (list them: simulate --claim {claim.upper()} --list)"
        )
    return found


def _seen_by_client(scenario: Scenario) -> Scenario:
    nodes = [*(one.node for one in scenario.browsers), *(one.node for one in scenario.transfers)]
    return replace(scenario, taps=(NodeTap(name=nodes[0]),))
