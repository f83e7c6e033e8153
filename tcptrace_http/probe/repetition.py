"""Separation of habits and single findings in a probe's capture."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tcptrace_http.probe.workload import FRESH, FULL_HANDSHAKE, SERIAL

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tcptrace_http.analysis import Analysis
    from tcptrace_http.probe.session import Session

__all__ = ["BEHIND_DELAYED_ACKS", "REPEAT_SHARE", "Repeated"]

#: Findings that a busy host may cause once. They count if half of the equal requests show them.
_MUST_REPEAT: Final = frozenset(
    {
        *("short-initial-segment", "odd-short-final-segment", "nagle-delayed-ack", "nagle-hold"),
        *("cork-timeout", "delayed-ack-first-segment", "unfilled-segments", "slow-server"),
    }
)
#: Findings of this kind about TLS handshakes: their transactions are the first on their connections.
_OF_HANDSHAKES: Final = frozenset(
    {"slow-handshake-server", "tls-handshake-nagle", "tls-ticket-nagle", "tls-client-hello-split"}
)
_HANDSHAKE_STEPS: Final = (FRESH, FULL_HANDSHAKE)
REPEAT_SHARE: Final = 0.5
#: Minimum confidence for a habit: paced segments also cause unlikely findings.
_CONFIDENCE_MIN: Final = 0.5
#: Findings that prove delayed ACKs.
BEHIND_DELAYED_ACKS: Final = ("short-initial-segment", "odd-short-final-segment", "nagle-delayed-ack")


@dataclass(slots=True)
class Repeated:
    """Habits and single findings, by the step of their transactions."""

    #: Step of the request, by connection port and request number.
    steps: Mapping[tuple[int, int], str]
    requested: Mapping[str, int]
    found: Mapping[tuple[str, str], int]

    @classmethod
    def of(cls, analysis: Analysis, session: Session) -> Repeated:
        """Count findings by detector and step."""
        import polars as pl

        steps = {(each.port, each.index): each.step for each in session.exchanges}
        ports = dict(analysis.flows.select("flow", "client_port").iter_rows())
        likely = analysis.findings.filter(pl.col("confidence") >= _CONFIDENCE_MIN)
        rows = likely.select("detector", "flow", "transaction").unique().iter_rows()
        found = Counter(
            (detector, steps.get((ports[flow], transaction), ""))
            for detector, flow, transaction in rows
            if flow in ports
        )
        return cls(steps, Counter(steps.values()), found)

    def counts(self, row: Mapping[str, Any]) -> bool:
        """Return whether a finding counts."""
        if row["detector"] not in _MUST_REPEAT | _OF_HANDSHAKES:
            return True
        if row["confidence"] < _CONFIDENCE_MIN:
            return False
        step = self.steps.get((row["client_port"], row["transaction"]), "")
        return self._is_habit(row["detector"], step)

    def _is_habit(self, detector: str, step: str) -> bool:
        # Immediate ACKs are the control step: its other findings are the server's own pace.
        is_asked = step in _HANDSHAKE_STEPS if detector in _OF_HANDSHAKES else step.startswith(f"{SERIAL} ")
        if not is_asked:
            return False
        return self.found[detector, step] >= math.ceil(REPEAT_SHARE * self.requested[step])

    def notes(self) -> Iterator[str]:
        """Yield the findings that were too rare for a habit."""
        for (detector, step), count in sorted(self.found.items()):
            is_serial = step.startswith(f"{SERIAL} ")
            if detector in BEHIND_DELAYED_ACKS and is_serial and not self._is_habit(detector, step):
                yield f"{detector} in {count} of {self.requested[step]} requests ({step}): too rare for a habit"
