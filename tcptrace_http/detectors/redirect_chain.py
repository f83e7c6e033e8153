"""A client followed redirects before it received the requested resource.

What it does
------------
Finds redirects that a client followed: at least two in a row, or a single one that a correct link avoids.
Such a redirect goes to another host, or adds or removes a slash.

Why it is bad
-------------
Each redirect costs a round trip and the server's time, and a redirect to another host also costs a name
lookup and a handshake. The page itself is requested after them, and none of these steps can run in parallel.

Evidence
--------
Location of the redirect, resolved against its URL, is the URL of the client's next request, sent within two
seconds. Lost is the time from the start of the first request to the start of the last. If a new connection
was opened for the last request, lost is the time between the two SYNs: one connection is necessary anyway. A
client that follows late on an open connection had other work meanwhile. There is one finding per chain and
client. Single redirects within a host (a login, a page's language) and answers to forms (POST, redirect, GET)
are left out. A redirect to https is not followed: the next request is encrypted.

Fix
---
Link to the final URL; redirect from any form of the URL in one step (nginx: one ``return 301
https://example.org$request_uri`` for all names and schemes; Apache: one ``Redirect permanent``). For https:
``Strict-Transport-Security`` with ``includeSubDomains`` and ``preload``. A permanent redirect (301, 308) with
``Cache-Control: max-age`` is requested only once.

Reference
---------
RFC 9110, section 15.4; RFC 3986, section 5; RFC 6797; web.dev, Avoid multiple page redirects.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._detector import FLAWS
from tcptrace_http.detectors._objects import REDIRECTS, milliseconds, of_several, severity, shown
from tcptrace_http.detectors._wording import counted, times

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

__all__ = ["GATHERS", "NEEDS", "READS", "SCOPE", "find"]

SCOPE: Final = "capture"
READS: Final = ("redirects",)
NEEDS: Final = ("both_directions", "whole_payload")
GATHERS: Final = (REDIRECTS, FLAWS)

#: Minimum number of redirects in a chain, whatever their targets.
CHAIN_MIN: Final = 2
#: Minimum loss: a redirect within the host takes less.
LOST_MIN: Final = timedelta(milliseconds=1)
#: Maximum pause before a client follows on an open connection, which needs no lookup and no handshake. A
#: client with a longer pause had no free connection or other work. Browsers take a few milliseconds; the
#: margin is a choice.
FOLLOWED_AFTER_MAX: Final = timedelta(milliseconds=100)

REMEDY: Final = (
    "Link to the final URL, and redirect to it in one step from every other form (nginx return 301, Apache"
    " Redirect permanent); let permanent redirects be cached (Cache-Control: max-age)"
)


def find(
    tables: Mapping[str, pl.DataFrame], *, chain_min: int = CHAIN_MIN, lost_min: timedelta = LOST_MIN
) -> pl.LazyFrame:
    """Return the chains of redirects, and single redirects that a correct link avoids; see :class:`Detector`."""
    import polars as pl

    answers_form = (pl.col("method") == "POST") & pl.col("status").is_in([301, 302, 303])
    slashed = pl.format("{}/", "target") == pl.col("next_target")
    unslashed = pl.format("{}/", "next_target") == pl.col("target")
    hop = pl.format("{} {}", "status", shown("host", "target"))
    chains = (
        tables["redirects"]
        .lazy()
        .filter(~answers_form)
        .sort("request_time", maintain_order=True)
        .group_by("first_flow", "first_transaction", maintain_order=True)
        .agg(
            pl.col("client", "flow", "transaction", "opened_time", "request_time").first(),
            pl.col("next_opened_time", "next_request_time", "next_host", "next_target").last(),
            first_frame=pl.col("request_frame").first(),
            next_frame=pl.col("next_request_frame").last(),
            frames=pl.col("request_frame"),
            hops=hop.implode().list.join(", "),
            redirects=pl.len(),
            redirected=pl.col("response_last_time").last(),
            paused=_paused().sum(),
            leads_elsewhere=(pl.col("host") != pl.col("next_host")).any(),
            is_slash=(slashed | unslashed).any(),
        )
    )
    is_new = pl.col("next_opened_time") >= pl.col("redirected")
    start = pl.when(is_new).then(pl.coalesce("opened_time", "request_time")).otherwise("request_time")
    end = pl.when(is_new).then("next_opened_time").otherwise("next_request_time")
    return (
        chains.filter((pl.col("redirects") >= chain_min) | pl.col("leads_elsewhere") | pl.col("is_slash"))
        .with_columns(start=start, elapsed=end - start, last=shown("next_host", "next_target"))
        .with_columns(lost=pl.col("elapsed") - pl.col("paused"))
        # A chain is reported on a fast path too (info), a single redirect is not.
        .filter((pl.col("lost") >= lost_min) | (pl.col("redirects") >= chain_min))
        .with_columns(response_first_time="start")
        .pipe(
            of_several,
            ("client", "hops", "last"),
            frames=("first_frame", "next_frame"),
            extra=(pl.col("redirects").first(), pl.col("frames").first()),
        )
        # The time spans several transactions.
        .with_columns(transaction=pl.lit(None, pl.UInt32))
        .with_columns(
            severity=severity(),
            confidence=pl.lit(0.95),
            summary=pl.format(
                "{} before {} was requested{}: {} ms",
                counted("redirects", "redirect"),
                "last",
                pl.when(pl.col("times") > 1).then(pl.format(", {}", times("times"))).otherwise(pl.lit("")),
                milliseconds("lost"),
            ),
            evidence=pl.format(
                "{}; requests in frames {}",
                "hops",
                pl.col("frames").cast(pl.List(pl.String)).list.join(", "),
            ),
            remedy=pl.lit(REMEDY),
        )
    )


def _paused() -> pl.Expr:
    """Return the time of the client's other work before it followed a redirect."""
    import polars as pl

    # A new connection may wait for a name lookup, which the redirect made necessary.
    is_open = ~(pl.col("next_opened_time") >= pl.col("response_last_time")).fill_null(value=False)
    pause = pl.col("next_request_time") - pl.col("response_last_time")
    return pl.when(is_open & (pause > FOLLOWED_AFTER_MAX)).then(pause).otherwise(pl.duration())
