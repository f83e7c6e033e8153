"""The flow-control window of an HTTP/2 stream is smaller than the path needs.

What it does
------------
Finds responses and uploads over HTTP/2 whose sender had used up the stream window and waited for
WINDOW_UPDATE. The congestion window and the receive window had room.

Why it is bad
-------------
The path carries at most one window per round trip: the 65,535 bytes of RFC 9113 at 100 ms are 5 Mbit/s. A
larger TCP buffer or another congestion control has no effect.

Evidence
--------
DATA that used the stream's window up, and the WINDOW_UPDATE that released the next frame (the waits
``send_limited.h2_stream_window``). The frames show the window, so no estimate is necessary. Lost is the sum
of these waits. The detector h2-window-update-late covers the time in which the receiver had received the
whole window and did not answer.

Fix
---
Set the receiver's window to at least twice the bandwidth-delay product. Downloads: the client (grpc-go
``WithInitialWindowSize``, grpc-java ``initialFlowControlWindow``, .NET ``InitialHttp2StreamWindowSize``,
Node.js ``settings.initialWindowSize``). Uploads: the server (nginx ``http2_body_preread_size``, HAProxy
``tune.h2.fe.initial-window-size``, Envoy ``initial_stream_window_size``, Kestrel
``InitialStreamWindowSize``).

Reference
---------
RFC 9113, sections 5.2 and 6.9; https://github.com/nginx/nginx/issues/857;
https://github.com/grpc/grpc-go/issues/2400; https://github.com/golang/go/issues/63520.
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
CAUSES: Final = ("send_limited.h2_stream_window",)

REMEDY_OF_UPLOADS: Final = (
    "server: a larger stream window: nginx http2_body_preread_size 1m; HAProxy tune.h2.fe.initial-window-size;"
    " Envoy initial_stream_window_size; Kestrel Http2Limits.InitialStreamWindowSize; Go"
    " HTTP2Config.MaxReceiveBufferPerStream; grpc-go InitialWindowSize together with InitialConnWindowSize"
)
REMEDY_OF_DOWNLOADS: Final = (
    "client: a larger stream window (SETTINGS_INITIAL_WINDOW_SIZE): grpc-go WithInitialWindowSize together"
    " with WithInitialConnWindowSize; grpc-java initialFlowControlWindow; .NET"
    " SocketsHttpHandler.InitialHttp2StreamWindowSize; Node.js settings.initialWindowSize; Go"
    " HTTP2Config.MaxReceiveBufferPerStream; a proxy as client: Envoy initial_stream_window_size, HAProxy"
    " tune.h2.be.initial-window-size"
)


def find(tables: Mapping[str, pl.DataFrame], *, lost_min: timedelta = LOST_MIN) -> pl.LazyFrame:
    """Return the messages limited by the window of their stream; see :class:`Detector`."""
    import polars as pl

    room = pl.format("the {}'s flow-control window of its stream", "receiver")
    return waited_for_window(tables, CAUSES, room=room, lost_min=lost_min).with_columns(
        evidence=pl.format(
            "frames {} to {} of stream {}; first WINDOW_UPDATE in frame {}; the {} gives a stream {} bytes"
            " (SETTINGS_INITIAL_WINDOW_SIZE); round trip {} ms",
            "first_frame",
            "last_frame",
            "stream",
            pl.col("released_by").cast(pl.String).fill_null("unknown"),
            "receiver",
            "stream_window",
            ms("round_trip").cast(pl.String).fill_null("unknown"),
        ),
        remedy=pl.when(pl.col("receiver") == "server")
        .then(pl.lit(REMEDY_OF_UPLOADS))
        .otherwise(pl.lit(REMEDY_OF_DOWNLOADS)),
    )
