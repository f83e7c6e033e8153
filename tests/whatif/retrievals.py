"""Scenarios for fixes and strategies, each with a fault to fix."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from reference_sim.http2 import Http2
from reference_sim.page import Constant, Page, objects_of
from reference_sim.scenario import Writes
from reference_sim.stack import Nagle
from reference_sim.stacks import stack
from reference_sim.strategies import STRATEGIES
from reference_sim.tls import Tls, TlsVersion
from reference_sim.topology import DataSegments
from reference_sim.workloads import retrieval

if TYPE_CHECKING:
    from reference_sim.scenario import Scenario

_MS: Final = 1_000_000


def _with_server(scenario: Scenario, **changes: object) -> Scenario:
    return replace(scenario, servers=tuple(replace(it, **changes) for it in scenario.servers))  # type: ignore[arg-type]


def _made() -> dict[str, Scenario]:
    old = {"page": "heidemann", "network": "lan", "client_stack": "sunos-4.1.3"}
    modern = {"page": "eggert-graphics", "network": "wan", "client_stack": "linux-6"}
    lossy = retrieval(strategy="http11", page="heidemann", network="wan", client_stack="reno")
    split = retrieval(strategy="http10-keep-alive-x4-split", page="heidemann", network="wan")
    lost = lossy.network.with_link("server-client", loss=(DataSegments(segments=(1,)),))
    small = replace(stack("bsd-4.4"), name="small", send_buffer=2048, receive_buffer=4096)
    reno = stack("reno")
    at_once = replace(reno.acks, every=1, counts_segments=True)
    prompt = replace(reno, name="prompt", nagle=Nagle.OFF, acks=at_once)
    linux = stack("linux-6")
    quick = replace(linux, name="quick", nagle=Nagle.OFF)
    # The client delays every ACK, and its server holds the data after a ticket.
    slow = replace(linux, name="slow", nagle=Nagle.OFF, acks=replace(linux.acks, quick_acks=None))
    holding = replace(linux, name="holding", nagle=Nagle.BSD)
    one = Page(name="one", objects=objects_of(500))
    return {
        "secured": retrieval(
            strategy="http11",
            page="heidemann",
            network="wan",
            client_stack=quick,
            server_stack=linux,
            tls=Tls(version=TlsVersion.TLS12, chain_bytes=20_000),
        ),
        "tickets": retrieval(
            strategy="http11", page=one, network="wan", client_stack=slow, server_stack=holding, tls=Tls()
        ),
        "apache": retrieval(strategy="p-http-apache-1.1b4", **old),
        "netscape": retrieval(strategy="http10-parallel-4", processing=Constant(value=20 * _MS), **modern),
        "pipelined": retrieval(strategy="http11-pipelined", parse=_MS, **modern),
        "lossy": replace(lossy, network=lost),
        "split": split,
        "small": retrieval(strategy="http11", page="eggert-text", network="wan", client_stack=small),
        "flushed": _with_server(
            retrieval(strategy="http11", **modern), writes=Writes(head_alone=True, chunk_bytes=4096, gap=_MS)
        ),
        "chunked": _with_server(
            retrieval(strategy="http11", page="heidemann", network="wan", client_stack="reno"),
            writes=Writes(chunk_bytes=1000),
        ),
        # No data is held here: only the program takes time.
        "computed": _with_server(
            retrieval(strategy="http11", page="heidemann", network="lan", client_stack=prompt),
            writes=Writes(head_alone=True, chunk_bytes=1460, gap=50 * _MS),
        ),
        "twice": retrieval(strategy="p-http-restart-reset", think=Constant(value=5000 * _MS), **old),
        "streams": retrieval(
            strategy=STRATEGIES["http2"].but(
                "narrow",
                "windows of RFC 9113, and requests that wait for SETTINGS",
                http2=Http2(waits_for_settings=True),
            ),
            **modern,
        ),
        "nodelay": retrieval(
            strategy="http11",
            page="heidemann",
            network="lan",
            client_stack=replace(stack("reno"), nagle=Nagle.OFF),
        ),
    }


#: Scenarios by their fault.
RETRIEVALS: Final = _made()
