"""Bundles of Reno connections (Eggert 1999): they end when ns-2's do, with and without losses."""

from __future__ import annotations

import subprocess
from typing import Final

import pytest

from reference_sim.page import expected
from reference_sim.papers.eggert_1999.bundles import ADDED_S, Cell, Situation, Transport, measure, page_of
from reference_sim.simulation import simulate

from .ns2.programs import FOLDER

#: Pages whose links are all in one document: the script starts the connections together.
PAGES: Final = ("text", "map", "graphics", "java")
#: Queue limit in packets, as ns counts.
LIMITS: Final = {Situation.MODEL: 100_000, Situation.NETWORK: 10}
PACKET_BYTES: Final = 512
#: ns measures at the server, without the paper's addition: half an RTT more, two RTTs less.
TO_PAPER_S: Final = 2 * ADDED_S - 0.05
#: T/TCP's option makes our packets 1.5 % longer, so an RTO may come a tick later.
TOLERANCE_S: Final = 0.1


@pytest.mark.parametrize("situation", LIMITS)
@pytest.mark.parametrize("page", PAGES)
def test_a_bundle_of_reno_connections_ends_when_that_of_ns_does(page: str, situation: Situation) -> None:
    sizes = [expected(part.size) / PACKET_BYTES for part in page_of(page).objects]
    assert all(size.is_integer() for size in sizes)
    theirs = of_ns(*map(int, sizes), limit=LIMITS[situation])
    cell = Cell(page=page, situation=situation, transport=Transport.RENO)
    ours = measure(simulate(cell.scenario()))
    assert ours["html"] == pytest.approx(theirs[0] + TO_PAPER_S, abs=TOLERANCE_S)
    assert ours["total"] == pytest.approx(max(theirs) + TO_PAPER_S, abs=TOLERANCE_S)


def of_ns(*packets: int, limit: int) -> list[float]:
    """Return the arrival time of each connection's last ACK at the server, in seconds."""
    command = ["ns", str(FOLDER / "bundle.tcl"), f"packets={','.join(map(str, packets))}", f"limit={limit}"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    ends = {int(number): float(time) for number, time in (line.split() for line in printed.splitlines())}
    return [ends[number] for number in range(len(packets))]
