"""Comparison of HTTP/2 with tshark: frames by type, and each stream's request, status and bytes.

``python -m tests.differential.http2_agreement CAPTURE... [--keys FILE] [--port N]...`` lists the differences in
other captures. Streams without a header block, and flows without a frame, have no row on either side.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import tcptrace_http

from .tshark_http2 import NAMES, Stream, frame_types, frames, streams

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .tshark_http2 import Frame

__all__ = ["differences", "our_frame_types", "our_streams", "their_frame_types"]


def our_frame_types(analysis: tcptrace_http.Analysis) -> dict[int, dict[str, int]]:
    """Count the frames of each type by flow."""
    rows = analysis.h2_connections.iter_rows(named=True)
    return {row["flow"]: {name: row[f"{name}_frames"] for name in (*NAMES, "other")} for row in rows}


def their_frame_types(found: Sequence[Frame]) -> dict[int, dict[str, int]]:
    """Count tshark's frames of each type by flow."""
    return {
        flow: {name: counts[name] for name in (*NAMES, "other")} for flow, counts in frame_types(found).items()
    }


def our_streams(analysis: tcptrace_http.Analysis) -> dict[tuple[int, int], Stream]:
    """Return each stream by flow and number."""
    return {
        # A request by Upgrade has no DATA frame.
        (row["flow"], row["stream"]): Stream(
            row["method"],
            row["target"],
            row["status"],
            [row["request_body_bytes"] or 0, row["response_body_bytes"] or 0],
        )
        for row in analysis.transactions.filter(protocol="h2").iter_rows(named=True)
    }


def differences(
    analysis: tcptrace_http.Analysis, found: Sequence[Frame], server_ports: Sequence[int]
) -> list[str]:
    """List each flow and stream that the two readings do not share, with both readings."""
    pairs = (
        ("frames of flow", our_frame_types(analysis), their_frame_types(found)),
        ("stream", our_streams(analysis), streams(found, server_ports)),
    )
    return [
        f"{what} {key}: ours {ours.get(key)}, tshark's {theirs.get(key)}"
        for what, ours, theirs in pairs
        for key in sorted(ours.keys() | theirs.keys())
        if ours.get(key) != theirs.get(key)
    ]


def main(arguments: list[str] | None = None) -> int:
    """Compare captures and print the differences."""
    parser = argparse.ArgumentParser(prog="python -m tests.differential.http2_agreement", description=__doc__)
    parser.add_argument("captures", type=Path, nargs="+", metavar="CAPTURE")
    parser.add_argument("--keys", type=Path, metavar="FILE", help="TLS secrets of the captures")
    parser.add_argument("--port", type=int, action="append", default=[], help="a server's port in clear text")
    chosen = parser.parse_args(arguments)
    options = [f"-dtcp.port=={port},http2" for port in chosen.port]
    options += ["-o", f"tls.keylog_file:{chosen.keys}"] if chosen.keys else []
    differing = 0
    for capture in chosen.captures:
        analysis = tcptrace_http.analyze(capture, keylog=chosen.keys)
        found = frames(capture, options)
        told = differences(analysis, found, analysis.flows["server_port"].unique().to_list())
        print(f"{capture}: {len(found)} frames, {len(our_streams(analysis))} streams, {len(told)} differences")
        print(*(f"  {line}" for line in told), sep="\n" if told else "", end="\n" if told else "")
        differing += bool(told)
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
