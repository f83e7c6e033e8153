"""Causes and findings that packets at one end cannot distinguish: the complete list, with reasons.

The strict share counts these as wrong. Each is a limit of observation, not of the analysis: an expert with
the same packets could not decide either.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from reference_sim.true_waits import Stall, TrueTransaction, Wait

__all__ = [
    "ALIKE",
    "INDISTINGUISHABLE",
    "UNSEEN",
    "Alike",
    "Pair",
    "Unseen",
    "is_alike",
    "is_indistinguishable",
    "is_unseen",
]


@dataclass(frozen=True, slots=True)
class Pair:
    """True causes and their permitted causes in the analysis, given ``ended_elsewhere`` in the truth."""

    true: tuple[str, ...]
    told: tuple[str, ...]
    ended_elsewhere: bool
    reason: str


INDISTINGUISHABLE: Final = (
    Pair(
        true=("send_limited.slow_start", "send_limited.cwnd", "stall.slow_start_restart"),
        told=("server.data_unavailable", "server.think", "send_limited.bottleneck"),
        ended_elsewhere=True,
        reason="Connections with an ensemble control block (RFC 2140, section 4; E-TCP) share one window."
        " An ACK of another connection let the data go: on its own connection it comes out of a silence that"
        " nothing ended, as it does from a server that had no data until then, or from a slow link. Where a"
        " segment takes as long on the link as the path is long, an ACK of some connection is always at the right"
        " time, and the first flights of a pair of hosts show no more than chance does.",
    ),
)


@dataclass(frozen=True, slots=True)
class Unseen:
    """Detector whose finding is not required if, by the truth, packets show nothing of the stall."""

    detector: str
    reason: str


UNSEEN: Final = (
    Unseen(
        detector="slow-start-restart",
        reason="The window that was thrown away had never been used: no more had ever been in flight at once than"
        " it has after the idle period. A connection that begins in slow start shows the same flights.",
    ),
    Unseen(
        detector="odd-short-final-segment",
        reason="At the server an ACK of two full segments is one that its receiver does not delay (RFC 1122,"
        " section 4.2.3.2), on a path that took longer; that it counts the options in and waits for a third one (a"
        " bug of NetBSD 1.2.1) only a capture at the client shows.",
    ),
)


@dataclass(frozen=True, slots=True)
class Alike:
    """Detector whose finding is no mistake on connections with a shared window: their packets look the same."""

    detector: str
    reason: str


ALIKE: Final = (
    Alike(
        detector="slow-start-restart",
        reason="After an idle period a connection has a part of the ensemble's window, as others have taken theirs"
        " of it (RFC 2140, section 4; E-TCP): smaller flights than before, as after a restart.",
    ),
)


def is_alike(detector: str, true: TrueTransaction) -> bool:
    """Return whether packets of this transaction may suggest an absent finding of ``detector``."""
    return true.shares_window and any(detector == it.detector for it in ALIKE)


def is_unseen(stall: Stall) -> bool:
    """Return whether the unseen parts of ``stall`` make its finding unnecessary."""
    return any(stall.name == it.detector for it in UNSEEN)


def is_indistinguishable(true: Wait, told: str) -> bool:
    """Return whether ``told`` is all that packets show of a true wait."""
    return any(
        true.cause in pair.true and told in pair.told and true.ended_elsewhere == pair.ended_elsewhere
        for pair in INDISTINGUISHABLE
    )
