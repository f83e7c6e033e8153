"""Held-out scenarios: their properties and their judgement."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from reference_sim.topology import PacketQueue

from .held_out import FLOORS, main, measured
from .random_scenarios import STRATA, held_out_scenario, stratum_of
from .together import simulated_together

if TYPE_CHECKING:
    from .random_scenarios import RandomScenario


def test_half_of_the_held_out_scenarios_have_todays_stack_and_one_in_ten_shares_windows() -> None:
    drawn = [held_out_scenario(5, number).scenario.servers[0].stack for number in range(200)]
    assert Counter(map(stratum_of, drawn)) == {"linux": 100, "other": 80, "shared": 20}
    assert {stack.name.split()[0] for stack in drawn if stratum_of(stack) == "linux"} == {"linux-6"}
    assert all((stack.sharing.value != "none") == (stratum_of(stack) == "shared") for stack in drawn)


def _small(seed: int, number: int, *, limit: int) -> RandomScenario:
    """Return a scenario whose links lose packets only by queue overflow."""
    made = held_out_scenario(seed, number)
    network = made.scenario.network
    links = tuple(replace(link, loss=(), queue=PacketQueue(limit=limit)) for link in network.links)
    return replace(made, scenario=replace(made.scenario, network=replace(network, links=links)))


@pytest.mark.parametrize(("limit", "has_loss"), [(1, True), (1000, False)])
def test_a_queue_without_room_is_loss_as_well(limit: int, has_loss: bool) -> None:
    members = simulated_together(5, range(10), draw=lambda *of: _small(*of, limit=limit))
    assert any(member.has_loss for member in members) == has_loss


def test_each_end_and_stratum_is_summed() -> None:
    found = measured([5, 6], 20, ["client", "server"], jobs=1)
    assert found.failures == []
    assert Counter((it.seed, it.group.stratum, it.group.at) for it in found.held) == {
        (seed, stratum, at): many
        for seed in (5, 6)
        for stratum, many in zip(STRATA, (10, 8, 2), strict=True)
        for at in ("client", "server")
    }
    sums = found.groups()
    assert {group[:2] for group in sums} <= FLOORS.keys()
    assert sum(len(it.outcomes) for it in sums.values()) == 80
    agreeing = sum(it.sum.agreeing_ns for it in sums.values())
    assert agreeing > 0.9 * sum(it.sum.total_ns for it in sums.values())


def test_one_scenario_is_shown_of_a_named_seed_only(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--only", "3"])
    assert main(["--seed", "5", "--only", "3", "--at", "client"]) == 0
    assert held_out_scenario(5, 3).words in capsys.readouterr().out
