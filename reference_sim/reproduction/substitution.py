"""Substitution of another TCP stack or network in a claim's scenarios.

The claim's subject stays: the knobs that its experiment studies, the knobs that a strategy sets on its
stacks, the state that connections share, and a satellite hub's transport without congestion control. All
other knobs are the user's. BBR shares no state: connections that do keep their congestion control.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from reference_sim.stack import Congestion, Sharing
from reference_sim.strategies import STRATEGIES
from tcptrace_http.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from reference_sim.reproduction.experiment import Effort, Experiment, Run
    from reference_sim.scenario import Scenario
    from reference_sim.stack import Stack
    from reference_sim.topology import Network

__all__ = ["Substitution"]

#: Separator of a stack's name and the strategy that changed its knobs.
_FOR: Final = " for "


@dataclass(frozen=True, kw_only=True, slots=True)
class Substitution:
    """Replacement of the paper's stack or network."""

    stack: Stack | None = None
    network: Network | None = None

    @property
    def title(self) -> str:
        """Text of the names."""
        names = [part.name for part in (self.stack, self.network) if part is not None]
        return " and ".join(names)

    def runs(self, experiment: Experiment) -> Callable[[Effort], Iterable[Run]]:
        """Return the experiment's runs with the substitution."""

        def substituted(effort: Effort) -> Iterator[Run]:
            for run in experiment.runs(effort):
                yield replace(run, scenario=self._scenario(run.scenario, experiment.studies))

        return substituted

    def _scenario(self, scenario: Scenario, studies: frozenset[str]) -> Scenario:
        if self.stack is not None:
            scenario = _with_stack(scenario, self.stack, studies)
        return scenario if self.network is None else _on_network(scenario, self.network)


def _with_stack(scenario: Scenario, stack: Stack, studies: frozenset[str]) -> Scenario:
    def other(old: Stack) -> Stack:
        return _other(old, stack, studies)

    return replace(
        scenario,
        servers=tuple(replace(one, stack=other(one.stack)) for one in scenario.servers),
        browsers=tuple(replace(one, stack=other(one.stack)) for one in scenario.browsers),
        transfers=tuple(
            replace(one, stack=other(one.stack), server_stack=other(one.server_stack))
            for one in scenario.transfers
        ),
        proxies=tuple(
            replace(one, stack=other(one.stack), upstream_stack=other(one.upstream_stack))
            for one in scenario.proxies
        ),
    )


def _other(old: Stack, stack: Stack, studies: frozenset[str]) -> Stack:
    if old.congestion is Congestion.FIXED_WINDOW:
        return old
    base, _, strategy = old.name.partition(_FOR)
    del base
    kept = set(studies)
    if strategy in STRATEGIES:
        kept |= STRATEGIES[strategy].client_stack.keys() | STRATEGIES[strategy].server_stack.keys()
    if old.sharing is not Sharing.NONE:
        kept |= {"sharing", "accelerated_open", "idle_restart", "ages_shared_state", "expects_delayed_acks"}
        if stack.congestion is Congestion.BBR:
            kept |= {"congestion"}
    if old.accelerated_open:
        kept |= {"accelerated_open"}
    knobs: dict[str, Any] = {knob: getattr(old, knob) for knob in kept}
    return replace(stack, name=f"{stack.name} as {old.name}", **knobs)


def _on_network(scenario: Scenario, network: Network) -> Scenario:
    """Place clients and servers in turn on the network's nodes, a hub and a cache on their own nodes.

    :raises ScenarioError: the network lacks a node for one of them.
    """
    old = scenario.network
    places: dict[str, str | None] = {}
    for hosts, others in ((old.clients, network.clients), (old.servers, network.servers)):
        places |= {host: others[number % len(others)] for number, host in enumerate(hosts)}
    places |= {place: other for place, other in ((old.hub, network.hub), (old.cache, network.cache)) if place}

    def placed(node: str) -> str:
        found = places.get(node)
        if found is None:
            raise ScenarioError(f"network {network.name!r} has no host {node!r}", field="network")
        return found

    return replace(
        scenario,
        network=network,
        taps=(),
        servers=tuple(replace(one, node=placed(one.node)) for one in scenario.servers),
        browsers=tuple(replace(one, node=placed(one.node)) for one in scenario.browsers),
        transfers=tuple(
            replace(one, node=placed(one.node), server_node=placed(one.server_node)) for one in scenario.transfers
        ),
        proxies=tuple(replace(one, node=placed(one.node)) for one in scenario.proxies),
    )
