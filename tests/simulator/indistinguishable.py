"""Causes that the packets of a capture at one end cannot tell apart: the whole list, each with its reason.

The strict share counts these as wrong. What is here is a limit of what can be seen, not of the analysis: an expert
with the same packets and no more could not tell either.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from reference_sim.true_waits import Wait

__all__ = ["INDISTINGUISHABLE", "Pair", "is_indistinguishable"]


@dataclass(frozen=True, slots=True)
class Pair:
    """True causes and what the analysis may call them, where ``ended_elsewhere`` is as the truth has it."""

    true: tuple[str, ...]
    told: tuple[str, ...]
    ended_elsewhere: bool
    reason: str


INDISTINGUISHABLE: Final = (
    Pair(
        true=("send_limited.slow_start", "send_limited.cwnd", "stall.slow_start_restart"),
        told=("server.data_unavailable", "server.think", "send_limited.bottleneck", "unexplained"),
        ended_elsewhere=True,
        reason="Connections with an ensemble control block (RFC 2140, section 4; E-TCP) share one window."
        " An ACK of another connection let the data go: on its own connection it comes out of a silence that"
        " nothing ended, as it does from a server that had no data until then, or from a slow link.",
    ),
)


def is_indistinguishable(true: Wait, told: str) -> bool:
    """Whether ``told`` is all that packets show of a true wait."""
    return any(
        true.cause in pair.true and told in pair.told and true.ended_elsewhere == pair.ended_elsewhere
        for pair in INDISTINGUISHABLE
    )
