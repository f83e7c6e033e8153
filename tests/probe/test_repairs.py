"""Repaired configurations: the probe passes, and the saving equals the findings' lost time."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tcptrace_http import analyze

from .link import delayed_link
from .servers import LARGE, nginx, nginx_within

if TYPE_CHECKING:
    from pathlib import Path

WITH_NAGLE = "sendfile on; tcp_nopush off; tcp_nodelay off;"
MENDED = "sendfile on; tcp_nopush off; tcp_nodelay on;"
STALLS = ("short-initial-segment", "nagle-delayed-ack", "odd-short-final-segment")
#: Permitted difference between the saving and the reported lost time.
AGREEMENT = 0.2
#: Repeatable requests of a probe: of six, with this many first bytes (see workload.SIZES).
SIZES = (206, 200)


def by_size(path: Path) -> dict[int, tuple[list[float], list[float]]]:
    """Return elapsed and lost milliseconds of the transactions, by response size."""
    analysis = analyze(path)
    lost = {
        (row["flow"], row["transaction"]): row["lost"].total_seconds() * 1e3
        for row in analysis.findings.iter_rows(named=True)
        if row["detector"] in STALLS
    }
    found: dict[int, tuple[list[float], list[float]]] = {}
    for row in analysis.transactions.iter_rows(named=True):
        if row["method"] != "GET" or row["response_last_time"] is None:
            continue
        elapsed = (row["response_last_time"] - row["request_time"]).total_seconds() * 1e3
        times, costs = found.setdefault(row["response_body_bytes"], ([], []))
        times.append(elapsed)
        costs.append(lost.get((row["flow"], row["index"]), 0.0))
    return found


@pytest.mark.slow
def test_the_saving_of_a_repair_equals_the_reported_lost_time(tmp_path, probed):
    captures = {}
    for name, directives, code in (("bad", WITH_NAGLE, 1), ("good", MENDED, 0)):
        folder = tmp_path / name
        folder.mkdir()
        captures[name] = tmp_path / f"{name}.pcap"
        with nginx(folder, http=directives) as url:
            shown = probed(url + LARGE, "--save", captures[name])
        assert shown.code == code, shown.report
        assert bool(shown.failing & set(STALLS)) == (name == "bad")
        assert ("tcp_nodelay on" in shown.settings) == (name == "bad")
    bad, good = by_size(captures["bad"]), by_size(captures["good"])
    stalled = {size for size, (_, costs) in bad.items() if statistics.median(costs) > 0}
    assert stalled
    for size in stalled:
        times, costs = bad[size]
        saved = sum(times) - len(times) * statistics.median(good[size][0])
        assert saved == pytest.approx(sum(costs), rel=AGREEMENT), (size, saved, sum(costs))
    for size in set(bad) - stalled:
        assert sum(good[size][1]) == 0


@pytest.mark.slow
@pytest.mark.parametrize("ways", [(), ("--no-capture",)], ids=["packets", "sockets"])
@pytest.mark.parametrize("restarts", [True, False], ids=["restarts", "goes on"])
def test_slow_start_after_idle_is_distinguished_from_further_away(tmp_path, restarts, ways):
    with delayed_link(round_trip_seconds=0.04) as link:
        within = ["ip", "netns", "exec"]
        # BBR, a possible default of the machine, never restarts slow start.
        settings = (f"net.ipv4.tcp_slow_start_after_idle={int(restarts)}", "net.ipv4.tcp_congestion_control=reno")
        subprocess.run([*within, link.server, "sysctl", "-qw", *settings], check=True)
        with nginx_within(tmp_path, link.server, link.address) as url:
            run = "from tcptrace_http.cli.main import main; main()"
            command = [sys.executable, "-c", run, "probe", url + LARGE, "--output-format", "json", *ways]
            done = subprocess.run([*within, link.client, *command], capture_output=True, text=True, check=False)
    report = json.loads(done.stdout)
    failing = {one["name"]: one for outcome in report["outcomes"] for one in outcome["violations"]}
    assert done.returncode == (1 if restarts else 0), (done.stderr, report)
    assert ("slow-start-restart" in failing) == restarts
    if restarts:
        assert any("tcp_slow_start_after_idle=0" in each for each in failing["slow-start-restart"]["settings"])
    told = [one["status"] for one in report["outcomes"] if one["name"] == "slow-start-restart"]
    assert told == ["failed" if restarts else "passed"]
