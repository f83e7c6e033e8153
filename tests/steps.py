"""Work of a call, measured without a clock: the same in every run, on any machine."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

__all__ = ["TWICE", "steps"]

#: Maximum growth of work for twice the input; quadratic work grows fourfold.
TWICE = 2.4


def steps(work: Callable[[], object], *, of: str) -> int:
    """Return the number of Python instructions executed in a package's modules, by folder name."""
    count = 0
    folder = f"{os.sep}{of}{os.sep}"

    def counted(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal count
        del frame, argument
        count += event == "opcode"
        return counted

    def entered(frame: FrameType, event: str, argument: object) -> Any:
        del event, argument
        if folder not in frame.f_code.co_filename:
            return None
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        return counted

    before = sys.gettrace()
    sys.settrace(entered)
    try:
        work()
    finally:
        sys.settrace(before)
    return count
