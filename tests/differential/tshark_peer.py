"""Peer tshark: frames, flows, segments with its TCP analysis, HTTP transactions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import tcptrace_http

from .comparison import Comparison, Tally
from .tshark import TsharkFailed, read
from .tshark_segments import compare_segments
from .tshark_transactions import compare_transactions

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["PEER", "compare"]

PEER: Final = "tshark"


def compare(path: Path, name: str) -> Comparison:
    """Compare our tables of a capture with tshark's fields; ``name`` is the file's in ``disagreements.toml``."""
    tally = Tally(PEER, name)
    tally.compared["files"] += 1
    try:
        analysis = tcptrace_http.analyze(path, tables=["segments"])
    except tcptrace_http.TcptraceError:
        analysis = None
    try:
        reading = read(path)
    except TsharkFailed:
        reading = None
    if analysis is None or reading is None:
        # A file that neither program reads has nothing to compare.
        if analysis is not None or reading is not None:
            tally.note("readable", "file", analysis is not None, reading is not None)
        return tally.finish()
    tally.compared["packets"] += reading.frames
    if analysis.capture.packets != reading.frames:
        tally.note("packets", "file", analysis.capture.packets, reading.frames)
    compare_segments(analysis, reading, tally)
    compare_transactions(path, analysis, reading, tally)
    return tally.finish()
