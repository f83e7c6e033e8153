"""Path round trip: the minimum time to the other end and back, and its spread.

Handshakes are the source: the stacks, not applications, answer their small packets at once, without a delayed
ACK. At any capture point the time from SYN to the client's ACK covers the whole path. The serialization time
of these packets is subtracted; the rest is propagation.
"""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Final

from tcptrace_http.inference.figure import Figure, assumed, seen
from tcptrace_http.inference.handshakes import handshakes

if TYPE_CHECKING:
    from tcptrace_http.inference.observed import Observed

__all__ = ["propagation", "round_trip", "round_trip_spread"]

_S: Final = 1_000_000_000
_BITS_A_BYTE: Final = 8
# Confidence of a single measurement, which may include queueing delay.
_ONCE: Final = 0.8
# Number of measurements whose minimum is that of an empty path.
_MANY: Final = 5


def round_trip(observed: Observed) -> Figure:
    """Return the nanoseconds of the shortest handshake: propagation and serialization of small packets."""
    found = sorted(handshakes(observed))
    if not found:
        least = observed.server_path + observed.client_path
        return assumed(
            "path.rtt",
            least,
            reason="no handshake was captured: the minimum round trips of data to either end",
            unit="ns",
        )
    times = [elapsed for elapsed, _, _ in found]
    return seen(
        "path.rtt",
        times[0],
        low=times[0],
        high=round(median(times)),
        unit="ns",
        confidence=_ONCE + (1 - _ONCE) * min(len(times) - 1, _MANY) / _MANY,
        frames=[frame for _, _, frame in found],
        how=f"minimum of {len(times)} handshakes",
    )


def propagation(observed: Observed, rate: int | None) -> Figure:
    """Return the nanoseconds of the shortest round trip without serialization times."""
    found = sorted((elapsed - _sending(sizes, rate), frame) for elapsed, sizes, frame in handshakes(observed))
    total = round_trip(observed)
    if not found:
        return assumed(
            "path.propagation", total.value, reason="no handshake was captured: as the round trip", unit="ns"
        )
    return seen(
        "path.propagation",
        max(found[0][0], 0),
        high=total.value,
        unit="ns",
        confidence=total.confidence,
        frames=[frame for _, frame in found],
        how="the minimum handshake less the serialization time of its packets at path.rate",
    )


def round_trip_spread(observed: Observed) -> Figure:
    """Return the nanoseconds from the minimum to the 90th percentile of the handshakes: the queueing delay."""
    times = sorted(elapsed for elapsed, _, _ in handshakes(observed))
    if len(times) < 2:  # noqa: PLR2004 -- one value has no spread
        return assumed("path.rtt_spread", 0, reason="fewer than two handshakes were captured", unit="ns")
    return seen(
        "path.rtt_spread",
        times[int(0.9 * (len(times) - 1))] - times[0],
        high=times[-1] - times[0],
        unit="ns",
        confidence=min(len(times), _MANY) / _MANY,
        frames=[frame for _, _, frame in handshakes(observed)],
        how=f"90th percentile over the minimum of {len(times)} handshakes",
    )


def _sending(sizes: int, rate: int | None) -> int:
    return 0 if rate is None else round(sizes * _BITS_A_BYTE * _S / rate)
