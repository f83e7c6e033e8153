"""The response to a pipelined request waits behind an earlier, slow response.

What it does
------------
Finds requests that were sent before the response to an earlier request on their connection. Their response
came behind the earlier, slow response.

Why it is bad
-------------
HTTP/1.1 answers in the order of the requests. One slow response holds back all later responses, even finished
ones. The connection is idle meanwhile.

Evidence
--------
The server's time for the earlier response (its ``server.think``), from the earliest time at which the later
response was possible. The later response needs its own request, the round trip to the server, and the
server's time for a single request. That time is the median of the other requests on the flow. If the time
after the end of the earlier response is longer, that time counts. The transfer time of the earlier response
does not count, with or without pauses: the later response would share the path with it.

Fix
---
HTTP/2 (nginx: ``http2 on;``, Apache httpd: ``Protocols h2 http/1.1``), which answers in any order; or request
slow resources over a separate connection. Clients: do not pipeline behind dynamic responses (Apache
HttpClient, curl and browsers do not by default).

Reference
---------
RFC 9112, section 9.3.2; H. F. Nielsen et al., Network Performance Effects of HTTP/1.1, CSS1, and PNG (SIGCOMM
1997); RFC 9113, section 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

__all__ = ["NEEDS", "READS", "find"]

READS: Final = ("waits",)
#: The detector matches responses to requests and needs the arrival time of the previous response.
NEEDS: Final = ("both_directions",)

#: Minimum loss. A shorter wait is the order of the server's work, not a slow response.
LOST_MIN_NS: Final = 5_000_000
#: Confidence with and without another request on the flow for comparison. Without one, the later response may
#: itself be slow.
CONFIDENCE_COMPARED: Final = 0.9
CONFIDENCE_ALONE: Final = 0.7
_SLOW: Final = "server.think"
REMEDY: Final = (
    "HTTP/2, which answers in any order (nginx: http2 on; Apache httpd: Protocols h2 http/1.1); or a separate"
    " connection for slow resources; clients: no pipelining behind dynamic responses"
)


def find(tables: Mapping[str, pl.DataFrame], *, lost_min_ns: int = LOST_MIN_NS) -> pl.LazyFrame:
    """Return the responses that waited behind a slow one; see :class:`Detector`."""
    import polars as pl

    queued = _queued(tables)
    slow = (
        tables["waits"]
        .lazy()
        .filter(pl.col("cause").cast(pl.String) == _SLOW)
        .select("flow", slow_start="start", slow_end="end", blocking="transaction")
    )
    # An earlier response counts only for the time at the head of the line.
    lost = pl.min_horizontal("slow_end", "blocking_end") - pl.max_horizontal("slow_start", "possible", "at_head")
    return (
        queued.join(slow, on=["flow", "blocking"], how="inner")
        .with_columns(lost=lost.dt.total_nanoseconds().clip(0), took=pl.col("slow_end") - pl.col("slow_start"))
        .group_by("flow", "transaction", "blocking", maintain_order=True)
        .agg(
            # A response that took no longer than another is not slow.
            pl.min_horizontal(
                pl.col("lost").sum(), pl.col("took").sum().dt.total_nanoseconds() - pl.col("needed").first()
            ).alias("lost"),
            pl.col(
                "like", "possible", "target", "blocking_target", "request_frame", "response_first_frame"
            ).first(),
            pl.col("blocking_frame", "behind").first(),
        )
        .filter(pl.col("lost") >= lost_min_ns)
        .select(
            "flow",
            "transaction",
            first_frame="request_frame",
            last_frame="response_first_frame",
            start="possible",
            lost=pl.col("lost").cast(pl.Duration("ns")),
            confidence=pl.when(pl.col("like").is_not_null()).then(CONFIDENCE_COMPARED).otherwise(CONFIDENCE_ALONE),
            cause=pl.lit("client.head_of_line"),
            summary=pl.format(
                "the response to {} waited {} ms behind the one to {}, which the server made slowly;"
                " {} pipelined requests waited in line",
                "target",
                (pl.col("lost") / 1e6).round(1),
                "blocking_target",
                "behind",
            ),
            evidence=pl.format(
                "pipelined in frame {}, answered in frame {} behind the response that begins in frame {}",
                "request_frame",
                "response_first_frame",
                "blocking_frame",
            ),
            remedy=pl.lit(REMEDY),
        )
    )


def _queued(tables: Mapping[str, pl.DataFrame]) -> pl.LazyFrame:
    """Return the pipelined requests with the response before theirs, and the time when their own was possible."""
    import polars as pl

    # Most flows have no pipelined request and need no sort.
    pipelining = tables["transactions"].lazy().filter("pipelined").select("flow").unique()
    thinks = (
        tables["waits"]
        .lazy()
        .filter(pl.col("cause").cast(pl.String) == _SLOW)
        .join(pipelining, on="flow", how="semi", maintain_order="left")
        .group_by("flow", "transaction")
        .agg(think=(pl.col("end") - pl.col("start")).sum())
    )
    path = tables["flows"].lazy().select("flow", path=pl.col("server_path_rtt").fill_null(pl.duration()))
    end = pl.col("response_last_time")
    is_slow_one = pl.col("pipelined").shift(-1).over("flow").fill_null(value=False)
    in_line = (
        tables["transactions"]
        .lazy()
        .join(pipelining, on="flow", how="semi", maintain_order="left")
        .sort("flow", "index")
        .join(thinks, left_on=["flow", "index"], right_on=["flow", "transaction"], how="left")
        .join(path, on="flow", how="left")
        .sort("flow", "index")
        .with_columns(
            blocking=pl.col("index").shift(1).over("flow"),
            blocking_end=end.shift(1).over("flow"),
            blocking_target=pl.col("target").shift(1).over("flow"),
            blocking_frame=pl.col("response_first_frame").shift(1).over("flow"),
            at_head=pl.coalesce(end.shift(2).over("flow"), pl.col("request_time").shift(1).over("flow")),
            # A run of pipelined requests begins with the request before the first pipelined one.
            run=(~pl.col("pipelined")).cum_sum().over("flow"),
            like=pl.when(~pl.col("pipelined") & ~is_slow_one).then("think").median().over("flow"),
        )
        .with_columns(behind=pl.col("pipelined").sum().over("flow", "run"))
    )
    own = (pl.col("response_first_time") - pl.col("blocking_end")).clip(pl.duration())
    needed = pl.max_horizontal(own, pl.col("like").fill_null(pl.duration()))
    return (
        in_line.filter(pl.col("pipelined"), pl.col("response_first_time") >= pl.col("blocking_end"))
        .with_columns(
            possible=pl.col("request_last_time") + pl.col("path") + needed, needed=needed.dt.total_nanoseconds()
        )
        .rename({"index": "transaction"})
    )
