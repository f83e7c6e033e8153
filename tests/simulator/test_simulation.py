"""Simulation in Python: its captures, its truth, and its errors on impossible scenarios."""

from __future__ import annotations

import copy
from dataclasses import replace

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import tcptrace_http
from reference_sim import _native, schema
from reference_sim.networks import NETWORKS
from reference_sim.scenario import NodeTap, Record
from reference_sim.simulation import Simulation, simulate
from reference_sim.topology import PacketLoss
from reference_sim.workloads import retrieval, thesis
from tcptrace_http.errors import ScenarioError

from .wireshark import WARNING, complaints, dissect, experts, values

# A request starts at most 2^32 numbers later, as every sequence number does.
SEEDS = (1, 2, 3)
STACKS = ("reno", "bsd-4.4", "linux-6")
# Flag in a TCP header (RFC 9293, section 3.1).
SYN = 0x02


def scenario(*, page="heidemann", network="thesis", **changes):
    made = retrieval(strategy="http11", page=page, network=network, record=Record.everything())
    taps = tuple(NodeTap(name=name) for name in (made.network.clients[0], made.network.servers[0]))
    return replace(made, **{"taps": taps, **changes})


def long_page(size=60_000):
    """Return a document whose page begins with an object of many segments."""
    document = scenario().document()
    document["pages"][0]["objects"][0]["size"] = {"kind": "constant", "value": size}
    return document


@pytest.fixture(scope="module")
def simulation() -> Simulation:
    return simulate(scenario())


def lossy(document, **loss):
    """Return the document with a loss on the links to the client."""
    document = copy.deepcopy(document)
    client = document["browsers"][0]["node"]
    for link in document["links"]:
        if link["to"] == client:
            link["loss"] = [loss]
    return document


@pytest.mark.parametrize("seed", SEEDS)
def test_the_same_seed_gives_the_same_bytes(seed):
    first, second = (simulate(scenario(), seed=seed) for _ in range(2))
    assert first.pcap() == second.pcap()
    assert first.pcap() != simulate(scenario(), seed=seed + 100).pcap()


@pytest.mark.parametrize("at", ["client", "server"])
@pytest.mark.parametrize("stack", STACKS)
def test_reading_the_written_capture_gives_the_trace_that_was_never_written(tmp_path, at, stack):
    made = retrieval(
        strategy="http11", page="heidemann", network="thesis", client_stack=stack, server_stack=stack, at=at
    )
    simulation = simulate(made)
    simulation.write_pcap(tmp_path / "x.pcap", at=at)
    simulation.write_pcapng(tmp_path / "x.pcapng", at=at)
    trace = simulation.capture(at=at)
    for name in ("x.pcap", "x.pcapng"):
        read = tcptrace_http.read(tmp_path / name)
        assert_frame_equal(read.packets, trace.packets)
        assert read.anomalies.is_empty()
    assert tcptrace_http.read(tmp_path / "x.pcap").provenance == replace(
        trace.provenance, path=str(tmp_path / "x.pcap")
    )


def test_selective_acknowledgments_are_the_same_in_the_file_and_the_trace(tmp_path):
    document = lossy(long_page(), kind="data-segments", segments=[4])
    for stack in document["stacks"]:
        stack |= {"sack": True, "timestamps": True}
    simulation = simulate(document)
    simulation.write_pcap(tmp_path / "x.pcap", at="server")
    packets = simulation.capture(at="server").packets
    assert packets["sack_edges_raw"].list.len().max() > 0
    assert_frame_equal(tcptrace_http.read(tmp_path / "x.pcap").packets, packets)


@pytest.mark.parametrize("stack", STACKS)
def test_tshark_finds_nothing_wrong_with_a_capture(tmp_path, stack):
    made = retrieval(
        strategy="http11-pipelined", page="heidemann", network="thesis", client_stack=stack, server_stack=stack
    )
    simulation = simulate(made)
    frames = dissect(simulation, tmp_path)
    assert list(complaints(frames)) == []
    assert max(severity for frame in frames for severity, _ in experts(frame)) < WARNING
    codes = [int(code) for code in values(frames, "http.response.code")]
    assert codes == simulation.truth.transactions["status"].to_list()


def test_the_capture_at_the_server_is_that_at_the_client_by_the_path_later(simulation):
    client, server = (simulation.capture(at=at).packets for at in ("client", "server"))
    sent = pl.col("source") == client["source"][0]
    key = ["source", "identification"]
    both = client.filter(sent).join(server.filter(sent), on=key, suffix="_server")
    assert both.height == client.filter(sent).height
    assert both.select((pl.col("time_server") > pl.col("time")).all()).item()
    columns = ["seq_raw", "ack_raw", "flags", "window_raw", "checksum", "payload_bytes"]
    assert all(both[name].equals(both[f"{name}_server"], check_names=False) for name in columns)
    hops = both.select((pl.col("ttl") - pl.col("ttl_server")).unique()).item()
    assert hops == 2


def test_every_table_has_the_declared_columns_and_rows(simulation):
    for name, table in schema.TABLES.items():
        frame = getattr(simulation.truth, name)
        assert dict(frame.schema) == schema.polars_schema(table), name
        # Only HTTP/2 has frames.
        assert not frame.is_empty() or name == "frames", name
        nullable = {column.name for column in table.columns if column.nullable}
        assert all(frame[column].null_count() == 0 for column in frame.columns if column not in nullable)


@pytest.mark.parametrize("name", schema.ENUMERATIONS)
def test_the_words_of_the_engine_are_those_that_are_declared(name):
    assert _native.words(name) == list(schema.ENUMERATIONS[name])


def test_tables_and_columns_are_explained():
    for table in schema.TABLES.values():
        assert table.doc.endswith(".")
        assert all(column.doc and not column.doc.endswith(".") for column in table.columns)


def test_the_truth_is_on_the_clock_of_the_capture(simulation):
    packets = simulation.truth.packets.filter(side="client")
    seen = simulation.capture().packets
    assert packets["sent"].to_list() == seen.filter(source=seen["source"][0])["time"].to_list()


def test_a_link_is_busy_for_its_bytes_at_its_rate(simulation):
    document = scenario().document()
    hops = simulation.truth.hops.group_by("link").agg(count=pl.len())
    for link in simulation.truth.links.filter(pl.col("packets") > 0).iter_rows(named=True):
        rate = document["links"][link["link"]]["rate_bps"]
        busy_ns = simulation.truth.links["busy"][link["link"]].total_seconds() * 1e9
        assert busy_ns == pytest.approx(link["bytes"] * 8e9 / rate, abs=link["packets"] * 1000)
        assert hops.filter(link=link["link"])["count"].item() == link["packets"]


def test_packets_leave_a_link_in_order_and_none_before_it_came(simulation):
    taken = simulation.truth.hops.drop_nulls("dequeued")
    assert taken.select((pl.col("dequeued") >= pl.col("enqueued")).all()).item()
    ordered = taken.select(pl.col("dequeued").diff().over("link").drop_nulls() >= pl.duration())
    assert ordered.to_series().all()


def test_losses_have_their_rate():
    many = scenario(page="heidemann").document()
    many["browsers"][0]["forever"] = True
    many["duration_ns"] = 600 * 10**9
    many["browsers"][0]["think"] = {"kind": "constant", "value": 10**8}
    hops = simulate(lossy(many, kind="packets", rate=0.02)).truth.hops
    lost = hops.filter(pl.col("drop") == "packet_loss").height
    offered = hops.filter(pl.col("link").is_in([n for n, x in enumerate(many["links"]) if x["to"] == 0])).height
    assert offered > 5000
    # Three standard deviations of a binomial count.
    assert abs(lost - 0.02 * offered) < 3 * (0.02 * 0.98 * offered) ** 0.5


def test_a_queue_is_never_longer_than_its_limit():
    document = long_page()
    for link in document["links"]:
        link |= {"queue": {"kind": "packets", "limit": 3}, "rate_bps": link["rate_bps"] // 10}
    truth = simulate(document).truth
    assert truth.queues["packets"].max() <= 3
    assert truth.hops.filter(pl.col("drop") == "queue_full").height > 0
    assert truth.hops.filter(pl.col("drop") == "queue_full")["dequeued"].null_count() > 0


def test_progress_shows_how_far_it_is_and_changes_nothing():
    document = thesis(strategy="segment-filled", web_clients=8, ftp_clients=2, seed=1).document()
    told = []
    simulation = simulate(document, progress=lambda now, duration: told.append((now, duration)))
    assert simulation.events > 100_000
    assert told == sorted(told)
    assert {duration for _, duration in told} == {300 * 10**9}
    assert simulation.end_ns == 300 * 10**9
    assert_frame_equal(simulation.truth.transactions, simulate(document).truth.transactions)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda it: it["links"][1].update(to=99), "links[1].to: 99 is not a node (there are {nodes})"),
        (
            lambda it: it["links"][0].update(rate_bps=-1),
            "links[0].rate_bps: invalid value: integer `-1`, expected u64",
        ),
        (lambda it: it["stacks"][0].update(mss=0), "stacks[0].mss: 0 is below the minimum of 88"),
        (lambda it: it.update(colour="red"), "colour: unknown field `colour`, expected one of"),
        (
            lambda it: it["taps"].append({"kind": "link", "index": 99}),
            "taps[2]: 99 is not a link (there are {links})",
        ),
    ],
)
def test_a_document_that_cannot_be_is_an_error_that_names_the_field(change, message):
    document = scenario().document()
    change(document)
    expected = message.format(nodes=len(document["nodes"]), links=len(document["links"]))
    with pytest.raises(ScenarioError) as caught:
        simulate(document)
    assert str(caught.value).startswith(expected)


def test_a_place_without_a_tap_is_an_error_that_lists_the_taps(simulation):
    with pytest.raises(ScenarioError, match="no tap at 'router' \\(there are: 'c1', 's1'\\); add one"):
        simulation.capture(at="router")


def test_without_rows_of_transactions_the_totals_are_the_same() -> None:
    def run(*, transactions: bool) -> Simulation:
        record = Record(transactions=transactions)
        made = thesis(strategy="http10-serial", web_clients=4, ftp_clients=1, duration=60 * 10**9, record=record)
        return simulate(made)

    kept, forgotten = run(transactions=True), run(transactions=False)
    done = kept.truth.retrievals.filter(~pl.col("is_transfer") & pl.col("end").is_not_null())
    assert kept.totals == forgotten.totals
    assert (kept.totals.retrievals, kept.totals.retrieved_bytes) == (done.height, done["bytes"].sum())
    for table in (forgotten.truth.connections, forgotten.truth.transactions, forgotten.truth.retrievals):
        assert table.height == 0


def test_data_on_a_syn_ack_that_is_retransmitted_is_no_new_data():
    # Its record of sent data had this data twice, and retransmitted the second copy forever.
    network = NETWORKS["thesis"]
    lossy_links = tuple(replace(link, loss=(PacketLoss(rate=0.03),)) for link in network.links)
    made = retrieval(
        strategy="http10-etcp-content-dependent-again",
        page="bhalekar-5-large",
        network=replace(network, links=lossy_links),
        client_stack="linux-6",
        seed=3,
    )
    truth = simulate(made).truth
    again = truth.packets.filter(
        pl.col("is_retransmission"), pl.col("flags") & SYN > 0, pl.col("payload_bytes") > 0
    )
    assert again.height > 0
    assert truth.retrievals["end"].null_count() == 0
