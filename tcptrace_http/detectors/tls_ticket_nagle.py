"""The first response waits behind TLS session tickets, or the first request behind Finished: Nagle's algorithm.

What it does
------------
Finds first responses of TLS connections that Nagle's algorithm held until the ACK of the server's session
tickets. Also finds first requests held until the ACK of the client's Finished.

Why it is bad
-------------
After a TLS 1.3 handshake a server sends session tickets: short segments that the client does not answer. The
response is the next short segment and must wait for their ACK (RFC 896). The client delays that ACK by 40 ms
(Linux) to 200 ms (BSD). In TLS 1.3 and in resumed sessions the client sends the last handshake message and
the first request. Its request then waits for the ACK of its own Finished. Each new connection pays this delay
once.

Evidence
--------
The waits ``stall.nagle_delayed_ack`` and ``stall.nagle_hold`` behind unrequested records of the server, or
behind the client's Finished: that segment, its ACK, and the data released by this ACK. No key is necessary.
Lost is that wait. Its confidence is at most 0.5 if the application may have written the data then.

Fix
---
Set TCP_NODELAY on the accepted (client: connected) socket before the TLS handshake. nginx: ``tcp_nodelay
on``, the default. Rust axum-server: ``axum_server::accept::NoDelayAcceptor``. Python:
``setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)`` in the handler's ``setup``, or ``disable_nagle_algorithm = True``.
A server without session resumption can omit tickets (OpenSSL ``SSL_CTX_set_num_tickets(ctx, 0)``, Python
``SSLContext.num_tickets = 0``).

Reference
---------
RFC 8446, sections 2 and 4.6.1; RFC 896; RFC 1122, section 4.2.3.2;
https://github.com/alphaonedev/ai-memory-mcp/issues/1581; https://github.com/openssl/openssl/issues/4237;
https://github.com/trojan-gfw/trojan/issues/20.
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
    "Set TCP_NODELAY on the accepted socket before the TLS handshake (nginx: tcp_nodelay on; axum-server:"
    " NoDelayAcceptor; Python http.server: disable_nagle_algorithm = True)"
)
REMEDY_OF_REQUESTS: Final = "Set TCP_NODELAY on the client's socket before the TLS handshake"
HELD: Final = Held(
    detector="tls-ticket-nagle",
    what="the first {} waited behind {}",
    remedy=REMEDY,
    remedy_of_requests=REMEDY_OF_REQUESTS,
)


def find(tables: Mapping[str, pl.DataFrame], *, lost_min: timedelta = LOST_MIN) -> pl.LazyFrame:
    """Return the first responses held behind session tickets, and first requests behind Finished; see
    :class:`Detector`.
    """
    return held_findings(tables, HELD, lost_min=lost_min)
