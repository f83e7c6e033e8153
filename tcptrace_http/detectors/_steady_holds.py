"""Whether pauses follow their ACKs steadily, or keep a time of their own as an application does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from datetime import timedelta

    import polars as pl

__all__ = ["RELEASE_USUAL_NS", "STEADY_COUNT_MIN", "STEADY_RATIO_MAX", "is_steady"]

#: Within this it follows on all but a busy host; one that is later may be a coincidence.
RELEASE_USUAL_NS: Final = 2_000_000
#: By so much of the path data may come too early: that is the least round trip that was seen.
_EARLY_RTT_SHARE: Final = 0.05
#: Pauses that it takes to tell think time by how it varies, and the variation that tells: measured
#: 0.00 to 0.49 for stalls and 0.78 to 157 for pauses of the application.
STEADY_COUNT_MIN: Final = 5
STEADY_RATIO_MAX: Final = 0.7
#: Less variation than this is the noise of a host and tells nothing; and data that comes so close behind
#: a delayed ACK, more often than not, was released by it however much a busy host spreads the rest.
STEADY_NOISE_NS: Final = 500_000
#: ... and so is a small share of the path, as which it is known, where it is one of what was lost each time, too:
#: a timer makes that always the same. Holds had 0.00 to 0.05 of that, chance 1.1 and more.
STEADY_LOST_SHARE_MAX: Final = 0.1


def is_steady(lost_min: timedelta, steady_ratio_max: float) -> pl.Expr:
    """Whether the pauses of a flow and a cause follow their ACKs, and not a time of their own."""
    import polars as pl

    distance = pl.col("ack_to_release").dt.total_nanoseconds()
    lost = pl.col("lost").dt.total_nanoseconds()
    # Between the quartiles: one late segment on a busy host says nothing.
    varies = distance.quantile(0.75) - distance.quantile(0.25)
    pauses_vary = lost.quantile(0.75) - lost.quantile(0.25)
    ratio = varies / pauses_vary
    is_close = distance.abs().median() <= STEADY_NOISE_NS
    # Delayed ACKs of one timer make pauses that are alike: there is nothing to compare the distances with.
    are_alike = pl.max_horizontal(varies, pauses_vary) <= RELEASE_USUAL_NS
    typical = lost.filter(pl.col("lost") >= lost_min).median()
    return (
        (pl.len() < STEADY_COUNT_MIN)
        | (ratio <= steady_ratio_max)
        | (varies <= STEADY_NOISE_NS)
        | (
            varies
            <= pl.min_horizontal(STEADY_LOST_SHARE_MAX * typical, _EARLY_RTT_SHARE * pl.col("rtt_ns").median())
        )
        | ((is_close | are_alike) & (pl.col("cause").first() == "stall.nagle_delayed_ack"))
    )
