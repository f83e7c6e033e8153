"""Waits of a sender whose congestion window a mark has reduced (RFC 3168)."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import pytest

from reference_sim.networks import network
from reference_sim.page import Page, objects_of
from reference_sim.scenario import NodeTap, Record
from reference_sim.workloads import retrieval

from .comparison import compared
from .runs import run_of

#: Least share of the time with the true cause, by capture point.
_SHARE_MIN: Final = {"client": 0.95, "server": 0.999}


@pytest.mark.parametrize("at", ["client", "server"])
def test_a_marked_sender_waits_for_its_reduced_window_and_not_for_a_buffer(at: str) -> None:
    where = network("broadband-codel-ecn")
    made = retrieval(
        strategy="http11",
        page=Page(name="page", objects=objects_of(2_000_000, 1_000_000)),
        network=where,
        client_stack="linux-6-ecn",
    )
    taps = tuple(NodeTap(name=name) for name in (where.clients[0], where.servers[0]))
    comparison = compared(run_of(replace(made, taps=taps, record=Record.everything()), at=at))
    of_window = {
        told: length for (true, told), length in comparison.confusion.items() if true == "send_limited.cwnd"
    }
    assert of_window["send_limited.cwnd"] > comparison.total_ns / 100
    assert "send_limited.send_buffer" not in of_window
    # At the client, gaps within the tolerance of the link's pace count as the link's.
    assert comparison.agreeing_ns > _SHARE_MIN[at] * comparison.total_ns
