"""Notations of a policy: durations, shares, loss limits, and thresholds."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final

from tcptrace_http.check.metrics import Unit
from tcptrace_http.check.policy import Aggregation, Level, LostLimit, Threshold
from tcptrace_http.errors import PolicyError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tcptrace_http.check.metrics import Metric

__all__ = ["lost_limit", "share", "threshold"]

_NUMBER: Final = r"\d+(?:\.\d*)?|\.\d+"
_NANOSECONDS: Final = {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9}
_BYTES: Final = {"B": 1, "kB": 1000, "KB": 1000, "KiB": 1024, "MB": 10**6, "MiB": 2**20}
_UNITS: Final[Mapping[Unit, tuple[Mapping[str, float], str]]] = {
    Unit.NANOSECONDS: (_NANOSECONDS, "a duration such as 200ms or 1.5s"),
    Unit.SHARE: ({"%": 0.01, "": 1}, "a share such as 5% or 0.05"),
    Unit.COUNT: ({"": 1}, "a number"),
    Unit.BYTES: ({**_BYTES, "": 1}, "bytes, such as 1500 or 10kB"),
}
_QUANTITY: Final = re.compile(rf"\s*({_NUMBER})\s*([A-Za-zµ%]*)\s*")
_ROUND_TRIPS: Final = re.compile(rf"\s*(?:({_NUMBER})\s*\*\s*)?rtt\s*")
#: Maximum number of shown characters of an invalid number.
_SHOWN: Final = 20
_THRESHOLD: Final = re.compile(rf"\s*(avg|count|max|med|min|p\(\s*({_NUMBER})\s*\))\s*(<=|>=|==|<|>)\s*(.*)")
_HUNDRED: Final = 100.0
#: Maximum duration: one year, longer than any capture.
_MILLISECONDS_MAX: Final = 366 * 86_400_000
#: Maximum quantity: a larger limit has no effect, and floating point no longer counts its units exactly.
_QUANTITY_MAX: Final = 1e12


def lost_limit(written: str | float) -> LostLimit:
    """Return a loss limit: milliseconds as a number, a duration, or round trips (``2*rtt``).

    :raises PolicyError: the text has none of these forms.
    """
    if isinstance(written, (int, float)):
        if not 0 <= written <= _MILLISECONDS_MAX:
            raise PolicyError(f"{written!r} is no loss: 0 or more milliseconds, and less than a year")
        return LostLimit(ns=round(written * _NANOSECONDS["ms"]))
    round_trips = _ROUND_TRIPS.fullmatch(written)
    if round_trips is not None:
        return LostLimit(round_trips=_finite(round_trips[1] or "1"))
    try:
        return LostLimit(ns=round(_quantity(written, Unit.NANOSECONDS)))
    except PolicyError:
        raise PolicyError(
            f"{written!r} is no loss; write milliseconds (12.5), a duration (40ms), or round trips (2*rtt)"
        ) from None


def share(written: str | float) -> float:
    """Return a share, 0 to 1, or in percent.

    :raises PolicyError: the text is not a share, or exceeds 1.
    """
    if isinstance(written, bool):
        raise PolicyError(f"{str(written).lower()} is no share; write 0 to 1, or 0% to 100%")
    found = written if isinstance(written, (int, float)) else _quantity(written, Unit.SHARE)
    if not 0 <= found <= 1:
        raise PolicyError(f"{written!r} is no share; write 0 to 1, or 0% to 100%")
    return float(found)


def threshold(metric: Metric, written: str, *, level: Level = Level.ERROR) -> Threshold:
    """Return a threshold of a metric: ``p(95)<200ms``, ``max<=3``, ``avg<5%``.

    :raises PolicyError: the text is invalid; the message gives the expected form.
    """
    parts = _THRESHOLD.fullmatch(written)
    if parts is None:
        raise PolicyError(
            f"{written!r} is no threshold; write an aggregate, a comparison and a limit, such as p(95)<200ms"
            " (aggregates: avg count max med min p(N))"
        )
    name, percentile, comparison, limit = parts.groups()
    if percentile is not None and float(percentile) > _HUNDRED:
        raise PolicyError(f"{written!r}: there is no percentile above 100")
    aggregation = Aggregation.PERCENTILE if percentile is not None else Aggregation(name)
    unit = Unit.COUNT if aggregation is Aggregation.COUNT else metric.unit
    return Threshold(
        metric=metric.name,
        aggregation=aggregation,
        comparison=comparison,
        limit=_quantity(limit, unit),
        text=f"{metric.name} {written.strip()}",
        percentile=float(percentile or 0),
        level=level,
    )


def _quantity(written: str, unit: Unit) -> float:
    known, expected = _UNITS[unit]
    parts = _QUANTITY.fullmatch(written)
    if parts is None or parts[2] not in known:
        raise PolicyError(f"{written!r} is not {expected}")
    return _finite(parts[1]) * known[parts[2]]


def _finite(written: str) -> float:
    """Return a finite number.

    :raises PolicyError: the number is too large.
    """
    found = float(written)
    if not math.isfinite(found) or found > _QUANTITY_MAX:
        raise PolicyError(f"{written[:_SHOWN]!r} is too large")
    return found
