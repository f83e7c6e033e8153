"""One client's packets: equal to ns-2's in order and time, for every strategy."""

from __future__ import annotations

import pytest

from .ns2 import dumbbell, programs

#: Both simulators compute the same sums; ns-2's traces have six decimals.
TOLERANCE = 1e-6
CASES = [
    ("thesis-pipelined", "tahoe-ns", "pipe"),
    ("segment-filled", "tahoe-ns", "seg"),
    ("http10-serial", "tahoe-ns", "serial"),
    ("http10-parallel", "tahoe-ns", "parallel"),
    ("http10-serial", "fulltcp-ns", "serial_fulltcp"),
    ("http10-parallel", "fulltcp-ns", "parallel_fulltcp"),
    ("thesis-pipelined", "fulltcp-ns", "pipe_fulltcp"),
]


@pytest.mark.parametrize(("strategy", "stack", "name"), CASES, ids=[name for _, _, name in CASES])
def test_packets_are_sent_queued_and_received_as_in_ns_2(strategy: str, stack: str, name: str) -> None:
    ours, theirs = dumbbell.lives(dumbbell.one_client(strategy, stack=stack)), programs.golden(name)
    assert [comparable(life) for life in ours] == [comparable(life) for life in theirs]
    for mine, golden in zip(ours, theirs, strict=True):
        assert mine.times == pytest.approx(golden.times, abs=TOLERANCE)


def comparable(life: programs.Life) -> tuple[object, ...]:
    # PSH has no meaning in ns-2 (its SYNs have it), and its first SYN acknowledges -1.
    flags = life.flags - {"P"}
    return life.is_from_client, flags, life.seq, max(life.ack, 0), life.payload, life.size
