"""Testbed: it behaves as its sidecars say, checked without the analyser."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from truth.field.kinds import all_scenarios
from truth.field.make import make
from truth.field.scenario import FRONT_PORT, SERVER_PORT, Client, Server, Write, is_set_aside
from truth.field.sidecar import NAGLE
from truth.wire import Flow, Packet, read_flows

if TYPE_CHECKING:
    from pathlib import Path

SCENARIOS = {scenario.name: scenario for scenario in all_scenarios()}
FEW = Client(transactions=4)
IMPATIENT = Client(transactions=3, timeout_seconds=1.5)


def made(name: str, out: Path, **changes: Any) -> dict[str, tuple[dict[str, Any], list[Flow]]]:
    """Return sidecar and flows of a shortened scenario, by capture point."""
    sidecars = [
        json.loads(path.read_text()) for path in make(dataclasses.replace(SCENARIOS[name], **changes), out)
    ]
    return {sidecar["point"]: (sidecar, read_flows(out / sidecar["capture"])) for sidecar in sidecars}


def sent(flows: list[Flow]) -> list[Packet]:
    """Return the data of all servers."""
    return [packet for flow in flows for packet in flow.data(by_client=False)]


def test_a_pause_of_a_server_with_tcp_nodelay_is_on_the_wire_and_nothing_is_held(tmp_path):
    sidecar, flows = made("sleeping_nodelay_38", tmp_path, client=FEW)["server"]
    head, body = sent(flows)[:2]
    assert head.payload_bytes == 220
    assert body.time_ns - head.time_ns >= 38e6
    assert sidecar["holds"] == sidecar["must"] == []
    assert {"tail-loss", "zero-window", "unanswered-request"} <= set(sidecar["never"])


def test_a_nagle_hold_ends_with_the_ack_long_after_the_write(tmp_path):
    server = Server(plans=((Write(220), Write(900, 5)),), nodelay=False)
    sidecar, flows = made("sleeping_nagle_5", tmp_path, client=FEW, server=server)["server"]
    longest = max(sidecar["holds"], key=lambda hold: hold["end_ns"] - hold["start_ns"])
    assert longest["bytes"] == 900
    assert longest["by"] == "Nagle"
    assert longest["end_ns"] - longest["start_ns"] > 20e6
    written = max(write["at_ns"] for write in sidecar["writes"] if write["at_ns"] <= longest["end_ns"])
    flow = next(flow for flow in flows if flow.client_port == longest["client_port"])
    left = next(packet for packet in flow.data(by_client=False) if packet.time_ns > longest["start_ns"])
    releasing = flow.packets[flow.packets.index(left) - 1]
    assert left.time_ns - written > 20e6
    assert releasing.from_client
    assert not releasing.payload_bytes
    assert any(set(place["any_of"]) == set(NAGLE) for place in sidecar["must"])


def test_full_segments_are_retransmitted_and_again_into_a_black_hole(tmp_path):
    server = Server(plans=((Write(700),), (Write(3220),)))
    captures = made("black_hole_path_mtu_3220_closed", tmp_path, client=IMPATIENT, server=server)
    sidecar, flows = captures["server"]
    copies = Counter(packet.seq for packet in sent(flows) if packet.payload_bytes == 1448)
    assert max(copies.values()) > 1
    assert max(packet.payload_bytes for packet in sent(captures["client"][1])) < 1448
    assert {drop["payload"] for drop in sidecar["drops"]} == {1448}
    assert [place["any_of"] for place in sidecar["must"]] == [["undelivered-data"]]


def test_a_silent_server_acknowledges_the_request_and_sends_nothing(tmp_path):
    server = Server(stops_at=(1, 0))
    sidecar, (flow,) = made("hang_silent_2", tmp_path, client=IMPATIENT, server=server)["client"]
    request = flow.data(by_client=True)[-1]
    assert max(packet.ack for packet in flow.sent(by_client=False)) >= request.end
    assert all(packet.time_ns < request.time_ns for packet in flow.data(by_client=False))
    assert [row["outcome"] for row in sidecar["transactions"]] == ["whole", "timeout"]
    assert [place["any_of"] for place in sidecar["must"]] == [["unanswered-request"]]


def test_a_router_sees_every_packet_twice(tmp_path):
    sidecar, (flow,) = made("routed_split_nagle_far_client", tmp_path, client=FEW)["any"]
    copies = Counter((p.from_client, p.seq, p.ack, p.flags, p.payload_bytes, p.window) for p in flow.packets)
    assert {count % 2 for count in copies.values()} == {0}
    assert sidecar["holds"]
    assert "spurious-retransmission" in sidecar["never"]


@pytest.mark.parametrize("proxy", ["nginx_off_on", "haproxy_no_delay"])
def test_both_legs_of_a_proxy_are_in_one_capture_and_only_its_upstream_is_held(proxy, tmp_path):
    captures = made(f"proxied_{proxy}_split", tmp_path, client=FEW)
    sidecar, flows = captures["both"]
    assert {flow.server[1] for flow in flows} == {FRONT_PORT, SERVER_PORT}
    assert {hold["server_port"] for hold in sidecar["holds"]} == {SERVER_PORT}
    assert [hop["transaction"] for hop in sidecar["hops"]] == [0, 1, 2, 3]
    assert {hop["upstream_client_port"] for hop in sidecar["hops"]} <= {flow.client_port for flow in flows}
    assert captures["client"][0]["holds"] == []


def test_an_upload_through_a_small_send_buffer_is_limited_by_it(tmp_path):
    client = dataclasses.replace(SCENARIOS["upload_send_buffer_8192_100k"].client, transactions=2)
    sidecar, (flow,) = made("upload_send_buffer_8192_100k", tmp_path, client=client)["client"]
    uploaded = {packet.seq for packet in flow.data(by_client=True)}
    assert len(uploaded) > 2 * 100_000 // 1448
    assert [place["any_of"] for place in sidecar["must"]] == [["small-send-buffer"]]
    assert "receive-window-limit" in sidecar["never"]


def test_every_scenario_has_a_name_of_its_own_and_about_half_are_set_aside():
    assert len(SCENARIOS) == len(all_scenarios())
    assert sum(len(scenario.points) for scenario in SCENARIOS.values()) >= 200
    assert len({scenario.kind for scenario in SCENARIOS.values()}) == 7
    aside = sum(map(is_set_aside, SCENARIOS))
    assert 0.4 < aside / len(SCENARIOS) < 0.6
