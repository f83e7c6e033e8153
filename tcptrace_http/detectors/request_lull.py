"""Requests of a page go one by one over an idle connection, one round trip apart.

What it does
------------
Finds pages whose client requests the next object on a persistent connection only after the previous response
is complete. No other transaction of that client is in progress, or several parallel connections do the same.

Why it is bad
-------------
Between the last byte of a response and the first byte of the next one, the path is idle for a round trip.
Objects that the base document named long before wait for each other. A page of thirty small objects has
thirty idle round trips.

Evidence
--------
Idle periods of at most twice the round trip on one connection, from the last byte of a response to the next
response's first byte. No other transaction of the client is in progress. Lost is the round trip of each
period, at most the idle time. Necessary round trips do not count. These are the first request after the
document that names the object, and requests initiated by the previous response. The rounds of slow start of
all responses together do not count either. For parallel connections, each idle for half of its time, lost is
the earlier end of the last one. Requests after client think time, non-idempotent requests, and round trips
below 5 ms are left out. If only time assigns the transactions to the page, a request may depend on the
response before it, and the confidence is lower.

Fix
---
HTTP/2 (nginx: ``listen 443 ssl; http2 on;``, Apache httpd: ``Protocols h2 http/1.1``, lighttpd:
``server.feature-flags += ("server.h2proto" => "enable")``), which sends all requests at once. Or use more
parallel connections (browsers open six), or fewer objects. If the page already uses HTTP/2, let the client
start all requests together, and name objects early (``preload`` links, 103 Early Hints).

Reference
---------
H. Kruse, M. Allman, J. Griner, D. Tran, Experimentation and Modeling of HTTP Over Satellite Channels, 2001,
sections 3 and 5.1; J. C. Mogul, The Case for Persistent-Connection HTTP (SIGCOMM 1995); RFC 9112, section
9.3.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._wording import times

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

__all__ = ["NEEDS", "READS", "find"]

READS: Final = ("retrieval_transactions",)
#: The detector matches responses to requests and needs the arrival time of the previous response.
NEEDS: Final = ("both_directions",)

#: Minimum number of lulls. Fewer are no chain: one may be an undetected dependence.
LULLS_MIN: Final = 2
#: Minimum round trip. Below it a lull costs less than the client's handling of a response.
RTT_MIN_NS: Final = 5_000_000
#: Maximum idle time in round trips. A longer one is server or client time, not path time.
IDLE_RTTS_MAX: Final = 2.0
#: Maximum reaction time of a client with a ready request: the larger of a Linux time slice at 100 Hz and a
#: quarter of the round trip.
REACTION_MAX_NS: Final = 10_000_000
REACTION_RTT_SHARE: Final = 0.25
#: Minimum loss and share for severity ``error``, as for other findings.
ERROR_LOST_MIN_NS: Final = 5_000_000
ERROR_SHARE_MIN: Final = 0.05
#: Confidence that a chain of requests is no chain of dependences: high if a document had named the objects
#: before.
CONFIDENCE_NAMED: Final = 0.9
CONFIDENCE_UNNAMED: Final = 0.6
#: Window if the first flight was not captured: the minimum of RFC 5681, section 3.1, for window and segment.
WINDOW_UNSEEN_SEGMENTS: Final = 2
SEGMENT_UNSEEN_BYTES: Final = 536
#: Window if the first response fits in its first flight: the initial window of RFC 6928, section 2, at most
#: the window shown later.
WINDOW_UNFILLED_SEGMENTS: Final = 10
#: Minimum idle share of each parallel connection. Below it the connections may fill the path together.
IDLE_SHARE_MIN: Final = 0.5
#: Methods that a client may repeat and therefore pipeline (RFC 9112, section 9.3.2).
_IDEMPOTENT: Final = ("GET", "HEAD")
REMEDY: Final = (
    "HTTP/2, which sends all requests at once (nginx: http2 on; Apache httpd: Protocols h2 http/1.1);"
    " or several connections in parallel; or fewer objects"
)
#: Remedy for pages that already use HTTP/2.
REMEDY_OF_H2: Final = (
    "the client waits although HTTP/2 allows concurrent requests: start them together, and name objects early"
    " (Link: rel=preload, 103 Early Hints); or fewer objects"
)


def find(
    tables: Mapping[str, pl.DataFrame], *, lulls_min: int = LULLS_MIN, rtt_min_ns: int = RTT_MIN_NS
) -> pl.LazyFrame:
    """Return the pages with serial requests over an idle path; see :class:`Detector`."""
    import polars as pl

    members = _members(tables, _clients(tables, lulls_min=lulls_min, rtt_min_ns=rtt_min_ns))
    before = pl.col("end").shift(1).over("flow")
    idle = (pl.col("response_first_time") - before).dt.total_nanoseconds()
    rtt = _rtt_ns()
    # The client sent the request one part of the path before the capture point.
    far = pl.col("client_path_rtt").dt.total_nanoseconds().fill_null(0)
    reaction = (pl.col("request_time") - before).dt.total_nanoseconds() - far
    is_ready = reaction <= pl.max_horizontal(pl.lit(REACTION_MAX_NS), rtt * REACTION_RTT_SHARE)

    # Necessary requests: the first one released by the end of the base document, and dependences.
    is_of_page = pl.col("retrieval") == pl.col("retrieval").shift(1).over("flow")
    follows_base = (pl.col("how").cast(pl.String) == "base").shift(1).over("flow")
    is_caused = (pl.col("initiator_flow") == pl.col("flow")) & (
        pl.col("initiator_transaction") + 1 == pl.col("transaction")
    )
    is_named = pl.col("known") <= before
    is_idempotent = pl.col("method").is_in(_IDEMPOTENT) & pl.col("method").shift(1).over("flow").is_in(_IDEMPOTENT)
    lulls = (
        _alone(members.with_columns(idle_from=before))
        .with_columns(idle=idle, rtt=rtt, is_named=is_named)
        .filter(
            is_of_page,
            ~follows_base,
            ~is_caused.fill_null(value=False),
            is_idempotent,
            is_ready,
            pl.col("is_named").fill_null(value=True),
            pl.col("rtt") >= rtt_min_ns,
            pl.col("idle").is_between(pl.col("rtt") * 0.5, pl.col("rtt") * IDLE_RTTS_MAX),
        )
    )
    is_chain = (pl.col("lulls") >= lulls_min) & (pl.col("lost") > 0)
    alone = _of_page(lulls.filter("is_alone"), members, tables).filter(is_chain)
    # Streams share a connection: the wait of one stream is no idle time of the connection.
    of_http1 = lulls.filter(~pl.col("is_h2"))
    side_by_side = _side_by_side(_of_page(of_http1, members, tables).filter(is_chain), members)
    others = side_by_side.join(alone, on="retrieval", how="anti", maintain_order="left")
    return _told(_of_url(pl.concat([alone, others], how="diagonal_relaxed")))


def _rtt_ns() -> pl.Expr:
    """Return the round trip of a flow."""
    import polars as pl

    return pl.coalesce(pl.col("server_path_rtt") + pl.col("client_path_rtt"), "initial_rtt").dt.total_nanoseconds()


def _clients(tables: Mapping[str, pl.DataFrame], *, lulls_min: int, rtt_min_ns: int) -> pl.DataFrame:
    """Return the clients that have a page with a long enough chain on one connection."""
    import polars as pl

    # The document and the first object have no lull.
    has_chain = pl.col("transactions") >= lulls_min + 2
    pages = tables["retrievals"].lazy().filter(has_chain).select("retrieval", "client")
    far = tables["flows"].lazy().filter(_rtt_ns() >= rtt_min_ns).select("flow")
    return (
        tables["retrieval_transactions"]
        .lazy()
        .join(far, on="flow", how="semi")
        .group_by("retrieval", "flow")
        .len()
        # Each lull lies between two of them.
        .filter(pl.col("len") > lulls_min)
        .join(pages, on="retrieval", how="inner")
        .select("client")
        .unique()
        .collect()
    )


def _of_page(lulls: pl.LazyFrame, members: pl.LazyFrame, tables: Mapping[str, pl.DataFrame]) -> pl.LazyFrame:
    """Return the lulls of each page and connection. Nothing else was in progress, so all delay the page."""
    import polars as pl

    # Concurrent requests form one transfer, which slow start sends in rounds (Kruse, section 5.1). The first
    # round is necessary and not among the lulls; the others are idle time. The ACKs of the first flight have
    # doubled the window.
    requested = members.group_by("retrieval", "flow").agg(
        rounds=(pl.col("response_wire_bytes").slice(1).sum() / _window() + 1).log(2).ceil().first()
    )
    pages = (
        tables["retrievals"].lazy().select("retrieval", "client", "url", "elapsed", page_confidence="confidence")
    )
    return (
        lulls.group_by("retrieval", "flow", maintain_order=True)
        .agg(
            lulls=pl.len(),
            idle=pl.min_horizontal("idle", "rtt").sum(),
            rtt=pl.col("rtt").median(),
            named=pl.col("is_named").sum(),
            start=pl.col("idle_from").min(),
            first_frame=pl.col("request_frame").min(),
            last_frame=pl.col("response_first_frame").max(),
            requests=pl.col("transaction").cast(pl.String),
            is_h2=pl.col("is_h2").any(),
        )
        .join(requested, on=["retrieval", "flow"], how="left")
        .join(pages, on="retrieval", how="left")
        .with_columns(lost=pl.col("idle") - (pl.col("rounds") - 1).clip(0) * pl.col("rtt"))
    )


def _side_by_side(chains: pl.LazyFrame, members: pl.LazyFrame) -> pl.LazyFrame:
    """Return the pages with chains on several parallel connections that were idle for most of the time.

    Without its lulls each connection would have ended earlier. The page ends with the last connection, or
    with the transactions that waited for it.
    """
    import polars as pl

    ends = members.group_by("retrieval", "flow").agg(
        over=pl.col("end").max().to_physical(), begun=pl.col("request_time").min().to_physical()
    )
    is_chain = pl.col("lulls").is_not_null()
    by_loss = pl.col("start", "first_frame", "last_frame", "requests").sort_by(
        "lost", descending=True, nulls_last=True
    )
    in_use = (pl.col("over") - pl.col("begun")).filter(is_chain).sum()
    return (
        ends.join(chains, on=["retrieval", "flow"], how="left")
        .filter(pl.col("begun") < pl.col("over").filter(is_chain).max().over("retrieval"))
        .sort("retrieval", "flow")
        .group_by("retrieval", maintain_order=True)
        .agg(
            by_loss.first(),
            pl.col("client", "url", "elapsed", "page_confidence", "is_h2").drop_nulls().first(),
            pl.col("lulls", "named").sum(),
            pl.col("rtt").median(),
            connections=is_chain.sum(),
            is_idle=pl.col("lost").sum() >= in_use * IDLE_SHARE_MIN,
            lost=pl.col("over").max() - (pl.col("over") - pl.col("lost").fill_null(0)).max(),
        )
        .filter(pl.col("connections") > 1, pl.col("lost") > 0, pl.col("is_idle"))
        .drop("is_idle")
    )


def _window() -> pl.Expr:
    """Return the server's window after the ACKs of its first flight on the connection."""
    import polars as pl

    first = pl.col("initial_window_segments")
    segment_bytes = pl.col("segment_bytes").fill_null(SEGMENT_UNSEEN_BYTES)
    shown = pl.min_horizontal("largest_window_segments", pl.lit(WINDOW_UNFILLED_SEGMENTS))
    window = (
        pl.when(pl.col("first_bytes") <= first * segment_bytes)
        .then(pl.max_horizontal(first, shown))
        .otherwise(first)
    )
    return window.fill_null(WINDOW_UNSEEN_SEGMENTS) * 2 * segment_bytes


def _of_url(pages: pl.LazyFrame) -> pl.LazyFrame:
    """Return one row for all retrievals of a page by a client. The frames come from the worst retrieval."""
    import polars as pl

    by_loss = pl.col("start", "first_frame", "last_frame", "retrieval", "requests").sort_by(
        "lost", descending=True
    )
    return (
        pages.sort("retrieval", "flow")
        .group_by("client", "url", maintain_order=True)
        .agg(
            by_loss.first(),
            pl.col("lulls", "named", "lost").sum(),
            pl.col("page_confidence").mean(),
            pl.col("rtt").median(),
            pl.col("is_h2").any(),
            flow=pl.when(pl.col("flow").n_unique() == 1).then(pl.col("flow").first()),
            pages=pl.col("retrieval").n_unique(),
            connections=pl.col("connections").max(),
            elapsed=pl.col("elapsed").sum(),
        )
    )


def _members(tables: Mapping[str, pl.DataFrame], clients: pl.DataFrame) -> pl.LazyFrame:
    """Return the page transactions of ``clients`` by connection and time, with their columns of the other
    tables.
    """
    import polars as pl

    about_path = ("server_path_rtt", "client_path_rtt", "initial_rtt")
    about_window = ("initial_window_segments", "largest_window_segments", "segment_bytes")
    of_flow = tables["flows"].lazy().filter(pl.col("client").is_in(clients["client"].implode()))
    of_flow = of_flow.select("flow", "client", *about_path, *about_window)
    shown = ("method", "request_frame", "response_first_frame", "response_first_time", "response_wire_bytes")
    is_h2 = (pl.col("protocol").cast(pl.String) == "h2").fill_null(value=False)
    of_transaction = tables["transactions"].lazy().select("flow", *shown, transaction="index", is_h2=is_h2)
    return (
        tables["retrieval_transactions"]
        .lazy()
        .join(of_flow, on="flow", how="inner", maintain_order="left")
        .join(of_transaction, on=["flow", "transaction"], how="left")
        .with_columns(first_bytes=pl.col("response_wire_bytes").filter(transaction=0).first().over("flow"))
        .sort("flow", "transaction")
    )


def _alone(members: pl.LazyFrame) -> pl.LazyFrame:
    """Add whether no other transaction of the client was in progress from ``idle_from`` to the response."""
    import polars as pl

    # Transactions by their request: how many had begun by then, and when the last of them ended.
    begun = (
        members.sort("client", "request_time")
        .select(
            "client",
            at="request_time",
            begun=pl.int_range(1, pl.len() + 1).over("client"),
            until=pl.col("end").cum_max().over("client"),
        )
        .sort("at", maintain_order=True)
    )
    numbered = members.with_row_index("row")

    def begun_by(time: str, names: tuple[str, str]) -> pl.LazyFrame:
        return (
            numbered.select("row", "client", at=pl.col(time))
            .drop_nulls()
            .sort("at")
            .join_asof(begun, on="at", by="client", strategy="backward", check_sortedness=False)
            .select("row", pl.col("begun").alias(names[0]), pl.col("until").alias(names[1]))
        )

    # The previous transaction ends at idle_from, and no other one begins before this response.
    is_alone = (pl.col("over_until") <= pl.col("idle_from")) & (
        pl.col("begun_later") == pl.col("begun_before") + 1
    )
    return (
        numbered.join(begun_by("idle_from", ("begun_before", "over_until")), on="row", how="left")
        .join(begun_by("response_first_time", ("begun_later", "_")), on="row", how="left")
        .with_columns(is_alone=is_alone)
        .sort("flow", "transaction")
    )


def _told(chains: pl.LazyFrame) -> pl.LazyFrame:
    """Return the findings with their texts."""
    import polars as pl

    is_error = (pl.col("lost") >= ERROR_LOST_MIN_NS) & (
        pl.col("lost") >= pl.col("elapsed").dt.total_nanoseconds() * ERROR_SHARE_MIN
    )
    milliseconds = (pl.col("rtt") / 1e6).round(1)
    is_alone = pl.col("connections").is_null()
    return chains.select(
        "flow",
        "start",
        "first_frame",
        "last_frame",
        transaction=pl.lit(None, pl.UInt32),
        lost=pl.col("lost").cast(pl.Int64).cast(pl.Duration("ns")),
        confidence=pl.when(pl.col("named") == pl.col("lulls"))
        .then(CONFIDENCE_NAMED * pl.col("page_confidence"))
        .otherwise(CONFIDENCE_UNNAMED),
        severity=pl.when(is_error).then(pl.lit("error")).otherwise(pl.lit("warning")),
        cause=pl.lit("network.propagation"),
        summary=pl.format(
            "{} requests of the page {} ({}) each waited for the previous response, with {} idle for a"
            " round trip of {} ms",
            "lulls",
            "url",
            times("pages"),
            pl.when(is_alone).then(pl.lit("the path")).otherwise(pl.lit("their connection")),
            milliseconds,
        ),
        evidence=pl.format(
            "retrieval {}, transactions {}; {}",
            "retrieval",
            pl.col("requests").list.join(", "),
            pl.when(is_alone)
            .then(pl.lit("no other transaction of the client was in progress"))
            .otherwise(pl.format("the longest of the chains on {} parallel connections", "connections")),
        ),
        remedy=pl.when("is_h2").then(pl.lit(REMEDY_OF_H2)).otherwise(pl.lit(REMEDY)),
    )
