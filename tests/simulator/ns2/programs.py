"""Runs of Debian's ``ns`` on ``dumbbell.tcl``, and packet timelines as CSV."""

from __future__ import annotations

import csv
import resource
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

FOLDER: Final = Path(__file__).parent
SCRIPT: Final = FOLDER / "dumbbell.tcl"
GOLDEN: Final = FOLDER / "golden"
#: Node order of ``dumbbell.tcl``: gateways of the clients and the servers, then clients and servers in turn.
CLIENT_GATEWAY: Final = 0
SERVER_GATEWAY: Final = 1
FLAGS: Final = {0x02: "S", 0x01: "F", 0x08: "P", 0x10: "A"}


@dataclass(frozen=True, slots=True)
class Life:
    """Packet's path through the dumbbell: times in seconds, numbers relative to the SYN's."""

    sent: float
    enqueued: float
    dequeued: float
    received: float
    is_from_client: bool
    connection: int
    seq: int
    ack: int
    payload: int
    size: int
    flags: frozenset[str]

    @property
    def times(self) -> tuple[float, float, float, float]:
        return self.sent, self.enqueued, self.dequeued, self.received


@dataclass(frozen=True, slots=True)
class Outcome:
    """Output of ``dumbbell.tcl``: rates in bytes per second, shares of time and packets as fractions."""

    rate: float
    utilisation: float
    drops: float
    packets: int
    retrievals: int
    connections: int
    retrieval_seconds: tuple[float, ...]
    cpu_seconds: float


def run(strategy: str, **options: object) -> Outcome:
    """Run ``ns`` to its end; the options are those of the script."""
    command = ["ns", str(SCRIPT), f"strategy={strategy}"]
    command += [f"{name}={value}" for name, value in options.items()]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0 or done.stderr:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr or done.returncode}")
    told = [line.split() for line in done.stdout.splitlines()]
    totals = {name: float(value) for name, value in told if name != "retrieval"}
    return Outcome(
        rate=totals["rate"],
        utilisation=totals["utilisation"],
        drops=totals["drops"],
        packets=int(totals["packets"]),
        retrievals=int(totals["retrievals"]),
        connections=int(totals["connections"]),
        retrieval_seconds=tuple(float(value) for name, value in told if name == "retrieval"),
        cpu_seconds=after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
    )


def lives(trace: Path) -> list[Life]:
    """Return the packets of a trace of all links (``trace-all``) in sending order."""
    packets: dict[int, dict[str, object]] = {}
    for line in trace.read_text().splitlines():
        event, time, start, end, _, size, _, fid, _, _, seq, packet, ack, flags, header, *_ = line.split()
        made = packets.setdefault(
            int(packet),
            {
                "sent": float(time),
                "is_from_client": int(end) == CLIENT_GATEWAY,
                "connection": int(fid),
                "seq": int(seq),
                "ack": int(ack),
                "payload": int(size) - int(header),
                "size": int(size),
                "flags": frozenset(name for bit, name in FLAGS.items() if int(flags, 16) & bit),
            },
        )
        if {int(start), int(end)} == {CLIENT_GATEWAY, SERVER_GATEWAY} and event in "+-":
            made["enqueued" if event == "+" else "dequeued"] = float(time)
        elif event == "r":
            made["received"] = float(time)
    return [Life(**packet) for packet in packets.values()]  # type: ignore[arg-type]


def golden(name: str) -> list[Life]:
    """Return a stored timeline; ``golden/README.md`` gives its origin."""
    with (GOLDEN / f"{name}.csv").open(newline="") as file:
        return list(_golden_rows(csv.DictReader(file)))


def _golden_rows(rows: Iterable[dict[str, str]]) -> Iterator[Life]:
    for row in rows:
        yield Life(
            sent=float(row["t_sent"]),
            enqueued=float(row["t_bneck_enq"]),
            dequeued=float(row["t_bneck_deq"]),
            received=float(row["t_recv"]),
            is_from_client=row["dir"] == "c2s",
            connection=int(row["conn"]),
            seq=int(row["seq"]),
            ack=int(row["ack"]),
            payload=int(row["payload"]),
            size=int(row["size"]),
            flags=frozenset(row["flags"]),
        )
