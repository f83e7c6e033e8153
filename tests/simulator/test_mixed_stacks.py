"""Hosts with several stacks: connections share state only with connections of the same stack."""

from dataclasses import replace

from reference_sim import retrieval, simulate
from reference_sim.scenario import Transfer
from reference_sim.stacks import stack


def test_a_transfer_by_t_tcp_beside_an_ensemble_of_the_same_hosts_comes_to_its_end():
    made = retrieval(strategy="http10-etcp-fair", page="heidemann", network="wan")
    plain = stack("ttcp")
    transfer = Transfer(node="client", stack=plain, server_node="server", server_stack=plain, files=(100_000,))
    run = simulate(replace(made, transfers=(transfer,)))
    assert run.truth.retrievals["end"].null_count() == 0
