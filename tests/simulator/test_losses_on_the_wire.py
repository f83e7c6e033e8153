"""Every strategy over networks with and without loss, as tshark sees it at both ends.

At the sender's tap, tshark counts exactly the truth's retransmissions.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import polars as pl
import pytest

from reference_sim.networks import NETWORKS
from reference_sim.scenario import NodeTap
from reference_sim.simulation import simulate
from reference_sim.strategies import STRATEGIES
from reference_sim.strategy import Place, Protocol
from reference_sim.topology import PacketLoss
from reference_sim.workloads import retrieval

from .wireshark import WARNING, complaints, dissect, experts, joined_late, values

# tshark's warnings on lost packets, and why they are right.
EXPECTED_WARNINGS = {
    "Previous segment(s) not captured (common at capture start)": "a packet was lost before it came here",
    "ACKed segment that wasn't captured (common at capture start)": "as before, of the other direction",
    "This frame is a (suspected) out-of-order segment": "what was lost comes behind what was not",
    "D-SACK Sequence": "a segment came twice, which the receiver tells (RFC 2883)",
    "Connection reset (RST)": "a segment came for a connection that is over",
}
SENT_AGAIN = (
    "This frame is a (suspected) retransmission",
    "This frame is a (suspected) fast retransmission",
    "This frame is a (suspected) spurious retransmission",
    # At the sender, no packet is out of order. tshark reports a retransmission as out of order if it comes
    # within an initial RTT of the newest data without duplicate ACKs or SACKs (packet-tcp.c,
    # tcp_analyze_sequence_number). Such a case is a recovery, or an RTO of one connection just after
    # another's.
    "This frame is a (suspected) out-of-order segment",
)
LOSS = PacketLoss(rate=0.03)
# HTTP/1.0 and 1.1, pipelined or not, many connections, over shared control blocks, and FTP.
EVERYDAY = ("ftp", "http10-parallel", "http10-etcp-fair", "http11-pipelined")


def simulated(strategy, *, stack, is_lossy):
    where = "satellite-hub" if STRATEGIES[strategy].place is Place.HUB else "thesis"
    network = NETWORKS[where]
    links = tuple(replace(link, loss=(LOSS,) * is_lossy) for link in network.links)
    made = retrieval(
        strategy=strategy,
        page="bhalekar-5-large",
        network=replace(network, links=links),
        client_stack=stack,
        seed=3,
    )
    taps = (made.network.clients[0], made.network.servers[0])
    return simulate(replace(made, taps=tuple(NodeTap(name=name) for name in taps)))


def of_node(table, simulation, node, *ends):
    """Return the rows of connections with this node at one of these ends."""
    connections = simulation.truth.connections
    is_here = pl.any_horizontal(pl.col(f"{end}_node") == node for end in ends)
    return table.filter(pl.col("connection").is_in(connections.filter(is_here)["connection"].implode()))


def nodes_of(simulation):
    """Return the numbers of the tapped nodes."""
    names = [node["name"] for node in simulation._document["nodes"]]
    return {tap: names.index(tap) for tap in simulation.taps}


def assert_same_retransmissions(frames, simulation, tap):
    node = nodes_of(simulation)[tap]
    packets = simulation.truth.packets
    client, server = (of_node(packets.filter(side=side), simulation, node, side) for side in ("client", "server"))
    sent = pl.concat([client, server]).sort("packet")
    seen = simulation.capture(tap).packets.with_row_index("number")
    address = ".".join(map(str, simulation._document["nodes"][node]["address"]))
    own = seen.filter(pl.col("source").cast(pl.String) == address)
    assert sent["sent"].to_list() == own["time"].to_list()
    told = [any(message in SENT_AGAIN for _, message in experts(frames[number])) for number in own["number"]]
    differing = sent.filter(pl.col("is_retransmission") != pl.Series(told))
    assert differing.is_empty(), differing


def assert_same_messages(frames, simulation, tap):
    late = pl.col("client_port").cast(pl.String).is_in(joined_late(frames))
    connections = simulation.truth.connections.filter(~late)["connection"]
    transactions = of_node(
        simulation.truth.transactions, simulation, nodes_of(simulation)[tap], "client", "server"
    ).filter(pl.col("connection").is_in(connections.implode()))
    frames = readable(frames)
    assert Counter(values(frames, "http.request.method")) == Counter(transactions["method"])
    assert Counter(values(frames, "http.request.uri")) == Counter(transactions["target"])
    answered = transactions.drop_nulls("response_last_received")
    assert Counter(values(frames, "http.response.code")) == Counter(map(str, answered["status"]))


def readable(frames):
    """Return the frames of connections that tshark can read."""
    late = joined_late(frames)
    return [frame for frame in frames if late.isdisjoint(frame["tcp.srcport"] + frame["tcp.dstport"])]


def assert_same_commands(frames, simulation):
    """Check RFC 959, section 5.4: each file has one of each of these."""
    # tshark names only the first line of a segment: commands that do not wait for replies share segments.
    files = simulation.truth.retrievals.height
    commands = Counter(values(frames, "ftp.request.command"))
    replies = Counter(values(frames, "ftp.response.code"))
    assert commands["USER"] == commands["QUIT"] == 1
    assert 0 < commands["PORT"] <= files
    assert 0 < replies["226"] <= files


def assert_is_as_the_truth(simulation, folder, strategy):
    assert simulation.truth.retrievals["end"].null_count() == 0
    for tap in simulation.taps:
        frames = dissect(simulation, folder, at=tap)
        assert list(complaints(readable(frames))) == []
        warnings = {
            message for frame in readable(frames) for severity, message in experts(frame) if severity == WARNING
        }
        assert warnings <= EXPECTED_WARNINGS.keys()
        assert_same_retransmissions(frames, simulation, tap)
        if STRATEGIES[strategy].protocol is Protocol.FTP:
            assert_same_commands(frames, simulation)
        else:
            assert_same_messages(frames, simulation, tap)


@pytest.mark.parametrize("strategy", EVERYDAY)
def test_tshark_counts_the_retransmissions_of_the_truth(tmp_path, strategy):
    simulation = simulated(strategy, stack="reno", is_lossy=True)
    assert simulation.truth.packets["is_retransmission"].sum() > 0
    assert_is_as_the_truth(simulation, tmp_path, strategy)


@pytest.mark.slow
@pytest.mark.parametrize("is_lossy", [False, True], ids=["clean", "lossy"])
@pytest.mark.parametrize("stack", ["reno", "linux-6"])
@pytest.mark.parametrize("strategy", sorted(name for name, row in STRATEGIES.items() if row.http2 is None))
def test_tshark_agrees_with_the_truth_of_every_strategy(tmp_path, strategy, stack, is_lossy):
    assert_is_as_the_truth(simulated(strategy, stack=stack, is_lossy=is_lossy), tmp_path, strategy)
