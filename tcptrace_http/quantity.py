"""Numbers for readers: exact counts, durations with three or four digits."""

from __future__ import annotations

from typing import Final

__all__ = ["counted", "duration", "moment"]

_MICROSECOND: Final = 1_000
_MILLISECOND: Final = 1_000_000
_SECOND: Final = 1_000_000_000
_MINUTE: Final = 60 * _SECOND


def duration(nanoseconds: int | None) -> str:
    """Return a duration in a suitable unit; a dash if it is unknown."""
    if nanoseconds is None:
        return "-"
    size = abs(nanoseconds)
    if size < _MICROSECOND:
        return f"{nanoseconds} ns"
    if size < _MILLISECOND:
        return f"{nanoseconds / _MICROSECOND:.0f} µs"
    if size < _SECOND:
        return f"{nanoseconds / _MILLISECOND:.1f} ms"
    if size < _MINUTE:
        return f"{nanoseconds / _SECOND:.2f} s"
    minutes, rest = divmod(round(nanoseconds / _SECOND), 60)
    return f"{minutes} min {rest} s"


def moment(nanoseconds: int) -> str:
    """Return a time since the epoch as date and time of day, in UTC, to the millisecond."""
    from datetime import UTC, datetime, timedelta

    seconds, rest = divmod(nanoseconds, _SECOND)
    whole = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    return f"{whole:%Y-%m-%d %H:%M:%S}.{rest // _MILLISECOND:03} UTC"


def counted(count: int, noun: str) -> str:
    """Return a count with its noun: ``1 flow``, ``20,060 flows``."""
    return f"{count:,} {noun if count == 1 else noun + 's'}"
