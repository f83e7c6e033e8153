"""A later part of a TLS handshake flight waits for the ACK of an earlier one: Nagle's algorithm.

What it does
------------
Finds parts of the server's or client's TLS handshake flight that Nagle's algorithm held. The ACK of an
earlier short segment of the same flight released them. A part that follows a message of the peer is an answer
and does not count.

Why it is bad
-------------
A TLS library that writes a flight in pieces (one write per message or record) sends the first, short piece
alone. The next piece must wait for its ACK (RFC 896). The peer cannot answer a partial flight, so its ACK
comes after the delayed-ACK timer, 40 ms (Linux) to 200 ms (BSD). Every handshake pays this delay for each
such flight.

Evidence
--------
The waits ``stall.nagle_delayed_ack`` and ``stall.nagle_hold`` inside the TLS handshake: the short segment,
its ACK, and the part released by this ACK. The peer sent no data in between. No key is necessary. Lost is
that wait.

Fix
---
Set TCP_NODELAY before the TLS handshake, not after it. Or collect the messages of a flight and write them at
once.

Reference
---------
RFC 896; RFC 1122, section 4.2.3.2; https://docs.openssl.org/3.4/man3/SSL_connect/#notes;
https://github.com/NLnetLabs/unbound/pull/1214; https://github.com/libressl/portable/issues/1143;
https://github.com/aws/s2n-tls/issues/979; https://github.com/seanmonstar/reqwest/pull/477.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._holds import LOST_MIN, NAGLE, Held, held_findings

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import timedelta

    import polars as pl

__all__ = ["CAUSES", "NEEDS", "READS", "find"]

READS: Final = ("waits",)
CAUSES: Final = NAGLE
NEEDS: Final = ("both_directions", "handshake", "no_gaps", "whole_payload", "pure_acks")

REMEDY: Final = (
    "Set TCP_NODELAY on the accepted socket before the TLS handshake, or write each flight in one piece"
)
REMEDY_OF_REQUESTS: Final = (
    "Set TCP_NODELAY on the client's socket before the TLS handshake, or write each flight in one piece"
)
HELD: Final = Held(
    detector="tls-handshake-nagle",
    what="a later part of a flight of the {} waited behind {}",
    remedy=REMEDY,
    remedy_of_requests=REMEDY_OF_REQUESTS,
)


def find(tables: Mapping[str, pl.DataFrame], *, lost_min: timedelta = LOST_MIN) -> pl.LazyFrame:
    """Return the held parts of handshake flights; see :class:`Detector`."""
    return held_findings(tables, HELD, lost_min=lost_min)
