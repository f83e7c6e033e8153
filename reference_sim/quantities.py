"""Durations, rates and sizes as text: ``30 ms``, ``1.5 Mb/s``, ``25 packets``, ``16 kB``.

Python callers pass integers (nanoseconds, bits per second, bytes). A duration may also be a
:class:`datetime.timedelta`. Text is a number with a unit. Decimal prefixes are powers of 1000, ``KiB`` and
``MiB`` powers of 1024 (IEC 80000-13).
"""

from __future__ import annotations

import re
from datetime import timedelta
from fractions import Fraction
from typing import Final

from tcptrace_http.errors import ScenarioError

__all__ = ["bits_per_second", "bytes_of", "nanoseconds", "rate_text", "size_text", "time_text"]

_NANOSECONDS: Final = {"ns": 1, "us": 1000, "µs": 1000, "ms": 10**6, "s": 10**9, "min": 60 * 10**9}
_BITS_PER_SECOND: Final = {"b/s": 1, "kb/s": 1000, "Mb/s": 10**6, "Gb/s": 10**9}
_BYTES: Final = {"B": 1, "kB": 1000, "MB": 10**6, "GB": 10**9, "KiB": 1 << 10, "MiB": 1 << 20}
# Upper bound on digits: no sensible quantity has more, and Python refuses to convert thousands of digits.
_NUMBER_AND_UNIT: Final = re.compile(r"(\d{1,30}(?:\.\d{1,30})?)\s*([^\d\s.]\S*)")


def nanoseconds(duration: int | timedelta | str) -> int:
    """Convert a duration to nanoseconds: an integer, a timedelta, or text (``30 ms``).

    :raises ScenarioError: the text is not a duration, or the duration is negative.
    """
    if isinstance(duration, str):
        return _quantity(duration, _NANOSECONDS, "a duration such as '30 ms'")
    if isinstance(duration, timedelta):
        duration = (duration.days * 86_400 + duration.seconds) * 10**9 + duration.microseconds * 1000
    return _not_negative(duration, "a duration is integer nanoseconds, a timedelta, or text such as '30 ms'")


def bits_per_second(rate: int | str) -> int:
    """Convert a rate to bits per second: an integer, or text (``1.5 Mb/s``).

    :raises ScenarioError: the text is not a rate, or the rate is not above 0.
    """
    if isinstance(rate, str):
        rate = _quantity(rate, _BITS_PER_SECOND, "a rate such as '1.5 Mb/s'")
    if _not_negative(rate, "a rate is integer bits per second, or text such as '1.5 Mb/s'") == 0:
        raise ScenarioError("a rate is above 0; omit it for a link without serialization time")
    return rate


def bytes_of(size: int | str) -> int:
    """Convert a size to bytes: an integer, or text (``16 kB``).

    :raises ScenarioError: the text is not a size, or the size is negative.
    """
    if isinstance(size, str):
        return _quantity(size, _BYTES, "a size such as '16 kB'")
    return _not_negative(size, "a size is an integer number of bytes, or text such as '16 kB'")


def time_text(duration_ns: int) -> str:
    """Format a duration in the largest unit with at most three decimals: ``1.5 s``."""
    return _text(duration_ns, {unit: _NANOSECONDS[unit] for unit in ("s", "ms", "us", "ns")})


def rate_text(rate_bps: int | None) -> str:
    """Format a rate in the largest unit with at most three decimals: ``1.536 Mb/s``."""
    if rate_bps is None:
        return "unlimited"
    return _text(rate_bps, dict(reversed(_BITS_PER_SECOND.items())))


def size_text(size: int) -> str:
    """Format a size in the largest decimal unit with at most three decimals."""
    return _text(size, {unit: _BYTES[unit] for unit in ("MB", "kB", "B")})


def _text(value: int, units: dict[str, int]) -> str:
    for unit, factor in units.items():
        # In every unit, a thousandth is a whole number of the next smaller unit.
        if value >= factor and value * 1000 % factor == 0:
            whole, rest = divmod(value * 1000 // factor, 1000)
            return f"{whole}.{rest:03}".rstrip("0").rstrip(".") + f" {unit}"
    return f"{value} {list(units)[-1]}"


def _quantity(text: str, units: dict[str, int], example: str) -> int:
    match = _NUMBER_AND_UNIT.fullmatch(text.strip())
    if match is None or match[2] not in units:
        raise ScenarioError(f"{text!r} is not {example} (units: {', '.join(units)})")
    value = Fraction(match[1]) * units[match[2]]
    if value.denominator != 1:
        raise ScenarioError(f"{text!r} is not a whole number of {next(iter(units))}")
    return value.numerator


def _not_negative(value: object, what: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ScenarioError(f"{value!r}: {what}, and not negative")
    return value
