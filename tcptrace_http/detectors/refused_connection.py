"""Connections that a server refused.

What it does
------------
Names the ports whose RST answered a client's SYN, with the number of attempts and the time until a connection
succeeded. Only HTTP ports count: ports with captured HTTP, and the usual ports (80, 443, 8000, 8080 and a few
more).

Why it is bad
-------------
No request is served before a connection succeeds. Clients try several addresses or back ends in turn, so a
refusing one delays each first request. Retries with a fixed pause add that pause even after the server is up
again.

Evidence
--------
The SYN and the RST that answered it, and the next connection to the same port with a response. Lost is the
time from the first failed attempt to the SYN of that connection. Without a success the capture shows no cost,
and lost is 0.

Fix
---
Let the server listen before traffic is sent to it (readiness probes, systemd socket activation), on IPv6 and
IPv4 if its name has both (nginx ``listen [::]:80``). Take dead back ends out of service
(``proxy_next_upstream``, ``max_fails``). Send no RST from firewalls for ports in use.

Reference
---------
RFC 9293, section 3.10.7.1; RFC 8305 (Happy Eyeballs), section 5.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._host_pairs import CONNECTIONS, ENDINGS, PAIR, SERVICE
from tcptrace_http.detectors._wording import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

__all__ = ["GATHERS", "NEEDS", "READS", "SCOPE", "find"]

SCOPE: Final = "capture"
READS: Final = ("endings",)
NEEDS: Final = ("both_directions",)
GATHERS: Final = (ENDINGS, CONNECTIONS)

#: Maximum time from an attempt to a success. With a longer time the server was down.
SUCCESS_MAX_SECONDS: Final = 30
#: Usual HTTP ports: IANA's http, https, http-alt (591, 8008, 8080), 8443 and 8888, defaults of frameworks
#: (8000, 8081), and Wireshark's preference http.tcp.port (3128 of Squid, 8088). A refusal on another port may
#: be a scan or a file sharing peer.
HTTP_PORTS: Final = (80, 443, 591, 3128, 8000, 8008, 8080, 8081, 8088, 8443, 8888)
#: Maximum number of ports that a finding lists; a scan tries several.
PORTS_SHOWN: Final = 4
REMEDY: Final = (
    "let the server listen before it receives traffic (readiness probe, socket activation; nginx listen"
    " [::]:80 beside listen 80), or remove the address from the client's list (DNS, upstream max_fails)"
)


def find(tables: Mapping[str, pl.DataFrame], *, success_max_seconds: int = SUCCESS_MAX_SECONDS) -> pl.LazyFrame:
    """Return the host pairs with refused connections; see :class:`Detector`."""
    import polars as pl

    successes = (
        tables["connections"]
        .lazy()
        .filter("has_syn", pl.col("last_response_time").is_not_null())
        .select(*SERVICE, opened="start", next_flow="flow", next_frame="first_frame")
        .sort("opened")
    )
    seen = tables["connections"].lazy().select("server_port", shows_http=pl.lit(value=True)).unique()
    attempts = (
        tables["endings"]
        .lazy()
        .filter(pl.col("kind") == "refused")
        .join(seen, on="server_port", how="left")
        .filter(pl.col("shows_http") | pl.col("server_port").is_in(HTTP_PORTS))
        .sort("start")
        .join_asof(
            successes,
            left_on="start",
            right_on="opened",
            by=list(SERVICE),
            strategy="forward",
            tolerance=timedelta(seconds=success_max_seconds),
            check_sortedness=False,
        )
        .sort("flow")
    )
    waited = pl.col("opened") - pl.col("start")
    # The first of several attempts before a success waited longest.
    is_first = pl.col("next_flow").is_first_distinct() | pl.col("next_flow").is_null()
    return (
        attempts.with_columns(waited=pl.when(is_first).then(waited))
        .group_by(PAIR, maintain_order=True)
        .agg(
            times=pl.len(),
            ports=pl.col("server_port").unique().sort().head(PORTS_SHOWN).cast(pl.String).str.join(", "),
            port_count=pl.col("server_port").n_unique(),
            flow=pl.when(pl.len() == 1).then(pl.col("flow").first()),
            start=pl.col("start").min(),
            first_frame=pl.col("first_frame").min(),
            last_frame=pl.max_horizontal("close_frame", "next_frame").max(),
            lost=pl.col("waited").sum(),
            elapsed=pl.col("waited").sum(),
            succeeded=pl.col("next_flow").n_unique() - pl.col("next_flow").has_nulls().cast(pl.UInt32),
            shown=pl.format("{} by {}", "first_frame", "close_frame").head(6).str.join(", "),
        )
        .select(
            "flow",
            "first_frame",
            "last_frame",
            "start",
            "lost",
            "elapsed",
            transaction=pl.lit(None),
            confidence=pl.lit(0.98),
            cause=pl.lit(None),
            summary=pl.format(
                "{} refused {} of {} to port {}{}; {} succeeded there within {} s",
                "server",
                counted("times", "connection"),
                "client",
                "ports",
                pl.when(pl.col("port_count") > PORTS_SHOWN)
                .then(pl.format(" and {} more", pl.col("port_count") - PORTS_SHOWN))
                .otherwise(pl.lit("")),
                "succeeded",
                pl.lit(success_max_seconds),
            ),
            evidence=pl.format("SYNs in frames {} (RST)", "shown"),
            remedy=pl.lit(REMEDY),
        )
    )
