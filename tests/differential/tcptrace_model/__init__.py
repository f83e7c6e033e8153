"""What tcptrace 6.6.7 computes of a connection, its faults included, from packets as we read them.

Written from its behaviour, to explain it: where tcptrace and we differ on a figure, this model must give
tcptrace's figure to the last digit, and ``FAULTS`` names what in it makes the difference. A fault is noted
on the direction it strikes, so that a difference can be ascribed to it, and to nothing else.
"""

from __future__ import annotations

from .connection import Connection, connections
from .direction import Direction
from .fields import PACKET_COLUMNS

__all__ = ["PACKET_COLUMNS", "Connection", "Direction", "connections"]
