"""Comparisons as frames, for tables, CSV and Parquet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reference_sim.reproduction.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from reference_sim.reproduction.runner import Outcome
    from reference_sim.reproduction.verdict import Comparison

__all__ = ["comparisons_frame", "counts", "summary_frame"]


def comparisons_frame(outcome: Outcome) -> pl.DataFrame:
    """Return one row per figure: published range (a single figure twice), ours, verdict."""
    import polars as pl

    schema = {
        "claim": pl.String,
        "what": pl.String,
        "unit": pl.String,
        "published_low": pl.Float64,
        "published_high": pl.Float64,
        "ours": pl.Float64,
        "ours_low": pl.Float64,
        "ours_high": pl.Float64,
        "ratio": pl.Float64,
        "distance": pl.Float64,
        "tolerance": pl.Float64,
        "shape_tolerance": pl.Float64,
        "is_absolute": pl.Boolean,
        "verdict": pl.String,
    }
    rows = [_row(outcome.claim.id, one) for one in outcome.judgement.comparisons]
    return pl.DataFrame(rows, schema=schema)


def _row(claim: str, one: Comparison) -> dict[str, Any]:
    low, high = one.published if isinstance(one.published, tuple) else (one.published, one.published)
    return {
        "claim": claim,
        "what": one.what,
        "unit": one.unit,
        "published_low": float(low),
        "published_high": float(high),
        "ours": float(one.ours.value),
        "ours_low": one.ours.low,
        "ours_high": one.ours.high,
        "ratio": one.ratio,
        "distance": float(one.distance),
        "tolerance": float(one.tolerance),
        "shape_tolerance": float(one.shape_tolerance),
        "is_absolute": one.absolute,
        "verdict": str(one.verdict),
    }


def counts(verdicts: Sequence[Verdict]) -> dict[Verdict, int]:
    """Return the count per verdict, the best first."""
    return {verdict: verdicts.count(verdict) for verdict in Verdict}


def summary_frame(outcomes: Sequence[Outcome]) -> pl.DataFrame:
    """Return one row per claim."""
    import polars as pl

    rows = []
    for outcome in outcomes:
        of = counts([one.verdict for one in outcome.judgement.comparisons])
        rows.append(
            {
                "claim": outcome.claim.id,
                "paper": outcome.claim.paper,
                "where": outcome.claim.where,
                "system": outcome.claim.system,
                "verdict": str(outcome.judgement.verdict),
                "is_uncertain": outcome.is_uncertain,
                "seeds": outcome.seeds,
                "seeds_agreeing": outcome.agreeing,
                "figures": sum(of.values()),
                "figures_reproduced": of[Verdict.REPRODUCED],
                "figures_in_shape": of[Verdict.REPRODUCED_IN_SHAPE],
                "figures_not_reproduced": of[Verdict.NOT_REPRODUCED],
                "rule": outcome.judgement.rule,
                "remarks": outcome.judgement.remarks,
            }
        )
    return pl.DataFrame(rows)
