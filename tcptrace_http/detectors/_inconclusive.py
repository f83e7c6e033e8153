"""Detectors without a judgement, with the reason: flows that lack a needed property."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tcptrace_http.detectors._detector import NEEDS, flaws_that_spoil
from tcptrace_http.schema import TABLES, polars_schema

if TYPE_CHECKING:
    from collections.abc import Iterable

    import polars as pl

    from tcptrace_http.detectors._detector import Detector

__all__ = ["inconclusive"]


def inconclusive(detectors: Iterable[Detector], flaws: pl.DataFrame, findings: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of ``schema.TABLES["inconclusive"]``.

    They are HTTP and TLS flows without a finding of a detector, whose flaw spoils a need of that detector.
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
    found = findings.lazy().select("detector", "flow").drop_nulls().unique()
    has_found = pl.col("detector").is_in(findings["detector"].unique().implode())
    counts = (pl.len().cast(pl.UInt32).alias("flows"), pl.col("flow").min())
    # Only detectors with findings need a look at single flows: the flows may be very many.
    of_all = needs.lazy().filter(~has_found).join(flawed.group_by("flaw").agg(counts), on="flaw")
    of_others = (
        flawed.join(needs.lazy().filter(has_found), on="flaw")
        .join(found, on=["detector", "flow"], how="anti")
        .group_by("detector", "flaw", "because", "reason")
        .agg(counts)
    )
    columns = list(polars_schema(TABLES["inconclusive"]))
    return pl.concat([of_all.select(columns), of_others.select(columns)]).sort("detector", "because").collect()
