"""Mathis, Semke, Mahdavi, Ott: "The Macroscopic Behavior of the TCP Congestion Avoidance Algorithm".

(ACM Computer Communication Review 27(3), 1997.) The rate is MSS/RTT times C over the square root of the loss
rate. Bytes per second. Valid for long transfers in congestion avoidance, at loss rates of a few percent at
most, without timeouts and other limits.
"""

from __future__ import annotations

from math import sqrt
from typing import Final

from reference_sim.models.loss import checked_loss

__all__ = ["C_WITH_DELAYED_ACKS", "C", "mathis_rate"]

#: Periodic losses, every segment acknowledged.
C: Final = sqrt(3 / 2)
#: Periodic losses, every other segment acknowledged.
C_WITH_DELAYED_ACKS: Final = sqrt(3 / 4)

_NANOSECONDS: Final = 10**9


def mathis_rate(loss: float, *, rtt_ns: int, mss: int, delayed_acks: bool) -> float:
    """Return bytes per second at this loss rate.

    :raises ScenarioError: the loss rate is not between 0 and 1.
    """
    factor = C_WITH_DELAYED_ACKS if delayed_acks else C
    return mss * _NANOSECONDS / rtt_ns * factor / sqrt(checked_loss(loss))
