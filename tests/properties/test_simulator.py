"""Laws of a simulation, over random scenarios of every strategy and stack."""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import sys
from collections import defaultdict
from dataclasses import replace
from functools import lru_cache

import dpkt
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal, assert_series_equal
from simulator.random_scenarios import random_scenario

import tcptrace_http
from reference_sim.networks import path
from reference_sim.page import Constant
from reference_sim.scenario import Record
from reference_sim.simulation import simulate
from reference_sim.stack import IdleRestart
from reference_sim.stacks import stack
from reference_sim.topology import DataSegments
from reference_sim.workloads import retrieval

# Each daily run tries the laws on these few scenarios, simulated once; `make properties` tries any.
EVERYDAY = 24
IS_EVERYDAY = settings().max_examples < 1000
numbers = st.integers(0, EVERYDAY - 1 if IS_EVERYDAY else 1 << 32)
SEED = 20


@lru_cache(EVERYDAY)
def simulated(number):
    scenario = random_scenario(SEED, number).scenario
    return scenario, simulate(scenario)


def digests(wanted):
    """Yield the contents of the captures at both ends."""
    for number in wanted:
        _, simulation = simulated(number)
        for tap in simulation.taps:
            yield hashlib.sha256(simulation.pcap(tap)).hexdigest()


@pytest.mark.parametrize("hash_seed", ["0", "1"])
def test_another_process_gives_the_same_bytes(hash_seed):
    wanted = range(8)
    code = f"from properties.test_simulator import digests; print(*digests({wanted}))"
    environment = os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", code]
    finished = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert finished.stdout.split() == list(digests(wanted))


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return tmp_path_factory.mktemp("captures") / "capture"


@given(number=numbers)
def test_a_written_trace_is_read_back_unchanged(file, number):
    _, simulation = simulated(number)
    for tap in simulation.taps:
        packets = simulation.capture(tap).packets
        for write in (simulation.write_pcap, simulation.write_pcapng):
            write(file, at=tap)
            trace = tcptrace_http.read(file)
            assert_frame_equal(trace.packets, packets)
            assert trace.anomalies.is_empty()


def without_chance(scenario):
    """Return the scenario with constants in place of distributions, and only numbered losses."""
    links = tuple(
        replace(link, loss=tuple(loss for loss in link.loss if isinstance(loss, DataSegments)))
        for link in scenario.network.links
    )
    servers = (replace(server, processing=Constant(value=10**6)) for server in scenario.servers)
    browsers = (replace(browser, think=Constant(value=10**9)) for browser in scenario.browsers)
    network = replace(scenario.network, links=links)
    return replace(scenario, network=network, servers=tuple(servers), browsers=tuple(browsers))


@given(numbers)
def test_only_drawn_values_are_random(number):
    scenario = without_chance(simulated(number)[0])
    first, second = (simulate(scenario, seed=seed) for seed in (1, 2))
    for name, table in vars(first.truth).items():
        assert_frame_equal(table, getattr(second.truth, name))
    by_seed = ("identification", "seq_raw", "ack_raw", "checksum", "sack_edges_raw")
    for tap in first.taps:
        seen = [simulation.capture(tap).packets.drop(by_seed) for simulation in (first, second)]
        assert_frame_equal(*seen)


@given(numbers)
def test_a_packet_is_received_or_dropped_or_on_its_way(number):
    _, simulation = simulated(number)
    packets, hops = simulation.truth.packets, simulation.truth.hops
    drops = hops.group_by("packet").agg(drops=pl.col("drop").count())
    told = packets.join(drops, on="packet", how="left", validate="1:1")
    assert told["drops"].null_count() == 0, "every packet came to a link"
    assert told.filter(pl.col("received").is_not_null())["drops"].sum() == 0
    missing = told.filter(pl.col("received").is_null())
    assert missing["drops"].is_in([0, 1]).all()
    assert simulation.truth.links["drops"].sum() == missing["drops"].sum()
    # The simulation has ended: no host waits for packets still in transit.
    assert missing.filter(drops=0)["payload_bytes"].sum() == 0


@given(numbers)
def test_delivered_data_equals_written_data(number):
    _, simulation = simulated(number)
    here, there = (streams(simulation, tap) for tap in simulation.taps)
    truth = simulation.truth.transactions
    # Through a proxy or a cache, only one end of a connection is here.
    for flow in here.keys() & there.keys():
        both = min(len(here[flow]), len(there[flow]))
        assert here[flow][:both] == there[flow][:both]
    answered = truth.filter(pl.col("response_last_received").is_not_null())
    ends = answered.group_by("connection").agg(
        server=(pl.col("response_offset") + pl.col("response_head_bytes") + pl.col("response_body_bytes")).max(),
        client=(pl.col("request_offset") + pl.col("request_bytes")).max(),
    )
    is_syn = pl.col("flags") & dpkt.tcp.TH_SYN > 0
    delivered = simulation.truth.packets.drop_nulls("received").filter(pl.col("payload_bytes") > 0)
    delivered = delivered.with_columns(start=pl.col("seq") + is_syn).sort("start")
    for connection, server, client in ends.iter_rows():
        for side, end in (("server", server), ("client", client)):
            came = delivered.filter(connection=connection, side=side)
            assert in_order(came["start"], came["payload_bytes"]) >= end


def in_order(starts, lengths):
    """Return the offset up to which these intervals, sorted by start, have no hole."""
    end = 1
    for start, length in zip(starts, lengths, strict=True):
        if start > end:
            break
        end = max(end, start + length)
    return end


def streams(simulation, tap):
    """Return the bytes of each direction in its packets, up to the first hole."""
    packets = [
        dpkt.ethernet.Ethernet(frame).data for _, frame in dpkt.pcap.Reader(io.BytesIO(simulation.pcap(tap)))
    ]
    initials = defaultdict(set)
    for packet in packets:
        if packet.data.flags & dpkt.tcp.TH_SYN:
            initials[ends_of(packet)].add(packet.data.seq)
    pieces = defaultdict(dict)
    for packet in packets:
        segment, ends = packet.data, ends_of(packet)
        is_syn = bool(segment.flags & dpkt.tcp.TH_SYN)
        # A reused port has another sequence number; data may precede a lost SYN-ACK.
        initial = min(initials[ends], key=lambda number, seq=segment.seq: (seq - number) % (1 << 32))
        parts = pieces[*ends, initial]
        offset = (segment.seq + is_syn - initial - 1) % (1 << 32)
        held = parts.get(offset, b"")
        longer, shorter = sorted((held, segment.data), key=len, reverse=True)
        assert longer.startswith(shorter), "sent again with other bytes"
        parts[offset] = longer
    return {flow: joined(parts) for flow, parts in pieces.items()}


def ends_of(packet):
    return packet.src, packet.data.sport, packet.dst, packet.data.dport


def joined(parts):
    whole = bytearray()
    for offset, part in sorted(parts.items()):
        if offset > len(whole):
            break
        assert part.startswith(whole[offset : offset + len(part)]), "overlaps with other bytes"
        whole[offset : offset + len(part)] = part
    return bytes(whole)


@given(numbers)
def test_a_link_is_busy_for_its_bits_at_its_rate(number):
    scenario, simulation = simulated(number)
    links = scenario.network.links
    sizes = simulation.truth.packets.select(
        "packet", bytes=pl.col("packet_bytes") + scenario.network.framing_bytes
    )
    served = simulation.truth.hops.drop_nulls("dequeued").join(sizes, on="packet")
    for row in simulation.truth.links.iter_rows(named=True):
        rate = links[row["link"]].rate
        mine = served.filter(link=row["link"])
        bits = 8 * mine["bytes"].sum()
        busy = simulation.truth.links.filter(link=row["link"])["busy"].dt.total_nanoseconds().item()
        # Each packet's time is rounded to a nanosecond.
        exact = 0 if rate is None else bits * 10**9 / rate
        assert abs(busy - exact) <= mine.height / 2 + 1


@given(numbers)
def test_a_queue_is_never_over_its_limit(number):
    scenario, simulation = simulated(number)
    most = simulation.truth.queues.group_by("link").agg(pl.col("packets", "bytes").max())
    for link, packets, size in most.iter_rows():
        queue = scenario.network.links[link].queue
        held = {"packets": packets, "bytes": size}
        assert queue.kind == "unlimited" or held[queue.kind] <= queue.limit


# At these rates, a byte takes a whole, even number of nanoseconds.
@given(
    rate=st.sampled_from((1_000_000, 2_000_000, 8_000_000)),
    delay_us=st.integers(1, 300_000),
    strategy=st.sampled_from(("http10-serial", "http10-parallel", "http11", "http11-pipelined", "ftp")),
)
def test_at_twice_the_speed_all_takes_half_the_time(rate, delay_us, strategy):
    reno = stack("reno")
    # No timer fires: every segment is acknowledged at once, and none is lost.
    eager = replace(reno, acks=replace(reno.acks, every=1), idle_restart=IdleRestart.KEEP)
    slow, fast = (
        simulate(
            retrieval(
                strategy=strategy,
                page="bhalekar-5-medium",
                network=path("path", rate=factor * rate, delay=2000 * delay_us // factor),
                client_stack=eager,
                record=Record(packets=True),
            )
        ).truth
        for factor in (1, 2)
    )
    start = slow.connections["opened"].cast(pl.Int64)[0]
    assert not slow.packets["is_retransmission"].any()
    for table, columns in (("packets", ("sent", "received")), ("retrievals", ("start", "end"))):
        for column in columns:
            long, short = (getattr(truth, table)[column].cast(pl.Int64) - start for truth in (slow, fast))
            assert_series_equal(long, 2 * short)
