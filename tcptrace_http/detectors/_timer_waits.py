"""Common part of the loss detectors: findings about waits for a timer.

The waits give the cost of a loss: they know the other reasons for which a message waits. The rows of
``recoveries`` say how the sender detected the loss. Consecutive waits form one finding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._wording import counted

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import timedelta

    import polars as pl

__all__ = ["sent_again", "timer_waits", "with_queue_text"]

#: A kernel drops the last ACK of a handshake if its accept queue is full, and sends its SYN-ACK again (Linux,
#: tcp_v4_syn_recv_sock: sk_acceptq_is_full).
_REMEDY_OF_QUEUE: Final = (
    "server: accept connections sooner (more workers), and a longer accept queue: the backlog of listen() (nginx"
    " listen backlog=, Apache ListenBacklog, gunicorn --backlog) and net.core.somaxconn; nstat counts"
    " ListenOverflows"
)
_PLACE = ("flow", "transaction")
_RUN = (*_PLACE, "run")


def timer_waits(
    tables: Mapping[str, pl.DataFrame], cause: str, kinds: list[str], *, lost_min: timedelta
) -> pl.LazyFrame:
    """Return one row per run of consecutive waits of ``cause`` that lost at least ``lost_min``.

    ``told`` is true if a recovery of one of these ``kinds`` is known in that time. The recovery columns come
    from the recovery with the longest silence. ``times`` counts the recoveries and ``segments`` their
    retransmitted segments. ``who`` names the sender and ``what`` the message. ``queue_frame`` is a SYN-ACK
    retransmitted meanwhile although already acknowledged.
    """
    import polars as pl

    runs = _runs(tables["waits"].lazy(), cause, lost_min)
    rows = (
        tables["recoveries"]
        .lazy()
        .filter(
            pl.col("kind").cast(pl.String).is_in(kinds),
            pl.col("transaction").is_not_null(),
        )
        .select(
            *(*_PLACE, "kind", "direction", "silence", "rtt", "original_frame", "resent_frame", "resent_segments"),
            *("skipped_identifications", "duplicate_acks"),
            was_lost=pl.col("spurious_by").cast(pl.String) == "none",
            begun="start",
            mended="end",
            hole_frame="first_frame",
            done_frame="last_frame",
        )
    )
    overlaps = (pl.col("begun") < pl.col("end")) & (pl.col("mended") > pl.col("start"))
    # If the answer was lost, its request was also retransmitted, in vain.
    worst = pl.all().exclude(_RUN).sort_by("was_lost", "silence", descending=True).first()
    told = (
        runs.select(*_RUN, "start", "end")
        .join(rows, on=_PLACE, how="inner", maintain_order="left")
        .filter(overlaps)
        .drop("start", "end")
        .group_by(_RUN, maintain_order=True)
        .agg(worst, times=pl.len(), segments=pl.col("resent_segments").sum())
    )
    # A spurious retransmission waited for a late ACK, not for the detection of a loss.
    is_response = pl.col("direction").cast(pl.String) == "server_to_client"
    return (
        runs.filter(pl.col("lost") >= lost_min)
        .join(told, on=_RUN, how="left", maintain_order="left")
        .filter(pl.col("was_lost").fill_null(value=True))
        .join(_synacks_again(tables), on="flow", how="left", maintain_order="left")
        .with_columns(queue_frame=pl.when(pl.col("queue_time").is_between("start", "end")).then("queue_frame"))
        .with_columns(
            told=pl.col("kind").is_not_null(),
            first_frame=pl.coalesce("hole_frame", "first_frame"),
            last_frame=pl.coalesce("done_frame", "last_frame"),
            who=pl.when(is_response)
            .then(pl.lit("server"))
            .when(~is_response)
            .then(pl.lit("client"))
            .otherwise(pl.lit("sender")),
            what=pl.when(is_response)
            .then(pl.lit("response"))
            .when(~is_response)
            .then(pl.lit("request"))
            .otherwise(pl.lit("message")),
        )
    )


def sent_again() -> pl.Expr:
    """Return the number of retransmitted segments of a finding, as a text inside a list; empty if unknown."""
    import polars as pl

    return pl.format("{} in all; ", counted("segments", "segment")).fill_null("")


def _synacks_again(tables: Mapping[str, pl.DataFrame]) -> pl.LazyFrame:
    """Return each flow's first SYN-ACK that was retransmitted although already acknowledged."""
    import polars as pl

    is_again = pl.col("kind").cast(pl.String) == "syn_retransmission"
    is_of_server = pl.col("direction").cast(pl.String) == "server_to_client"
    is_acknowledged = pl.col("spurious_by").cast(pl.String) == "acknowledged"
    again = tables["recoveries"].lazy().filter(is_again, is_of_server, is_acknowledged)
    return again.group_by("flow").agg(
        queue_time=pl.col("start").first(), queue_frame=pl.col("resent_frame").first()
    )


def with_queue_text(findings: pl.LazyFrame) -> pl.LazyFrame:
    """Return the findings, with the text about a full accept queue where a request met one."""
    import polars as pl

    is_of_queue = pl.col("queue_frame").is_not_null()
    told = pl.format(
        "{}: the server sent its SYN-ACK again in frame {} though it had been acknowledged, as it does while its"
        " accept queue is full",
        "summary",
        "queue_frame",
    )
    return findings.with_columns(
        summary=pl.when(is_of_queue).then(told).otherwise("summary"),
        remedy=pl.when(is_of_queue).then(pl.lit(_REMEDY_OF_QUEUE)).otherwise("remedy"),
    )


def _runs(waits: pl.LazyFrame, cause: str, apart_max: timedelta) -> pl.LazyFrame:
    """Return the waits of ``cause``, one row per run of a transaction with gaps of at most ``apart_max``."""
    import polars as pl

    follows = pl.col("start") - pl.col("end").shift(1) <= apart_max
    return (
        waits.filter(pl.col("cause").cast(pl.String) == cause, pl.col("transaction").is_not_null())
        .sort(*_PLACE, "start")
        .with_columns(run=(~follows.over(_PLACE)).fill_null(value=True).cum_sum().over(_PLACE))
        .group_by(_RUN, maintain_order=True)
        .agg(
            pl.col("start", "first_frame").first(),
            pl.col("end", "last_frame").last(),
            pl.col("confidence").sort_by(pl.col("end") - pl.col("start")).last(),
            lost=(pl.col("end") - pl.col("start")).sum(),
        )
    )
