"""Messages that waited repeatedly for one window or buffer, from the waits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tcptrace_http.detectors._holds import with_hosts
from tcptrace_http.detectors._recoveries import ms
from tcptrace_http.detectors._wording import times

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import timedelta

    import polars as pl

__all__ = ["limited"]


def limited(
    tables: Mapping[str, pl.DataFrame],
    causes: Sequence[str],
    *,
    room: pl.Expr,
    lost_min: timedelta,
    waits_min: int,
) -> pl.LazyFrame:
    """Return one row per message with at least ``waits_min`` waits of ``causes``, with the profile of its
    sender.

    ``room`` is the name of the window or buffer in the summary, from columns of ``with_hosts``. ``lost`` is
    the sum of the waits.
    """
    import polars as pl

    return (
        tables["waits"]
        .lazy()
        .with_columns(pl.col("cause").cast(pl.String))
        .filter(pl.col("cause").is_in(causes))
        .group_by("flow", "transaction", "direction", "cause", maintain_order=True)
        .agg(
            pl.col("start", "first_frame").first(),
            pl.col("last_frame").last(),
            pl.col("released_by").drop_nulls().first(),
            pl.col("constraint").cast(pl.String).last(),
            pl.col("confidence").mean(),
            lost=(pl.col("end") - pl.col("start")).sum(),
            waits=pl.len(),
        )
        .filter(pl.col("waits") >= waits_min, pl.col("lost") >= lost_min)
        .join(tables["profiles"].lazy(), on=["flow", "direction"], how="left", maintain_order="left")
        .pipe(with_hosts)
        .with_columns(
            summary=pl.format("the {} waited {} for {}, {} ms in all", "what", times("waits"), room, ms("lost")),
        )
    )
