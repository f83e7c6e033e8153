"""The sender keeps a constant, small amount in flight, round trip after round trip.

What it does
------------
Finds responses and uploads that waited for several round trips with less outstanding than their window must
have grown to by the ACKs that came, although nothing was lost and the receiver's window had room: the sender's
socket buffer was full of unacknowledged data.

Why it is bad
-------------
What is sent stays in the send buffer until it is acknowledged, so a connection never has more in flight
than the buffer holds: 8 KB on a path of 100 ms are 80 KB/s, whatever the link could carry. A larger
congestion window does not help.

Evidence
--------
The waits ``send_limited.send_buffer``: the sender stopped with the same data in flight again and again, where
slow start would have doubled it, and an ACK released the next segment. Lost is the sum of these waits. Nothing is
said of a message that waited for a flow-control window of HTTP/2: that one makes its flights alike.

Fix
---
Leave the buffer to the kernel: no SO_SNDBUF (Linux then grows it up to the last value of
``net.ipv4.tcp_wmem``). nginx: no ``sndbuf=`` in ``listen``. Apache: ``SendBufferSize 0``. Where it must be
set, to twice the bandwidth-delay product.

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

#: Less is not worth a finding.
LOST_MIN: Final = timedelta(milliseconds=5)
#: Windows of HTTP/2, which are used up in flights of one size.
_H2_WINDOWS: Final = ("h2_stream_window", "h2_connection_window")
#: A buffer that is too small holds its sender at each turn; three flights of one size are too few to tell.
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
    """Messages that waited for a full send buffer; see :class:`Detector`."""
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
