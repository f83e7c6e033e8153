"""How much work a call is, told without a clock: the same in every run, on any machine."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

__all__ = ["TWICE", "steps"]

#: So much more work at most is what twice the input takes; what is quadratic takes four times as much.
TWICE = 2.4


def steps(work: Callable[[], object], *, of: str) -> int:
    """The instructions of Python that the modules of a package take, by the name of its folder."""
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
