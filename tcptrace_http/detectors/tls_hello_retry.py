"""The server asked for another ClientHello (HelloRetryRequest): one more round trip.

What it does
------------
Finds TLS 1.3 handshakes with a HelloRetryRequest: the server does not accept the client's key exchange group,
and the client must begin again.

Why it is bad
-------------
A handshake of TLS 1.3 takes one round trip, and with a HelloRetryRequest two. A client that does not remember
the server's group pays on every connection.

Evidence
--------
The HelloRetryRequest itself, which is not encrypted. Lost is the path's minimum round trip.

Fix
---
Let the server accept a group of the clients' key shares: X25519, and X25519MLKEM768 for new ones. nginx:
``ssl_ecdh_curve X25519MLKEM768:X25519:prime256v1``. Or let the client offer a key for the server's group, as
with ``curl --curves``.

Reference
---------
RFC 8446, sections 2.1 and 4.1.4; https://github.com/tlsfuzzer/tlsfuzzer/issues/554.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._recoveries import ms
from tcptrace_http.detectors._tls import LOST_MIN, handshakes

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import timedelta

    import polars as pl

__all__ = ["CAUSES", "NEEDS", "READS", "find"]

READS: Final = ("tls_handshakes", "waits")
CAUSES: Final = ("setup.tls_handshake",)
NEEDS: Final = ("both_directions", "handshake", "whole_payload")

REMEDY: Final = (
    "let the server accept a group of the client's key shares (X25519, X25519MLKEM768: nginx ssl_ecdh_curve,"
    " Apache SSLOpenSSLConfCmd Groups), or let the client offer the server's group first (curl --curves)"
)


def find(tables: Mapping[str, pl.DataFrame], *, lost_min: timedelta = LOST_MIN) -> pl.LazyFrame:
    """Return the handshakes with a HelloRetryRequest; see :class:`Detector`."""
    import polars as pl

    return (
        handshakes(tables)
        .filter("hello_retry", pl.col("round_trip") >= lost_min)
        .with_columns(
            start="client_hello_time",
            lost="round_trip",
            first_frame="client_hello_frame",
            last_frame="server_hello_frame",
            confidence=pl.lit(0.95),
            summary=pl.format(
                "the server asked for another ClientHello (HelloRetryRequest): one round trip of {} ms more",
                ms("round_trip"),
            ),
            evidence=pl.format(
                "ClientHello in frame {}, HelloRetryRequest in frame {}; the handshake took {} round trips",
                "client_hello_frame",
                "server_hello_frame",
                "round_trips",
            ),
            remedy=pl.lit(REMEDY),
        )
    )
