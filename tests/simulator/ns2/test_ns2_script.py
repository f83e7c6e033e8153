"""Script ``dumbbell.tcl``: Debian's ``ns`` reproduces the stored timelines of ns-2."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from . import programs

if TYPE_CHECKING:
    from pathlib import Path

SIZES = "6651,3883,1866,1128"


@pytest.mark.parametrize(
    ("strategy", "name"),
    [("serial", "serial_fulltcp"), ("parallel", "parallel_fulltcp"), ("pipelined", "pipe_fulltcp")],
)
def test_ns_gives_the_stored_timeline_to_the_microsecond(tmp_path: Path, strategy: str, name: str) -> None:
    trace = tmp_path / "ns.tr"
    programs.run(strategy, sizes=SIZES, seconds=6, trace=trace)
    made, stored = programs.lives(trace), programs.golden(name)
    assert [ordered(life) for life in made] == [ordered(life) for life in stored]
    for mine, theirs in zip(made, stored, strict=True):
        assert mine.times == pytest.approx(theirs.times, abs=1.5e-6)


def ordered(life: programs.Life) -> tuple[object, ...]:
    return (life.is_from_client, life.connection, life.seq, life.ack, life.payload, life.size, life.flags)


def test_segment_filled_takes_the_captured_time() -> None:
    outcome = programs.run("segment-filled", sizes=SIZES, seconds=6)
    assert outcome.retrieval_seconds == pytest.approx([0.594627], abs=1e-6)


def test_clients_and_ftp_share_the_link_and_lose_packets() -> None:
    outcome = programs.run("serial", webs=8, ftps=4, seconds=20)
    assert outcome.utilisation > 0.9
    assert outcome.drops > 0
    assert outcome.retrievals > 8
