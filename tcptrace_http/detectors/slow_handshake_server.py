"""The server took long over its part of the TLS handshake.

What it does
------------
Finds TLS handshakes in which the server worked, or waited for another service, for 20 ms and more before its
ServerHello, or before TLS 1.2 its Finished.

Why it is bad
-------------
It comes before the first request of each connection, and no network setting makes up for it. A signature with an
RSA key of 2048 bits takes a millisecond or two, one with ECDSA a tenth of that.

Evidence
--------
The ClientHello's first byte and the server's first, and in TLS 1.2 the client's Finished and the server's, less
the path's round trip from the capture to the server. Not told where data was lost or overtaken in the handshake,
nor through a proxy's tunnel (CONNECT), whose path goes on behind it. Lost is what it took over what a server may
take (10 ms).

Fix
---
Look at what runs in the handshake: the accept queue of a busy or single-threaded server, keys in an HSM or on
another machine, a certificate that is loaded (nginx ``ssl_certificate`` with variables) or obtained (Caddy
``on_demand``) for each name, OCSP or client certificates that are looked up, RSA keys of 4096 bits. Resume
sessions.

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

#: As for responses (slow_server): a busy host takes ten milliseconds, and as long again to get to run.
THINK_MIN: Final = timedelta(milliseconds=20)
ALLOWED: Final = timedelta(milliseconds=10)
REMEDY: Final = (
    "look at what the server does in the handshake: accept queue, keys in an HSM or on another machine,"
    " certificates loaded or obtained on demand, OCSP and client certificates; use ECDSA keys, resume sessions"
)


def find(
    tables: Mapping[str, pl.DataFrame],
    *,
    think_min: timedelta = THINK_MIN,
    allowed: timedelta = ALLOWED,
) -> pl.LazyFrame:
    """Handshakes that the server was slow in; see :class:`Detector`."""
    import polars as pl

    flows = tables["flows"].lazy().select("flow", "server_path_rtt")
    nothing = pl.duration(nanoseconds=0)
    # Where the server finishes first, the handshake is done with the client's Finished.
    before_hello = pl.col("server_hello_time") - pl.col("client_hello_time") - pl.col("server_path_rtt")
    before_finished = pl.col("done_time") - pl.col("client_finished_time") - pl.col("server_path_rtt")
    is_hello = pl.col("before_hello") >= pl.col("before_finished")
    return (
        handshakes(tables)
        .join(flows, on="flow", maintain_order="left")
        .with_columns(
            before_hello=before_hello.clip(nothing),
            before_finished=before_finished.clip(nothing).fill_null(nothing),
        )
        .with_columns(think=pl.col("before_hello") + pl.col("before_finished"))
        .filter(pl.col("think") >= think_min)
        .with_columns(
            lost=pl.col("think") - pl.lit(allowed).cast(pl.Duration("ns")),
            start=pl.when(is_hello).then("client_hello_time").otherwise("client_finished_time"),
            first_frame=pl.when(is_hello).then("client_hello_frame").otherwise("client_finished_frame"),
            last_frame=pl.when(is_hello).then("server_hello_frame").otherwise("first_application_frame"),
            confidence=pl.lit(0.85),
            summary=pl.format("the server took {} ms over its part of the TLS handshake", ms("think")),
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
