"""Round trips before the first data (Figure 1.2 of Bhalekar 2003).

("Internet Content Delivery Acceleration Methods for Hybrid Network Topologies".) Counts are valid for hosts
without processing time and paths without loss.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

__all__ = ["Service", "round_trips_before_data"]


class Service(StrEnum):
    """Protocol that delivers data from a server, in Figure 1.2 of Bhalekar 2003."""

    FTP_FIRST = "ftp-first"
    FTP_NEXT = "ftp-next"
    HTTP10 = "http10"
    IDEAL = "ideal"


# Half round trips: each one-way message counts as one.
_HANDSHAKE: Final = 2
_MESSAGE: Final = 1


def round_trips_before_data(service: Service) -> int:
    """Return round trips from the client's first packet to the first data (Bhalekar 2003, Figure 1.2)."""
    request_and_data = _MESSAGE + _MESSAGE
    halves = {
        # Control connection; the command; the server opens the data connection; data.
        Service.FTP_FIRST: _HANDSHAKE + request_and_data + _HANDSHAKE,
        Service.FTP_NEXT: request_and_data + _HANDSHAKE,
        Service.HTTP10: _HANDSHAKE + request_and_data,
        Service.IDEAL: request_and_data,
    }
    return halves[service] // 2
