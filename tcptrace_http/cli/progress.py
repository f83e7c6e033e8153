"""Progress line on standard error for the reading of a capture, a simulation, or many of them."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Self

    from reference_sim.reproduction.runner import Progress as RunProgress
    from tcptrace_http.capture_stream import CaptureStream
    from tcptrace_http.corpus.add import Progress as UnitProgress

__all__ = ["CorpusProgress", "Progress", "ReproductionProgress", "SimulationProgress", "Working"]

# Delay of the first line, and interval of updates: a shorter line or a faster change is unreadable.
_FIRST_AFTER_NS: Final = 1_000_000_000
_EVERY_NS: Final = 200_000_000
_NANOSECONDS: Final = 1_000_000_000
_MEGABYTE: Final = 1_000_000
_LINE_WIDTH: Final = 78
_NAME_WIDTH: Final = 36
_BAR_WIDTH: Final = 20


class _Line:
    """Line that is rewritten when due; without a terminal it does nothing."""

    def __init__(self, *, quiet: bool) -> None:
        self._shows = sys.stderr.isatty() and not quiet
        self._start = time.monotonic_ns()
        self._due = self._start + _FIRST_AFTER_NS
        self._is_shown = False

    def show(self, line: Callable[[int], str]) -> None:
        """Write the line for the nanoseconds since the start, if due."""
        if not self._shows:
            return
        now = time.monotonic_ns()
        if now < self._due:
            return
        self._due = now + _EVERY_NS
        self._is_shown = True
        sys.stderr.write(f"\r{line(now - self._start):<{_LINE_WIDTH}}")
        sys.stderr.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._is_shown:
            sys.stderr.write(f"\r{'':<{_LINE_WIDTH}}\r")
            sys.stderr.flush()


class Working(_Line):
    """Line for work without a known extent."""

    def __init__(self, what: str, *, quiet: bool) -> None:
        super().__init__(quiet=quiet)
        self._what = what

    def __enter__(self) -> Self:
        if self._shows:
            self._is_shown = True
            sys.stderr.write(f"{self._what} …")
            sys.stderr.flush()
        return self


class Progress(_Line):
    """Progress of a capture, called after every chunk."""

    def __call__(self, stream: CaptureStream) -> None:
        """Show the line if due."""
        self.show(lambda elapsed_ns: progress_line(stream, elapsed_ns))


class SimulationProgress(_Line):
    """Progress of a simulation, called at intervals."""

    def __call__(self, now_ns: int, duration_ns: int | None) -> None:
        """Show the line if due."""
        self.show(lambda elapsed_ns: simulation_line(now_ns, duration_ns, elapsed_ns))


class ReproductionProgress(_Line):
    """Progress of the claims, called after every run."""

    def __call__(self, progress: RunProgress) -> None:
        """Show the line if due."""
        self.show(lambda _: reproduction_line(progress))


class CorpusProgress(_Line):
    """Progress of a dataset, called after every complete unit."""

    def __call__(self, progress: UnitProgress) -> None:
        """Show the line if due."""
        self.show(lambda _: corpus_line(progress))


def corpus_line(progress: UnitProgress) -> str:
    """Return the complete units, a bar of bytes, the rate of all workers, and the remaining time."""
    rate = progress.bytes_per_second / _MEGABYTE
    done = f"{progress.done} of {progress.units} units, {rate:.1f} MB/s"
    return f"{_bar(progress.done_bytes, progress.total_bytes)} {done}{_time_left(progress.seconds_left)}"


def reproduction_line(progress: RunProgress) -> str:
    """Return the complete runs with a bar, the runs per second, and the remaining time."""
    rate = progress.done / max(progress.elapsed_seconds, 1e-9)
    done = f"{progress.done} of {progress.total} runs, {rate:.1f} per second"
    return f"{_bar(progress.done, progress.total)} {done}{_time_left(progress.seconds_left)}"


def simulation_line(now_ns: int, duration_ns: int | None, elapsed_ns: int) -> str:
    """Return the simulated seconds, with a bar if the end is known, and the speed relative to the clock."""
    seconds = f"{now_ns / _NANOSECONDS:.0f} s simulated, {now_ns // max(elapsed_ns, 1)} times as fast as the clock"
    if duration_ns is None:
        return seconds
    return f"{_bar(now_ns, duration_ns)} {seconds}"


def _bar(done: int, total: int) -> str:
    return f"[{'#' * (_BAR_WIDTH * done // max(total, 1)):<{_BAR_WIDTH}}]"


def _time_left(seconds: float | None) -> str:
    """Return the remaining time in minutes and seconds, behind a comma; empty if unknown."""
    if seconds is None:
        return ""
    minutes, rest = divmod(round(seconds), 60)
    return f", {minutes}:{rest:02} left"


def progress_line(stream: CaptureStream, elapsed_ns: int) -> str:
    """Return the name, the bytes read, the rate, and the remaining time if the size is known."""
    name = stream.path if len(stream.path) <= _NAME_WIDTH else f"…{stream.path[1 - _NAME_WIDTH :]}"
    rate = stream.position * _NANOSECONDS // max(elapsed_ns, 1)
    line = f"{name}  {stream.position // _MEGABYTE} MB  {rate // _MEGABYTE} MB/s"
    if stream.total is None or rate == 0:
        return line
    seconds_left = (stream.total - stream.position) // rate
    percent = 100 * stream.position // max(stream.total, 1)
    return f"{line}  {percent} %  {seconds_left // 60}:{seconds_left % 60:02} left"
