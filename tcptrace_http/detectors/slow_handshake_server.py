"""The server was slow in its part of the TLS handshake.

What it does
------------
Finds TLS handshakes with at least 20 ms of server time before the ServerHello, or in TLS 1.2 before the
Finished. The server worked or waited for another service.

Why it is bad
-------------
This time delays the first request of each connection, and no network setting compensates for it. The
signature itself takes less: 1 ms with a 2048-bit RSA key, 6 ms with 4096 bits, below 0.1 ms with ECDSA P-256
(``openssl speed rsa2048 rsa4096 ecdsap256``).

Evidence
--------
The time from the ClientHello's first byte to the server's first byte, and in TLS 1.2 from the client's
Finished to the server's. The round trip from the capture to the server is subtracted. At least one answer on
the connection must come within 10 ms of that round trip. Otherwise a proxy or a VPN may terminate the
connection in front of a longer path. Handshakes with lost or reordered data, and handshakes in a proxy's
tunnel (CONNECT), are left out. Lost is the server's time beyond 10 ms.

Fix
---
Check the server's work in the handshake: a full accept queue, keys in an HSM or on another machine, RSA keys
of 4096 bits. Check for certificates that are loaded (nginx ``ssl_certificate`` with variables) or obtained
(Caddy ``on_demand``) per name. Check for lookups of OCSP responses or client certificates. Resume sessions.

Reference
---------
RFC 8446, section 2; RFC 5246, section 7.3; J. Dean, Numbers Everyone Should Know, 2009;
https://github.com/openssl/openssl/issues/29227; https://github.com/openssl/openssl/issues/13053.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._recoveries import ms
from tcptrace_http.detectors._tls import handshakes

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

__all__ = ["CAUSES", "NEEDS", "READS", "find"]

READS: Final = ("tls_handshakes", "waits")
CAUSES: Final = ("setup.tls_handshake",)
NEEDS: Final = ("both_directions", "handshake", "no_gaps", "acks_of_server")

#: Minimum answer time as a share of the path's round trip: the clock's error allows a faster answer.
PATH_SHARE_MIN: Final = 0.9
#: Minimum and allowed server time, as for responses (slow_server): a busy host needs ten milliseconds, and as
#: long again for its schedule.
THINK_MIN: Final = timedelta(milliseconds=20)
ALLOWED: Final = timedelta(milliseconds=10)
REMEDY: Final = (
    "Check the server's work in the handshake: accept queue, keys in an HSM or on another machine, certificates"
    " loaded or obtained on demand, OCSP and client certificates; use ECDSA keys, resume sessions"
)


def find(
    tables: Mapping[str, pl.DataFrame],
    *,
    think_min: timedelta = THINK_MIN,
    allowed: timedelta = ALLOWED,
) -> pl.LazyFrame:
    """Return the handshakes with a slow server; see :class:`Detector`."""
    import polars as pl

    nothing, most = pl.duration(nanoseconds=0), pl.lit(allowed).cast(pl.Duration("ns"))
    path = pl.col("server_path_rtt")
    answer = pl.col("response_first_time") - pl.col("request_last_time")
    paths = tables["flows"].lazy().select("flow", "server_path_rtt")
    answers = tables["transactions"].lazy().join(paths, on="flow").select("flow", "server_path_rtt", answer=answer)
    # A faster packet answers something else, such as a ticket of the handshake.
    is_quick = pl.col("answer").is_between(path * PATH_SHARE_MIN, path + most)
    parts = ("before_hello", "before_finished")
    is_hello = pl.col("before_hello") >= pl.col("before_finished")
    served = (
        handshakes(tables)
        .join(paths, on="flow", maintain_order="left")
        .with_columns(
            before_hello=pl.col("server_hello_time") - pl.col("client_hello_last_time"),
            # If the server finishes first, the client's Finished ends the handshake.
            before_finished=pl.col("done_time") - pl.col("client_finished_time"),
        )
    )
    quick = pl.concat([answers, *(served.select("flow", "server_path_rtt", answer=name) for name in parts)])
    return (
        served.join(quick.filter(is_quick), on="flow", how="semi", maintain_order="left")
        .with_columns(pl.col(name) - path for name in parts)
        .with_columns(pl.when(pl.col(name) >= think_min).then(name).otherwise(nothing) for name in parts)
        .with_columns(
            think=pl.sum_horizontal(parts),
            lost=pl.sum_horizontal((pl.col(name) - most).clip(nothing) for name in parts),
        )
        .filter(pl.col("think") > nothing)
        .with_columns(
            start=pl.when(is_hello).then("client_hello_last_time").otherwise("client_finished_time"),
            first_frame=pl.when(is_hello).then("client_hello_frame").otherwise("client_finished_frame"),
            last_frame=pl.when(is_hello).then("server_hello_frame").otherwise("first_application_frame"),
            confidence=pl.lit(0.85),
            summary=pl.format("the server took {} ms for its part of the TLS handshake", ms("think")),
            evidence=pl.format(
                "{} ms before the ServerHello in frame {}, {} ms before its Finished; less the round trip: {} ms",
                ms("before_hello"),
                "server_hello_frame",
                ms("before_finished"),
                ms("server_path_rtt"),
            ),
            remedy=pl.lit(REMEDY),
        )
    )
