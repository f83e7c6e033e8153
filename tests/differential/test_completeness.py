"""Column flows.completeness: equal to tshark's tcp.completeness.

Exception: for tshark, a flow's first packet counts only if it is a SYN, and not even then if another
dissector announced the connection.
"""

from __future__ import annotations

import json
import subprocess
from concurrent.futures import ThreadPoolExecutor

import polars as pl
import pytest

import tcptrace_http

# One in this many public captures: tshark takes almost a second for each.
_STEP = 6
_FIN, _SYN, _RST, _ACK = 1, 2, 4, 16


def by_tshark(path):
    # Two passes over the file: in the first pass, a packet shows only earlier knowledge.
    command = ["tshark", "-2", "-n", "-r", str(path), "-Y", "tcp && !icmp && !icmpv6", "-T", "fields"]
    command += ["-e", "tcp.stream", "-e", "tcp.completeness", "-E", "occurrence=l"]
    lines = subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()
    rows = [line.split("\t") for line in lines]
    return {int(row[0]): int(row[1]) for row in rows if len(row) == 2 and all(row)}


def bits_of(flags, payload):
    """Return a packet's contribution: SYN 1, SYN-ACK 2, ACK 4, data 8, FIN 16, RST 32."""
    has_ack = bool(flags & _ACK)
    handshake = 1 + has_ack if flags & _SYN else 4 * (has_ack and not payload)
    return handshake | 8 * (payload > 0) | 16 * bool(flags & _FIN) | 32 * bool(flags & _RST)


def of_first_packets(analysis):
    firsts = analysis.segments.group_by("flow", maintain_order=True).first()
    rows = firsts.select("flow", "flags", "payload_bytes").iter_rows()
    return {flow: bits_of(flags, payload) for flow, flags, payload in rows}


def differences(path):
    analysis = tcptrace_http.analyze(path, tables=["segments"])
    ours = dict(analysis.flows.select("flow", pl.col("completeness").cast(pl.Int64)).iter_rows())
    theirs = by_tshark(path)
    if set(ours) != set(theirs):
        # Another number of streams: test_public_oracles.py gives the reasons.
        return []
    firsts = of_first_packets(analysis)
    return [
        f"{path.name} flow {flow}: tshark {theirs[flow]}, ours {value}"
        for flow, value in ours.items()
        if theirs[flow] & ~value or (value & ~theirs[flow]) & ~firsts[flow]
    ]


@pytest.mark.parametrize("name", ["rtt20_hdrsep.pcap", "fmt_pcapng.pcapng"])
def test_completeness_of_sample_traces_is_tsharks(sample_traces, name):
    assert differences(sample_traces / name) == []


@pytest.mark.slow
def test_completeness_of_public_captures_is_tsharks(captures):
    index = json.loads((captures / "public/index.json").read_text())
    paths = [captures / "public" / entry["path"] for entry in index if entry["tcp_streams"]][::_STEP]
    with ThreadPoolExecutor() as pool:
        found = [each for differing in pool.map(differences, paths) for each in differing]
    assert found == []
