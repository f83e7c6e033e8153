"""Page of nginx measured by each protocol, and predicted from its HTTP/1.1 capture.

``python -m tests.whatif.real_pages [--retrievals N] [--seed N]`` prints a table for two RTTs, with and
without loss. The program needs root, for network namespaces and TUN devices. Run it on an idle machine, or as
``chrt --fifo 5 python -m ...``: the link is a process.
"""

from __future__ import annotations

import argparse
import random
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import tcptrace_http
from tests.detectors.loopback import captured
from tests.probe.link import delayed_link
from tests.probe.servers import nginx_within, readable_folder
from tests.whatif import page_client

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tcptrace_http.analysis import Analysis
    from tests.probe.link import Link

__all__ = ["IMAGES", "PORTS", "STRATEGIES", "measured", "took"]

#: Bytes of each image: from 2 to 40 kB, unordered.
IMAGES: Final = [round(2000 * 20 ** (7 * number % 20 / 19)) for number in range(20)]
PORTS: Final = {"h1": 80, "pipelined": 80, "h2": 8080}
#: Strategy that predicts each measured retrieval.
STRATEGIES: Final = {"h1": "http11", "pipelined": "http11-pipelined", "h2": "http2"}
ROUND_TRIPS: Final = (0.02, 0.1)
LOSSES: Final = (0.0, 0.01)
#: Lossy retrievals per retrieval without loss: their times vary more.
LOSSY: Final = 3


def measured(
    folder: Path, *, round_trip: float, loss: float = 0.0, seed: int = 0, retrievals: int = 6
) -> dict[str, list[Analysis]]:
    """Fetch the page of a real server by each protocol over one path; the fastest retrieval comes first."""
    analyses = {}
    # The simulator's Linux has CUBIC.
    path = delayed_link(round_trip_seconds=round_trip, loss=loss, seed=seed, congestion="cubic")
    with readable_folder() as files, path as link:
        _write_page(files / "www")
        server = f"listen {link.address}:{PORTS['h2']} http2;"
        with nginx_within(files, link.server, link.address, server=server):
            for how in PORTS:
                paths = (folder / f"{how}-{number}.pcap" for number in range(retrievals))
                analyses[how] = sorted((_fetched(how, link, path) for path in paths), key=took)
    return analyses


def _write_page(folder: Path) -> None:
    folder.mkdir()
    links = "".join(f'<img src="/{number}.html" alt="{"a" * 200}">\n' for number in range(len(IMAGES)))
    (folder / "index.html").write_text(links)
    for number, size in enumerate(IMAGES):
        (folder / f"{number}.html").write_bytes(b"x" * size)


def _fetched(how: str, link: Link, path: Path) -> Analysis:
    """Capture the page at its client."""
    within = ["ip", "netns", "exec", link.client]
    with captured(PORTS[how], path, within=within, device=link.device, address=link.address):
        command = [*within, sys.executable, page_client.__file__, how, link.address, str(PORTS[how])]
        subprocess.run(command, check=True)
    return tcptrace_http.analyze(path)


def took(analysis: Analysis) -> float:
    """Return the nanoseconds from the SYN to the last byte of the last response."""
    last = analysis.transactions["response_last_time"].max()
    return (last - analysis.flows["start"].min()).total_seconds() * 1e9


@dataclass(frozen=True, slots=True)
class Line:
    """Cell of the table: medians in nanoseconds."""

    round_trip: float
    loss: float
    how: str
    measured_ns: float
    predicted_ns: float

    def __str__(self) -> str:
        path = f"{self.round_trip * 1e3:4.0f} ms {self.loss:4.0%} {self.how:9}"
        times = f"measured {self.measured_ns / 1e6:8.1f} ms, predicted {self.predicted_ns / 1e6:8.1f} ms"
        return f"{path} {times} {self.predicted_ns / self.measured_ns - 1:+7.1%}"


def table(folder: Path, *, retrievals: int, seed: int) -> Iterator[Line]:
    """Predict each page from every capture by HTTP/1.1, and compare the medians."""
    strategies = list(STRATEGIES.values())
    for round_trip in ROUND_TRIPS:
        for loss in LOSSES:
            path = {"round_trip": round_trip, "loss": loss}
            count = retrievals * (LOSSY if loss else 1)
            analyses = measured(folder, **path, seed=seed, retrievals=count)
            predictions = [tcptrace_http.whatif(it, strategies=strategies, draws=0) for it in analyses["h1"]]
            for how, strategy in STRATEGIES.items():
                predicted = statistics.median(it.row(strategy).elapsed_ns for it in predictions)
                yield Line(**path, how=how, predicted_ns=predicted, measured_ns=_median(analyses[how]))


def _median(analyses: list[Analysis]) -> float:
    return statistics.median(map(took, analyses))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.whatif.real_pages", description=__doc__)
    parser.add_argument("--retrievals", type=int, default=9, metavar="N")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().getrandbits(31), metavar="N")
    options = parser.parse_args()
    print(f"seed {options.seed}")
    with tempfile.TemporaryDirectory(prefix="real-pages-") as folder:
        for line in table(Path(folder), retrievals=options.retrievals, seed=options.seed):
            print(line, flush=True)


if __name__ == "__main__":
    main()
