"""Responses that waited again and again for one window or buffer, as the waits tell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tcptrace_http.detectors._recoveries import ms
from tcptrace_http.detectors._wording import times

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import timedelta

    import polars as pl

__all__ = ["limited"]


def limited(
    tables: Mapping[str, pl.DataFrame], cause: str, *, what: str, lost_min: timedelta, waits_min: int
) -> pl.LazyFrame:
    """One row per transaction with at least so many waits of this ``cause``, and the profile of its server.

    ``what`` names in the summary what the response waited for; ``lost`` is the sum of the waits.
    """
    import polars as pl

    is_of_server = pl.col("direction").cast(pl.String) == "server_to_client"
    profiles = tables["profiles"].lazy().filter(is_of_server).drop("direction")
    return (
        tables["waits"]
        .lazy()
        .filter(pl.col("cause").cast(pl.String) == cause)
        .group_by("flow", "transaction", maintain_order=True)
        .agg(
            pl.col("start", "first_frame").first(),
            pl.col("last_frame").last(),
            pl.col("confidence").mean(),
            lost=(pl.col("end") - pl.col("start")).sum(),
            waits=pl.len(),
        )
        .filter(pl.col("waits") >= waits_min, pl.col("lost") >= lost_min)
        .join(profiles, on="flow", how="left", maintain_order="left")
        .with_columns(
            cause=pl.lit(cause),
            summary=pl.format(
                "the response waited {} for {}, {} ms in all", times("waits"), pl.lit(what), ms("lost")
            ),
        )
    )
