"""Model of tcptrace 6.6.7, faults included, on packets as we read them.

The model is written from tcptrace's behaviour, to explain it. Where tcptrace's figure differs from ours, the
model must reproduce tcptrace's figure to the last digit, and ``FAULTS`` names the responsible fault. A fault
is noted on the affected direction, so that a difference is ascribed to that fault alone.
"""

from __future__ import annotations

from .connection import Connection, connections
from .direction import Direction
from .fields import PACKET_COLUMNS

__all__ = ["PACKET_COLUMNS", "Connection", "Direction", "connections"]
