"""The receiver did not read, and closed its window while the response or the upload waited.

What it does
------------
Finds responses and requests that waited for a closed receive window. Also finds messages that waited longer
because the window update was lost.

Why it is bad
-------------
The network and the server wait for an application. Examples: a client that renders before its next read, a
proxy with a slow other side, a server that writes an upload at disk speed. If the ACK that opens the window
is lost, only the persist timer probes it: at least 200 ms, doubling.

Evidence
--------
The segment that closed the window, the one that opened it, and the probes between. Lost is the time from the
closing to the opening. After a lost window update, lost is the time until the data, from the earliest
possible time. Closed windows without waiting data do not count.

Fix
---
Read sooner and in larger pieces, in a separate thread. Enlarge the buffer (set no ``SO_RCVBUF``: Linux tunes
the buffer up to ``net.ipv4.tcp_rmem``). nginx as a proxy: ``proxy_buffers``, ``proxy_max_temp_file_size``,
``client_body_buffer_size``.

Reference
---------
RFC 9293, sections 3.8.6 and 3.8.6.1; RFC 4898, SndLimTimeRwin; S. Sundaresan et al., TCP Congestion
Signatures, IMC 2017; J. Zhou et al., Demystifying and Mitigating TCP Stalls at the Server Side, 2015.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._recoveries import by_transaction, ms
from tcptrace_http.detectors._wording import counted, times

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

__all__ = ["NEEDS", "READS", "find"]

READS: Final = ("waits",)
NEEDS: Final = ("both_directions", "handshake", "pure_acks")

#: Minimum loss. An application that reads at full speed closes its window for shorter times.
LOST_MIN: Final = timedelta(milliseconds=10)
REMEDY: Final = (
    "let the client's application read sooner (a separate thread, larger reads); do not set SO_RCVBUF, so that"
    " Linux tunes the buffer up to net.ipv4.tcp_rmem; proxies: larger proxy_buffers"
)
REMEDY_OF_REQUESTS: Final = (
    "let the server's application read the request sooner (larger reads, a faster disk or upstream server); no"
    " SO_RCVBUF on the server, so that Linux tunes the buffer up to net.ipv4.tcp_rmem; nginx: larger"
    " client_body_buffer_size"
)


def find(tables: Mapping[str, pl.DataFrame], *, lost_min: timedelta = LOST_MIN) -> pl.LazyFrame:
    """Return the transactions that waited for a closed window; see :class:`Detector`."""
    import polars as pl

    is_persist = pl.col("kind").cast(pl.String) == "persist"
    reopened = tables["recoveries"].lazy().filter((pl.col("kind").cast(pl.String) == "zero_window") | is_persist)
    rows = pl.concat([reopened, _to_the_end(tables)], how="diagonal_relaxed").with_columns(lost=pl.col("silence"))
    unheard = (
        rows.filter(is_persist)
        .group_by("flow", "transaction", "direction")
        .agg(unheard=pl.col("lost").sum(), unheard_frame=pl.col("first_frame").first())
    )
    receiver = pl.when(pl.col("who") == "server").then(pl.lit("client")).otherwise(pl.lit("server"))
    return (
        by_transaction(rows, lost_min=lost_min)
        .join(unheard, on=["flow", "transaction", "direction"], how="left", maintain_order="left")
        .with_columns(
            severity=pl.when("is_to_the_end").then(pl.lit("error")),
            first_frame="earliest",
            last_frame="latest",
            cause=pl.when(is_persist).then(pl.lit("stall.persist")).otherwise(pl.lit("send_limited.zero_window")),
            summary=pl.format(
                "the {} offered no window for {} ms while the {} waited{}",
                receiver,
                ms("lost"),
                "what",
                pl.when("is_to_the_end")
                .then(pl.lit(" until the connection or the capture ended"))
                .when(pl.col("unheard").is_null())
                .then(pl.lit(""))
                .otherwise(pl.format(", {} ms of it because the window update was lost", ms("unheard"))),
            ),
            evidence=pl.format(
                "{}; first closed in frame {}, {} frame {}; {}",
                times("times"),
                "first_frame",
                pl.when("is_to_the_end").then(pl.lit("at the end still, in")).otherwise(pl.lit("last open in")),
                "last_frame",
                counted("segments", "probe"),
            ),
            remedy=pl.when(pl.col("what") == "request").then(pl.lit(REMEDY_OF_REQUESTS)).otherwise(pl.lit(REMEDY)),
        )
    )


def _to_the_end(tables: Mapping[str, pl.DataFrame]) -> pl.LazyFrame:
    """Return the windows that stayed closed, as rows of ``recoveries`` without an ending segment and without
    bytes.
    """
    import polars as pl

    return (
        tables["waits"]
        .lazy()
        .filter(pl.col("cause").cast(pl.String) == "send_limited.zero_window", pl.col("bytes") == 0)
        .select(
            *("flow", "transaction", "direction", "first_frame", "last_frame", "start", "end", "confidence"),
            kind=pl.lit("zero_window"),
            silence=pl.col("end") - pl.col("start"),
            resent_segments=pl.lit(0, pl.UInt32),
            is_to_the_end=pl.lit(value=True),
        )
    )
