"""The core of one sender model, beside the one that it will replace: its waits partition the elapsed time."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SAMPLES = Path(__file__).parents[2] / "sample_traces"
CAPTURES = sorted(path.name for path in SAMPLES.glob("*.pcap*"))


def transactions_of(name: str) -> list[dict[str, object]]:
    """The transactions with their waits, by the core that the environment chooses."""
    command = [sys.executable, "-m", "tcptrace_http", "analyze", "--format", "json", str(SAMPLES / name)]
    environment = os.environ | {"TCPTRACE_HTTP_CORE": "new"}
    done = subprocess.run(command, env=environment, capture_output=True, check=True)
    return json.loads(done.stdout)["transactions"]


@pytest.mark.parametrize("name", CAPTURES)
def test_waits_follow_each_other_without_a_gap(name: str) -> None:
    transactions = transactions_of(name)
    assert transactions
    for transaction in transactions:
        waits = transaction["waits"]
        for before, after in itertools.pairwise(waits):
            assert before["end_ns"] == after["start_ns"]
            assert before["end_ns"] > before["start_ns"]


def test_stalls_of_a_head_and_a_body_are_named_by_their_cause() -> None:
    causes = [
        wait["cause"] for transaction in transactions_of("lan_hdrsep_small.pcap") for wait in transaction["waits"]
    ]
    assert causes.count("stall.nagle_delayed_ack") >= 5


def test_server_without_nagles_algorithm_has_no_such_wait() -> None:
    for transaction in transactions_of("lan_hdrsep_small_nodelay.pcap"):
        assert not [wait for wait in transaction["waits"] if "nagle" in wait["cause"]]
