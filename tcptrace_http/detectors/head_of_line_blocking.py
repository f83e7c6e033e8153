"""The response to a pipelined request waits behind an earlier one that the server is slow to make.

What it does
------------
Finds requests that were sent while an earlier one on their connection was unanswered, and whose response
came only behind that one's, which took the server a while.

Why it is bad
-------------
HTTP/1.1 answers in the order of the requests. One slow answer holds back all that stand behind it, however
soon they could be given, and the connection is idle meanwhile.

Evidence
--------
The time that the server took until the earlier response began (its ``server.think``), from when the later
one could have been there: its own request, the round trip to the server, and what the server takes for a
request that stands behind none. That is the median of the others on the flow, or what it took once the
earlier response was over, whichever is more. Time in which the earlier response was on its way, with pauses
or without, is not counted: the later one would have had to share the path with it.

Fix
---
HTTP/2 (nginx: ``http2 on;``, Apache httpd: ``Protocols h2 http/1.1``), which answers in any order; or ask
for what is slow over a connection of its own. Clients: do not pipeline behind dynamic responses (Apache
HttpClient, curl and browsers do not by default).

Reference
---------
RFC 9112, section 9.3.2; H. F. Nielsen et al., Network Performance Effects of HTTP/1.1, CSS1, and PNG
(SIGCOMM 1997); RFC 9113, section 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

__all__ = ["NEEDS", "READS", "find"]

READS: Final = ("waits",)
#: Which response is to which request, and when the client had the one before.
NEEDS: Final = ("both_directions",)

#: What is shorter is the order of the server's work, not one response that holds up another.
LOST_MIN_NS: Final = 5_000_000
#: Without another request on the flow to compare with, the later response may have taken as long itself.
CONFIDENCE_COMPARED: Final = 0.9
CONFIDENCE_ALONE: Final = 0.7
_SLOW: Final = "server.think"
REMEDY: Final = (
    "HTTP/2, which answers in any order (nginx: http2 on; Apache httpd: Protocols h2 http/1.1); or a connection"
    " of its own for what is slow; clients: no pipelining behind dynamic responses"
)


def find(tables: Mapping[str, pl.DataFrame], *, lost_min_ns: int = LOST_MIN_NS) -> pl.LazyFrame:
    """Responses that waited behind a slow one; see :class:`Detector`."""
    import polars as pl

    queued = _queued(tables)
    slow = (
        tables["waits"]
        .lazy()
        .filter(pl.col("cause").cast(pl.String) == _SLOW)
        .select("flow", slow_start="start", slow_end="end", blocking="transaction")
    )
    # Of an earlier response only the time in which it stood at the head of the line.
    lost = pl.min_horizontal("slow_end", "blocking_end") - pl.max_horizontal("slow_start", "possible", "at_head")
    return (
        queued.join(slow, on=["flow", "blocking"], how="inner")
        .with_columns(lost=lost.dt.total_nanoseconds().clip(0), took=pl.col("slow_end") - pl.col("slow_start"))
        .group_by("flow", "transaction", "blocking", maintain_order=True)
        .agg(
            # A response that took no longer than another is no slow one.
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
                "the response to {} waited {} ms behind the one to {}, which the server was slow to make;"
                " {} pipelined requests stood in line",
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
    """Pipelined requests with the response right before theirs, and when theirs was possible."""
    import polars as pl

    # Most flows have none in line, and need not be sorted.
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
            # A run of pipelined requests begins with the one that they are behind.
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
