"""Simulated capture as dissected by tshark."""

from __future__ import annotations

import subprocess

__all__ = ["ERROR", "FIELDS", "WARNING", "complaints", "dissect", "experts", "joined_late", "values"]

# Wireshark's epan/proto.h: PI_ERROR and PI_WARN; PI_UNDECODED and PI_MALFORMED among the groups.
ERROR = 8 << 20
WARNING = 6 << 20
COMPLAINTS = {5 << 24, 7 << 24}
FIELDS = (
    "tcp.stream",
    "tcp.srcport",
    "tcp.dstport",
    "tcp.flags.syn",
    "tcp.len",
    "http.request.method",
    "http.request.uri",
    "http.response.code",
    "http.content_length",
    "ftp.request.command",
    "ftp.response.code",
    "ip.checksum.status",
    "tcp.checksum.status",
    "_ws.expert.severity",
    "_ws.expert.group",
    "_ws.expert.message",
    "_ws.malformed",
    "image-gif.version",
)
GOOD = ["1"]
SERVER_PORTS = {"80", "3128"}


def dissect(simulation, folder, *, at="client"):
    """Return the frames' fields, each a list of values, as tshark shows them; checksums are verified."""
    path = folder / "x.pcap"
    simulation.write_pcap(path, at=at)
    # Lost segments arrive out of order: tshark waits for them only with this option.
    wishes = ("tcp.reassemble_out_of_order", "tcp.check_checksum", "ip.check_checksum")
    options = [word for wish in wishes for word in ("-o", f"{wish}:TRUE")]
    wanted = [word for field in FIELDS for word in ("-e", field)]
    shape = ["-T", "fields", "-E", "separator=/t", "-E", "aggregator=|"]
    command = ["tshark", "-n", "-r", path, *options, *shape, *wanted]
    output = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    rows = (line.split("\t") for line in output.split("\n") if line)
    return [
        {field: value.split("|") if value else [] for field, value in zip(FIELDS, row, strict=True)}
        for row in rows
    ]


def values(frames, field):
    return [value for frame in frames for value in frame[field]]


def joined_late(frames):
    """Return ports of clients that received data before the SYN-ACK, which was lost (RFC 1644, section 3.3).

    tshark assigns a SYN-ACK after data to another connection, and then reads a message from its middle.
    """
    ports = set()
    has_data = set()
    for frame in frames:
        if SERVER_PORTS.isdisjoint(frame["tcp.srcport"]):
            continue
        port = frame["tcp.dstport"][0]
        if frame["tcp.flags.syn"] != ["1"]:
            if frame["tcp.len"] != ["0"]:
                has_data.add(port)
        elif port in has_data:
            ports.add(port)
    return ports


def experts(frame):
    """Expert information of tshark on a frame: severity and message."""
    return zip(map(int, frame["_ws.expert.severity"]), frame["_ws.expert.message"], strict=True)


def complaints(frames):
    """Yield messages on malformed or undecodable frames, errors, and wrong checksums."""
    for number, frame in enumerate(frames, start=1):
        severities = {severity for severity, _ in experts(frame)}
        groups = {int(group) for group in frame["_ws.expert.group"]}
        if frame["_ws.malformed"] or ERROR in severities or groups & COMPLAINTS:
            yield number, frame["_ws.expert.message"]
        if frame["ip.checksum.status"] != GOOD or frame["tcp.checksum.status"] != GOOD:
            yield number, "checksum"
