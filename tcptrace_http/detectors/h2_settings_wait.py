"""A client of HTTP/2 waits for the server's SETTINGS before it sends its first request.

What it does
------------
Names connections on which the client sent its preface, waited a round trip for the server's SETTINGS, and
then sent its first request.

Why it is bad
-------------
The first request of every connection comes one round trip late. A client may send requests right behind its
preface, with the initial values of all settings.

Evidence
--------
The first request followed the server's first SETTINGS at once, and the wait before the request is
``setup.h2_settings``. Lost is that wait. In TLS 1.3 a server may send its SETTINGS with its Finished. The
client then does not wait, and no finding is made.

Fix
---
Client: send the request with the preface. Few requests depend on the server's settings
(``SETTINGS_ENABLE_CONNECT_PROTOCOL``, few streams). gRPC clients wait on purpose to detect a dead backend.
Keep their connections (one channel for all calls), and connect before the first call (grpc-java
``getState(true)``). Server: send SETTINGS once the connection is established, not behind the client's
preface.

Reference
---------
RFC 9113, section 3.4; https://github.com/grpc/grpc/pull/23636; https://github.com/grpc/grpc-java/issues/2862;
https://github.com/grpc/grpc-java/issues/7435.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._recoveries import ms

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

__all__ = ["CAUSES", "NEEDS", "READS", "find"]

READS: Final = ("waits",)
CAUSES: Final = ("setup.h2_settings",)
NEEDS: Final = ("both_directions", "handshake", "whole_payload")

#: Minimum loss. A shorter round trip is one inside a site, as for slow start.
LOST_MIN: Final = timedelta(milliseconds=4)
REMEDY: Final = (
    "client: send the first request behind the preface, without waiting for SETTINGS (RFC 9113, section 3.4);"
    " gRPC clients wait on purpose: keep one channel for all calls and connect ahead of need (grpc-java"
    " getState(true)); server: send SETTINGS once the connection is established"
)


def find(tables: Mapping[str, pl.DataFrame], *, lost_min: timedelta = LOST_MIN) -> pl.LazyFrame:
    """Return the first requests that waited for SETTINGS; see :class:`Detector`."""
    import polars as pl

    connections = tables["h2_connections"].lazy().select("flow", "client_settings_frame", "server_settings_frame")
    requests = tables["transactions"].lazy().select("flow", "request_frame", transaction="index")
    return (
        tables["waits"]
        .lazy()
        .filter(pl.col("cause").cast(pl.String).is_in(CAUSES))
        .group_by("flow", "transaction", "cause", maintain_order=True)
        .agg(
            pl.col("start", "first_frame").first(),
            pl.col("last_frame").last(),
            pl.col("confidence").mean(),
            lost=(pl.col("end") - pl.col("start")).sum(),
        )
        .filter(pl.col("lost") >= lost_min)
        .join(connections, on="flow", how="left", maintain_order="left")
        .join(requests, on=["flow", "transaction"], how="left", maintain_order="left")
        .with_columns(
            first_frame=pl.coalesce("client_settings_frame", "first_frame"),
            last_frame=pl.coalesce("request_frame", "last_frame"),
            summary=pl.format(
                "the client waited {} ms for the server's SETTINGS before its first request", ms("lost")
            ),
            evidence=pl.format(
                "client's SETTINGS in frame {}, the server's in frame {}, first request in frame {}",
                "client_settings_frame",
                "server_settings_frame",
                "request_frame",
            ),
            remedy=pl.lit(REMEDY),
        )
    )
