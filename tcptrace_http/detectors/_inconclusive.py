"""What could not be judged, and why: a detector, and the flows that lack what it needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tcptrace_http.detectors._detector import NEEDS, flaws_that_spoil
from tcptrace_http.schema import TABLES, polars_schema

if TYPE_CHECKING:
    from collections.abc import Iterable

    import polars as pl

    from tcptrace_http.detectors._detector import Detector

__all__ = ["inconclusive", "inconclusive_together"]


def inconclusive(detectors: Iterable[Detector], flaws: pl.DataFrame, findings: pl.DataFrame) -> pl.DataFrame:
    """The rows of ``schema.TABLES["inconclusive"]``: HTTP and TLS flows with a flaw that spoils what a detector
    needs, and in which it found nothing.
    """
    import polars as pl

    needs = pl.DataFrame(
        [
            (detector.name, flaw, flaw.replace("_", "-"), f"It needs {NEEDS[need].what}")
            for detector in detectors
            for need, flaw in zip(detector.needs, flaws_that_spoil(detector.needs), strict=True)
        ],
        schema=["detector", "flaw", "because", "reason"],
        orient="row",
        schema_overrides=dict.fromkeys(["detector", "flaw", "because", "reason"], pl.String),
    )
    flawed = flaws.lazy().filter("has_messages").select("flow", pl.col("flaw").cast(pl.String))
    unjudged = flawed.join(needs.lazy(), on="flaw").join(
        findings.lazy().select("detector", "flow"), on=["detector", "flow"], how="anti"
    )
    counted = unjudged.group_by("detector", "because", "reason").agg(
        flows=pl.len().cast(pl.UInt32), flow=pl.col("flow").min()
    )
    return counted.select(list(polars_schema(TABLES["inconclusive"]))).sort("detector", "because").collect()


def inconclusive_together(parts: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """The rows for a capture, from those of its parts, no flow of which is in two of them."""
    import polars as pl

    return (
        pl.concat(parts)
        .group_by("detector", "because", "reason")
        .agg(pl.col("flows").sum(), pl.col("flow").min())
        .select(list(polars_schema(TABLES["inconclusive"])))
        .sort("detector", "because")
    )
