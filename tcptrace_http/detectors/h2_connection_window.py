"""The flow-control window that all streams of an HTTP/2 connection share is smaller than the path needs.

What it does
------------
Finds responses and uploads over HTTP/2 that waited for the window of their connection. Other streams had used
up the window, or it is as small as the window of one stream.

Why it is bad
-------------
All streams of the connection together send at most that window per round trip. SETTINGS does not change the
window. It is 65,535 bytes until a WINDOW_UPDATE of stream 0 raises it, so a larger stream window alone has no
effect. A single unread stream blocks all others.

Evidence
--------
DATA that used the connection's window up, and the WINDOW_UPDATE of stream 0 that released the next frame (the
waits ``send_limited.h2_connection_window``). Lost is the sum of these waits. The detector
h2-window-update-late covers the time in which the receiver had received the whole window and did not answer.

Fix
---
Raise the receiver's connection window above that of its streams, to at least twice the bandwidth-delay
product. Settings: grpc-go ``WithInitialConnWindowSize`` and ``InitialConnWindowSize``, Envoy
``initial_connection_window_size``, Kestrel ``InitialConnectionWindowSize``, Node.js
``session.setLocalWindowSize()``, Go ``MaxReceiveBufferPerConnection``. Give a slowly read stream its own
connection.

Reference
---------
RFC 9113, sections 5.2, 6.9 and 6.9.2; https://github.com/grpc/grpc-go/issues/2400;
https://github.com/cockroachdb/cockroach/pull/35161; https://github.com/nodejs/node/commit/9c6be3cc90.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._h2_windows import LOST_MIN, NEEDS, waited_for_window
from tcptrace_http.detectors._recoveries import ms

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import timedelta

    import polars as pl

__all__ = ["CAUSES", "NEEDS", "READS", "find"]

READS: Final = ("waits",)
CAUSES: Final = ("send_limited.h2_connection_window",)

REMEDY: Final = (
    "{}: a larger window of the connection, by WINDOW_UPDATE of stream 0 (SETTINGS does not change it):"
    " grpc-go {}; Go HTTP2Config.MaxReceiveBufferPerConnection; Node.js session.setLocalWindowSize(); {}Envoy"
    " initial_connection_window_size; and a separate connection for a slowly read stream"
)


def find(tables: Mapping[str, pl.DataFrame], *, lost_min: timedelta = LOST_MIN) -> pl.LazyFrame:
    """Return the messages limited by the window of their connection; see :class:`Detector`."""
    import polars as pl

    is_upload = pl.col("receiver") == "server"
    room = pl.format("the {}'s flow-control window of the connection, which all streams share", "receiver")
    return waited_for_window(tables, CAUSES, room=room, lost_min=lost_min).with_columns(
        evidence=pl.format(
            "frames {} to {} of stream {}; first WINDOW_UPDATE in frame {}; the {} gave the connection {} bytes at"
            " its start, a stream {}; round trip {} ms",
            "first_frame",
            "last_frame",
            "stream",
            pl.col("released_by").cast(pl.String).fill_null("unknown"),
            "receiver",
            "connection_window",
            "stream_window",
            ms("round_trip").cast(pl.String).fill_null("unknown"),
        ),
        remedy=pl.format(
            REMEDY,
            "receiver",
            pl.when(is_upload)
            .then(pl.lit("InitialConnWindowSize"))
            .otherwise(pl.lit("WithInitialConnWindowSize")),
            pl.when(is_upload)
            .then(pl.lit("Kestrel Http2Limits.InitialConnectionWindowSize; "))
            .otherwise(pl.lit("")),
        ),
    )
