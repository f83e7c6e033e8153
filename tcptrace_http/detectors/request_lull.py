"""Requests of a page go one after the other over an idle connection, each a round trip apart.

What it does
------------
Finds pages whose transactions follow each other on a persistent connection so that the client asks for
the next object only when the one before it is whole, while nothing else of that client is in progress, or so on
several connections side by side.

Why it is bad
-------------
Between the last byte of a response and the first of the next one the path is idle for a round trip.
Objects that the base document had named long before wait for each other; a page of thirty small objects
takes thirty round trips that nothing is sent in.

Evidence
--------
The idle periods: last byte of a response to the first of the next, on one connection, without any other
transaction of the client in progress, of at most twice the round trip. Lost is the round trip of each, at
most the idle time. What must stay is not counted: the first request after the document that names the
object, every request whose initiator is the response before it, and the rounds of slow start in which all
responses together would have come. Of connections side by side, each of which was idle for
half its time, lost is how much sooner the last of them would have been over. Not said where the client took its
time before the request, where requests are not idempotent, or where the round trip is below 5 ms. Where
only time says that the transactions are of one page, one of them may need the answer before it: the
confidence says so.

Fix
---
HTTP/2 (nginx: ``listen 443 ssl; http2 on;``, Apache httpd: ``Protocols h2 http/1.1``, lighttpd:
``server.feature-flags += ("server.h2proto" => "enable")``), where all requests go at once; more parallel
connections (browsers open six); or fewer objects. Where it is HTTP/2 already, the client must ask without waiting:
all requests started together, and objects named early (``preload`` links, 103 Early Hints).

Reference
---------
H. Kruse, M. Allman, J. Griner, D. Tran, Experimentation and Modeling of HTTP Over Satellite Channels, 2001,
sections 3 and 5.1; J. C. Mogul, The Case for Persistent-Connection HTTP (SIGCOMM 1995); RFC 9112, section 9.3.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._wording import times

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

__all__ = ["NEEDS", "READS", "find"]

READS: Final = ("retrieval_transactions",)
#: Which response is to which request, and when the client had the one before.
NEEDS: Final = ("both_directions",)

#: A page with fewer lulls has no chain of requests; one may be a dependence that no evidence shows.
LULLS_MIN: Final = 2
#: Below this round trip a lull costs less than the client needs to handle a response.
RTT_MIN_NS: Final = 5_000_000
#: What is idle for longer is the server's time or the client's, not the path's.
IDLE_RTTS_MAX: Final = 2.0
#: A client that has its next request ready sends it this soon: the larger of a time slice of Linux at
#: 100 Hz and a quarter of the round trip.
REACTION_MAX_NS: Final = 10_000_000
REACTION_RTT_SHARE: Final = 0.25
#: As of other findings: time observably lost is an error from here on.
ERROR_LOST_MIN_NS: Final = 5_000_000
ERROR_SHARE_MIN: Final = 0.05
#: That a chain of requests is no chain of dependences: sure where a document named the objects before.
CONFIDENCE_NAMED: Final = 0.9
CONFIDENCE_UNNAMED: Final = 0.6
#: The window where the first flight was not captured: the least of RFC 5681, section 3.1, as is the segment.
WINDOW_UNSEEN_SEGMENTS: Final = 2
SEGMENT_UNSEEN_BYTES: Final = 536
#: The window where the first response was no longer than its first flight: as many as RFC 6928, section 2, lets a
#: connection begin with, if that is no more than it has shown since.
WINDOW_UNFILLED_SEGMENTS: Final = 10
#: Connections side by side may fill the path together, unless each is idle for so much of its time.
IDLE_SHARE_MIN: Final = 0.5
#: Methods that a client may send again and so may pipeline (RFC 9112, section 9.3.2).
_IDEMPOTENT: Final = ("GET", "HEAD")
REMEDY: Final = (
    "HTTP/2, where all requests go at once (nginx: http2 on; Apache httpd: Protocols h2 http/1.1);"
    " or several connections in parallel; or fewer objects"
)
#: Where it is HTTP/2 already.
REMEDY_OF_H2: Final = (
    "the client waits although HTTP/2 lets all requests go at once: start them together, and name objects early"
    " (Link: rel=preload, 103 Early Hints); or fewer objects"
)


def find(
    tables: Mapping[str, pl.DataFrame], *, lulls_min: int = LULLS_MIN, rtt_min_ns: int = RTT_MIN_NS
) -> pl.LazyFrame:
    """Pages with serial requests over an idle path; see :class:`Detector`."""
    import polars as pl

    members = _members(tables, _clients(tables, lulls_min=lulls_min, rtt_min_ns=rtt_min_ns))
    before = pl.col("end").shift(1).over("flow")
    idle = (pl.col("response_first_time") - before).dt.total_nanoseconds()
    rtt = _rtt_ns()
    # The client sent it a part of the path before it was seen.
    far = pl.col("client_path_rtt").dt.total_nanoseconds().fill_null(0)
    reaction = (pl.col("request_time") - before).dt.total_nanoseconds() - far
    is_ready = reaction <= pl.max_horizontal(pl.lit(REACTION_MAX_NS), rtt * REACTION_RTT_SHARE)

    # What must stay: the first request that the base document's end releases, and dependences.
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
    # Streams share a connection: that one of them waited is no idle time of it.
    of_http1 = lulls.filter(~pl.col("is_h2"))
    side_by_side = _side_by_side(_of_page(of_http1, members, tables).filter(is_chain), members)
    others = side_by_side.join(alone, on="retrieval", how="anti", maintain_order="left")
    return _told(_of_url(pl.concat([alone, others], how="diagonal_relaxed")))


def _rtt_ns() -> pl.Expr:
    """The round trip of a flow."""
    import polars as pl

    return pl.coalesce(pl.col("server_path_rtt") + pl.col("client_path_rtt"), "initial_rtt").dt.total_nanoseconds()


def _clients(tables: Mapping[str, pl.DataFrame], *, lulls_min: int, rtt_min_ns: int) -> pl.DataFrame:
    """The clients that have a page with a long enough chain on one connection; all others can be left out."""
    import polars as pl

    # The document and the first object have none.
    has_chain = pl.col("transactions") >= lulls_min + 2
    pages = tables["retrievals"].lazy().filter(has_chain).select("retrieval", "client")
    far = tables["flows"].lazy().filter(_rtt_ns() >= rtt_min_ns).select("flow")
    return (
        tables["retrieval_transactions"]
        .lazy()
        .join(far, on="flow", how="semi")
        .group_by("retrieval", "flow")
        .len()
        # Each lull is between two of them.
        .filter(pl.col("len") > lulls_min)
        .join(pages, on="retrieval", how="inner")
        .select("client")
        .unique()
        .collect()
    )


def _of_page(lulls: pl.LazyFrame, members: pl.LazyFrame, tables: Mapping[str, pl.DataFrame]) -> pl.LazyFrame:
    """The lulls of each page and connection: nothing else was in progress, so the page is later by all of them."""
    import polars as pl

    # All requests at once make one transfer, which slow start sends in rounds (Kruse, section 5.1). The first
    # of them must stay, and is not among the lulls; the others are idle time of their own. The ACKs of the
    # first flight had opened the window to twice that.
    asked = members.group_by("retrieval", "flow").agg(
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
        .join(asked, on=["retrieval", "flow"], how="left")
        .join(pages, on="retrieval", how="left")
        .with_columns(lost=pl.col("idle") - (pl.col("rounds") - 1).clip(0) * pl.col("rtt"))
    )


def _side_by_side(chains: pl.LazyFrame, members: pl.LazyFrame) -> pl.LazyFrame:
    """The pages with chains on several connections, which were idle for most of the time.

    Without its lulls each connection would have ended so much sooner, and the page with the last of them, or what
    waited for that.
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
    """What the server may have in flight after its first flight of the connection was acknowledged."""
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
    """One row for all retrievals of a page by a client; the frames are those of the worst."""
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
    """The transactions of pages of ``clients`` by connection and time, with what the other tables say of them."""
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
    """Adds whether nothing else of the client was in progress from ``idle_from`` to the response."""
    import polars as pl

    # Transactions by their request: how many had begun by then, and when the last of those ended.
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

    # The one before ends at idle_from itself, and this one is all that begins until its response.
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
    """The findings in words."""
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
            "{} requests of the page {} ({}) each waited for the whole response before, with {} idle for a"
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
            .otherwise(pl.format("the longest of the chains on {} connections side by side", "connections")),
        ),
        remedy=pl.when("is_h2").then(pl.lit(REMEDY_OF_H2)).otherwise(pl.lit(REMEDY)),
    )
