"""Permanent ns-2 agents of a client: a server end that never closes ends the browsing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl
import pytest

from reference_sim.scenario import Record
from reference_sim.simulation import simulate
from reference_sim.workloads import thesis

if TYPE_CHECKING:
    from reference_sim.truth import Truth

CLIENTS: Final = 64
#: Longer than any finite wait for an RTO: at most 64 s.
STUCK_S: Final = 100
_FIN: Final = 0x01


def full_link(*, reuses_agents: bool) -> Truth:
    scenario = thesis(
        strategy="thesis-pipelined",
        web_clients=CLIENTS,
        reuses_agents=reuses_agents,
        record=Record(transactions=True, packets=True),
    )
    return simulate(scenario).truth


@pytest.fixture(scope="module")
def reused() -> Truth:
    return full_link(reuses_agents=True)


def stuck(truth: Truth) -> pl.DataFrame:
    """Return the last connections of clients that opened none for a long time."""
    by_browser = truth.transactions.select("connection", "browser").unique()
    last = truth.connections.join(by_browser, on="connection").sort("opened").group_by("browser").last()
    end = truth.connections["opened"].max()
    return last.filter((end - pl.col("opened")).dt.total_seconds() > STUCK_S)


def test_some_clients_of_a_full_link_get_stuck_with_their_agents(reused: Truth) -> None:
    # ns-2.35 with BayFullTcp: 10 and 16 of 64 with two seeds.
    assert 4 < stuck(reused).height < CLIENTS / 2


def test_no_client_with_new_agents_for_each_document_gets_stuck() -> None:
    assert stuck(full_link(reuses_agents=False)).height == 0


def test_a_stuck_client_has_its_response_and_its_connection_never_closes(reused: Truth) -> None:
    last = stuck(reused)
    assert last["closed"].is_null().all()
    requested = reused.transactions.join(last.select("connection"), on="connection")
    assert requested["response_last_received"].is_not_null().all()


def test_a_stuck_client_got_the_fin_before_the_data(reused: Truth) -> None:
    packets = reused.packets.filter(pl.col("side") == "server").join(stuck(reused), on="connection")
    data = packets.filter(pl.col("payload_bytes") > 0).group_by("connection").agg(pl.max("seq").alias("last"))
    bare_fins = packets.filter((pl.col("flags") & _FIN != 0) & (pl.col("payload_bytes") == 0))
    early = bare_fins.join(data, on="connection").filter(pl.col("seq") <= pl.col("last"))
    assert set(early["connection"]) == set(packets["connection"])
