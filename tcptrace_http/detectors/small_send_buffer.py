"""The sender keeps a constant, small amount in flight, round trip after round trip.

What it does
------------
Finds responses and uploads that waited for several round trips with fewer bytes in flight than their cwnd.
Nothing was lost and the receive window had room: unacknowledged data filled the sender's socket buffer.

Why it is bad
-------------
Sent data stays in the send buffer until its ACK, so the buffer bounds the bytes in flight. 8 KB on a path of
100 ms are 80 KB/s at any link rate. A larger congestion window does not help.

Evidence
--------
The waits ``send_limited.send_buffer``: the sender stopped repeatedly at the same bytes in flight, and an ACK
released the next segment. Slow start would have doubled these bytes. Lost is the sum of these waits. Messages
that waited for an HTTP/2 flow-control window are left out: that window has the same effect.

Fix
---
Leave the buffer to the kernel: set no SO_SNDBUF (Linux then grows the buffer up to the last value of
``net.ipv4.tcp_wmem``). nginx: no ``sndbuf=`` in ``listen``. Apache: ``SendBufferSize 0``. If a fixed size is
necessary, set twice the bandwidth-delay product.

Reference
---------
J. Heidemann, Performance Interactions Between P-HTTP and TCP Implementations, 1996, section 2.5; RFC 4898
(SndLimTransSnd); J. Semke, J. Mahdavi, M. Mathis, Automatic TCP Buffer Tuning, 1998.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._limited import limited
from tcptrace_http.detectors._recoveries import ms

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

__all__ = ["CAUSES", "NEEDS", "READS", "find"]

READS: Final = ("waits",)
CAUSES: Final = ("send_limited.send_buffer",)
NEEDS: Final = ("both_directions", "no_gaps", "whole_payload", "pure_acks")

#: Minimum loss for a finding.
LOST_MIN: Final = timedelta(milliseconds=5)
#: HTTP/2 windows, which also cause flights of equal size.
_H2_WINDOWS: Final = ("h2_stream_window", "h2_connection_window")
#: Minimum number of waits. A small buffer stops its sender in each round trip; three equal flights prove too
#: little.
WAITS_MIN: Final = 4
REMEDY: Final = (
    "Leave the send buffer to the kernel: no SO_SNDBUF (nginx: no sndbuf= in listen; Apache httpd:"
    " SendBufferSize 0), and let net.ipv4.tcp_wmem allow twice the bandwidth-delay product"
)
REMEDY_OF_REQUESTS: Final = (
    "Leave the client's send buffer to its kernel: no SO_SNDBUF, and let net.ipv4.tcp_wmem on the client allow"
    " twice the bandwidth-delay product"
)


def find(
    tables: Mapping[str, pl.DataFrame], *, lost_min: timedelta = LOST_MIN, waits_min: int = WAITS_MIN
) -> pl.LazyFrame:
    """Return the messages that waited for a full send buffer; see :class:`Detector`."""
    import polars as pl

    message = ["flow", "transaction", "direction"]
    of_h2 = tables["waits"].lazy().filter(pl.col("constraint").cast(pl.String).is_in(_H2_WINDOWS)).select(message)
    held = pl.coalesce("send_buffer_bytes", "largest_window_bytes")
    found = limited(
        tables,
        CAUSES,
        room=pl.format("room in the {}'s send buffer", "who"),
        lost_min=lost_min,
        waits_min=waits_min,
    )
    return found.join(of_h2.unique(), on=message, how="anti", maintain_order="left").with_columns(
        evidence=pl.format(
            "frames {} to {}: {} bytes in flight at most; the {} offered {}; round trip {} ms",
            "first_frame",
            "last_frame",
            held,
            "receiver",
            pl.coalesce(pl.col("receive_window_max").cast(pl.String), pl.lit("an unknown window")),
            ms("round_trip"),
        ),
        remedy=pl.when(pl.col("what") == "request").then(pl.lit(REMEDY_OF_REQUESTS)).otherwise(pl.lit(REMEDY)),
    )
