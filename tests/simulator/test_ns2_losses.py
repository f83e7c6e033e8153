"""Queue overflow of one flow: the same segments as BayFullTcp's in ns-2, run in parallel."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final

import polars as pl
import pytest

from reference_sim.page import Constant
from reference_sim.scenario import Record
from reference_sim.simulation import simulate
from reference_sim.topology import PacketQueue
from reference_sim.workloads import thesis

from .ns2.programs import FOLDER

if TYPE_CHECKING:
    from pathlib import Path

    from reference_sim.scenario import Scenario

#: File bytes, queue limit in packets as ns counts, bottleneck rate in bits per second.
CASES: Final = [(200_000, 6, 500_000), (200_000, 3, 500_000), (400_000, 8, 300_000), (100_000, 2, 1_500_000)]
#: ns's request has 80 bytes, ours 210: this and the grid of delayed ACKs cause a few milliseconds.
TOLERANCE: Final = 0.02
_SECOND: Final = 10**9
_SERVER_NODE: Final = "3"
_SYN: Final = 0x02


@dataclass(frozen=True, slots=True)
class Sent:
    """Data segment of the server: its time in seconds, offset, bytes, and whether the queue dropped it."""

    time: float
    seq: int
    payload: int
    is_dropped: bool


@pytest.mark.parametrize(("size", "limit", "rate"), CASES)
def test_one_flow_through_a_full_queue_is_bayfulltcps(size: int, limit: int, rate: int, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    options = {"bytes": size, "limit": limit, "rate": f"{rate / 1e6}Mb", "trace": trace}
    command = ["ns", str(FOLDER / "one_flow.tcl"), *(f"{name}={value}" for name, value in options.items())]
    subprocess.run(command, check=True)
    theirs, ours = of_ns(trace), of_ours(one_file(size, limit, rate))
    assert [(one.seq, one.payload, one.is_dropped) for one in ours] == [
        (one.seq, one.payload, one.is_dropped) for one in theirs
    ]
    assert any(one.is_dropped for one in ours)
    assert [one.time for one in ours] == pytest.approx([one.time for one in theirs], abs=TOLERANCE)


def of_ns(trace: Path) -> list[Sent]:
    """Return the first connection's segments; the client requests the complete file again."""
    sent: list[tuple[str, Sent]] = []
    dropped: set[str] = set()
    connections = 0
    for line in trace.read_text().splitlines():
        event, time, start, _, _, size, _, _, _, _, seq, packet, _, flags, header, *_ = line.split()
        if event == "d":
            dropped.add(packet)
        elif event == "+" and start == _SERVER_NODE:
            connections += bool(int(flags, 16) & _SYN)
            payload = int(size) - int(header)
            if connections == 1 and payload > 0:
                sent.append((packet, Sent(float(time), int(seq), payload, is_dropped=False)))
    return [replace(one, is_dropped=packet in dropped) for packet, one in sent]


def one_file(size: int, limit: int, rate: int) -> Scenario:
    """Return the same in our simulator."""
    base = thesis(
        strategy="http10-serial", web_clients=1, record=Record(packets=True), duration=timedelta(seconds=60)
    )
    (browser,) = base.browsers
    visit = browser.visits[0]
    # ns counts the SYN among the bytes of the file.
    (primary,) = (replace(part, size=Constant(value=size - 1)) for part in visit.page.objects)
    visit = replace(visit, page=visit.page.with_objects((primary,)))
    queue = PacketQueue(limit=limit - 1)
    network = base.network.with_link("gateway-c-gateway-s", rate=rate)
    network = network.with_link("gateway-s-gateway-c", rate=rate, queue=queue)
    return replace(base, network=network, browsers=(replace(browser, visits=(visit,), forever=False),))


def of_ours(scenario: Scenario) -> list[Sent]:
    truth = simulate(scenario).truth
    dropped = set(truth.hops.filter(pl.col("drop").is_not_null())["packet"])
    data = truth.packets.filter((pl.col("side") == "server") & (pl.col("payload_bytes") > 0)).sort("packet")
    since = pl.col("sent").to_physical() - truth.packets["sent"].to_physical().min()
    rows = data.with_columns(since.alias("time")).select("time", "seq", "payload_bytes", "packet").rows()
    return [Sent(time / _SECOND, seq, payload, packet in dropped) for time, seq, payload, packet in rows]
