"""A full TLS handshake on each connection, although the client could resume an earlier session.

What it does
------------
Names clients with repeated full TLS handshakes to the same server and host name that could resume the session
of an earlier connection.

Why it is bad
-------------
Before TLS 1.3 a full handshake takes one more round trip than a resumed one. In every version a full
handshake transfers the certificate chain, which may take more round trips, and needs a signature of the
server. With TLS 1.3 only a resumed session can carry the request in the first flight (0-RTT).

Evidence
--------
Full handshakes, each within five minutes after a response on an earlier connection to the same port and name.
Lost is, before TLS 1.3, the client's wait in round trips less one. Lost is also the time from the first to
the last byte of the server's flight, at most two round trips. A finding needs at least three such handshakes,
and is for information below 4 ms per handshake. No finding is made if clients of the same address do resume.

Fix
---
Server: nginx ``ssl_session_cache shared:SSL:10m`` and ``ssl_session_tickets on``, with one ticket key for all
machines behind an address. Client: use one session, agent or TLS context for all connections (Go
``tls.Config.ClientSessionCache``, Node.js ``https.Agent``), and reuse the session (Python
``wrap_socket(session=…)``). Fewer connections need fewer handshakes.

Reference
---------
RFC 8446, section 2.2; RFC 5246, section 7.3; RFC 5077; arXiv 2604.24869 (2026);
https://github.com/aio-libs/aiohttp/issues/2673; https://github.com/sidorares/node-mysql2/pull/4529.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._host_pairs import HANDSHAKES, SERVICE
from tcptrace_http.detectors._tls import CAUSE, LOST_MIN

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

__all__ = ["GATHERS", "NEEDS", "READS", "SCOPE", "find"]

SCOPE: Final = "capture"
READS: Final = ("handshakes",)
NEEDS: Final = ("both_directions", "handshake", "whole_payload")
GATHERS: Final = (HANDSHAKES,)

#: Key of the sessions of a server and host name.
_SITE: Final = (*SERVICE, "server_name")
#: Minimum default time that servers keep a session: OpenSSL and nginx (ssl_session_timeout 5m).
SESSION_LIFETIME: Final = timedelta(minutes=5)
#: Minimum number of full handshakes. Fewer are chance: a client started several times.
NEEDLESS_MIN: Final = 3
#: Maximum share of resumed handshakes. Above it client and server can resume, and the others are other
#: clients.
RESUMED_SHARE_MAX: Final = 0.2
#: Maximum round trips of the certificate flight. A chain above 44 kB takes longer, and so does a lost
#: segment.
CHAIN_ROUND_TRIPS_MAX: Final = 2
#: Maximum number of frames that a finding lists.
FRAMES_SHOWN: Final = 8
REMEDY: Final = (
    "server: nginx ssl_session_cache shared:SSL:10m and ssl_session_tickets on (one ticket key for all machines);"
    " client: one session or TLS context for all connections, and reuse of its session"
)


def find(
    tables: Mapping[str, pl.DataFrame],
    *,
    needless_min: int = NEEDLESS_MIN,
    resumed_share_max: float = RESUMED_SHARE_MAX,
    session_lifetime: timedelta = SESSION_LIFETIME,
    lost_min: timedelta = LOST_MIN,
) -> pl.LazyFrame:
    """Return the clients and sites with full handshakes instead of resumption; see :class:`Detector`."""
    import polars as pl

    handshakes = (
        tables["handshakes"]
        .lazy()
        .drop_nulls(["client_hello_time", "done_time", "last_response_time"])
        .with_columns(pl.col("server_name").fill_null(""))
        .filter(pl.col("resumed").mean().over(_SITE) <= resumed_share_max)
    )
    # A TLS 1.3 ticket follows the handshake and is present by the first response.
    sessions = handshakes.select(*_SITE, session_time="last_response_time").sort("session_time")
    needless = (
        handshakes.filter(~pl.col("resumed"))
        .sort("client_hello_time", "flow")
        .join_asof(
            sessions,
            left_on="client_hello_time",
            right_on="session_time",
            by=list(_SITE),
            tolerance=session_lifetime,
            check_sortedness=False,
        )
        .filter(pl.col("session_time").is_not_null())
        .filter(pl.len().over(_SITE) >= needless_min)
        .with_columns(_rounds_saved(), _chain_saved())
    )
    ms = {name: (pl.col(name).sum().dt.total_nanoseconds() / 1e6).round(1) for name in ("rounds", "chain")}
    return (
        needless.group_by(_SITE, maintain_order=True)
        .agg(
            flows=pl.col("flow"),
            times=pl.len(),
            lost=(pl.col("rounds") + pl.col("chain")).sum(),
            elapsed=(pl.col("last_response_time") - pl.col("start")).sum(),
            start=pl.col("client_hello_time").min(),
            first_frame=pl.col("client_hello_frame").min(),
            last_frame=pl.col("client_hello_frame").max(),
            rounds_ms=ms["rounds"],
            chain_ms=ms["chain"],
            shown=pl.col("client_hello_frame").head(FRAMES_SHOWN).cast(pl.String).str.join(", "),
        )
        .select(
            "first_frame",
            "last_frame",
            "start",
            "lost",
            "elapsed",
            "flows",
            flow=pl.lit(None),
            transaction=pl.lit(None),
            severity=pl.when(pl.col("lost") < pl.lit(lost_min) * pl.col("times")).then(pl.lit("info")),
            # Several clients may share an address.
            confidence=pl.lit(0.75),
            cause=pl.lit(CAUSE),
            summary=pl.format(
                "{} made {} full TLS handshakes with {} port {}{} although it could resume an earlier session",
                "client",
                "times",
                "server",
                "server_port",
                pl.when(pl.col("server_name") == "").then(pl.lit("")).otherwise(pl.format(" ({})", "server_name")),
            ),
            evidence=pl.format(
                "ClientHellos in frames {}; {} ms in round trips, {} ms for certificate chains",
                pl.when(pl.col("times") > FRAMES_SHOWN).then(pl.col("shown") + " …").otherwise("shown"),
                "rounds_ms",
                "chain_ms",
            ),
            remedy=pl.lit(REMEDY),
        )
    )


def _rounds_saved() -> pl.Expr:
    """Return the round trips that a resumed handshake saves: one, before TLS 1.3."""
    import polars as pl

    beyond_one = pl.col("round_trips").cast(pl.Int64).clip(1) - 1
    is_tls13 = pl.col("version").cast(pl.String) == "TLS 1.3"
    rounds = _round_trip() * beyond_one
    return pl.when(is_tls13).then(pl.duration()).otherwise(rounds).alias("rounds")


def _chain_saved() -> pl.Expr:
    """Return the time of the certificate flight. Behind a HelloRetryRequest it is indistinguishable from the
    round trip.
    """
    import polars as pl

    chain = pl.col("server_flight_last_time") - pl.col("server_hello_time")
    bounded = pl.min_horizontal(chain, _round_trip() * CHAIN_ROUND_TRIPS_MAX)
    return pl.when("hello_retry").then(pl.duration()).otherwise(bounded).fill_null(pl.duration()).alias("chain")


def _round_trip() -> pl.Expr:
    """Return the round trip of the TCP handshake; if its SYN was lost, at most the time of the TLS handshake."""
    import polars as pl

    took = pl.col("done_time") - pl.col("client_hello_time")
    return pl.min_horizontal(pl.col("initial_rtt").fill_null(pl.duration()), took)
