"""Common parts of the object detectors: the transfer time of bytes, and one finding for several rows."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._gather import Gather

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

__all__ = [
    "BODIES",
    "EXPECTATIONS",
    "OBJECTS",
    "REDIRECTS",
    "REDUNDANT_BYTES_MIN",
    "REDUNDANT_TIME_MIN",
    "kilobytes",
    "milliseconds",
    "of_several",
    "severity",
    "shown",
    "time_of_bytes",
]

#: Tables that the core makes of all flows and bounds. Their rows come with the last part of a capture.
OBJECTS: Final = ("bodies", "redirects", "expectations")


def _all_rows(name: str) -> Gather:
    def rows(tables: Mapping[str, pl.DataFrame]) -> pl.LazyFrame:
        return tables[name].lazy()

    return Gather(name, rows, lambda rows: rows, name)


BODIES, REDIRECTS, EXPECTATIONS = map(_all_rows, OBJECTS)

#: Minimum bytes saved. Fewer bytes fit the initial window of ten segments (RFC 6928), so no round trip is
#: saved.
REDUNDANT_BYTES_MIN: Final = 14_600
#: Minimum time saved. Two fetches of the same object differ by this much.
REDUNDANT_TIME_MIN: Final = timedelta(milliseconds=1)
#: Minimum loss and share for severity ``error``, as for all findings.
_ERROR_LOST_MIN: Final = timedelta(milliseconds=5)
_ERROR_SHARE_MIN: Final = 0.05
#: Segments of the initial window (RFC 6928).
_INITIAL_WINDOW: Final = 10
#: Bounds of the ratio of measured round trips to the round trips of slow start. Within the bounds slow start
#: explains the transfer: ACKs are delayed, and the last flight comes at once.
_SLOW_START_LEAST: Final = 0.75
_SLOW_START_MOST: Final = 1.5
#: Maximum length of a URL in a sentence.
_URL_CHARACTERS_MAX: Final = 100
#: Minimum round trip that counts as part of a response's time.
_ROUND_TRIP_MIN: Final = timedelta(milliseconds=2)


def time_of_bytes(saved: pl.Expr) -> pl.Expr:
    """Return the time that a response saves if ``saved`` bytes are not sent.

    The response's own rate applies. If slow start explains the transfer time, the saved round trips of slow
    start apply.
    """
    import polars as pl

    size = (pl.col("response_header_bytes") + pl.col("body_bytes")).cast(pl.Float64)
    segment = pl.col("segment_bytes").cast(pl.Float64)
    took = pl.col("transfer").dt.total_nanoseconds()
    rtt = pl.col("rtt").dt.total_nanoseconds()

    def rounds(bytes_: pl.Expr) -> pl.Expr:
        segments = (bytes_ / segment).ceil().clip(1)
        return ((segments - 1) / _INITIAL_WINDOW + 1).log(2).floor()

    needed = rounds(size)
    is_slow_start = (
        (pl.col("rtt") >= _ROUND_TRIP_MIN)
        & (needed >= 1)
        & took.is_between(_SLOW_START_LEAST * needed * rtt, _SLOW_START_MOST * needed * rtt)
    )
    # The time begins with the arrival of the first segment.
    at_its_rate = took * (saved / (size - segment).clip(1)).clip(0, 1)
    lost = (
        pl.when(is_slow_start)
        .then(pl.min_horizontal((needed - rounds(size - saved)) * rtt, took))
        .otherwise(at_its_rate)
    )
    return lost.fill_nan(0).fill_null(0).cast(pl.Int64).cast(pl.Duration("ns"))


def of_several(
    rows: pl.LazyFrame, by: Sequence[str], *, frames: tuple[str, str], extra: Sequence[pl.Expr] = ()
) -> pl.LazyFrame:
    """Return one row per group of rows with equal ``by`` columns.

    The row has the number ``times``, the sums of ``lost`` and ``elapsed``, and the common place of the rows
    if there is one. ``frames`` names the columns of the first and the last frame.
    """
    import polars as pl

    def shared(name: str) -> pl.Expr:
        return pl.when(pl.len() == 1).then(pl.col(name).first())

    first, last = frames
    return rows.group_by(by, maintain_order=True).agg(
        *extra,
        flow=pl.when(pl.col("flow").n_unique() == 1).then(pl.col("flow").first()),
        flows=pl.col("flow").unique(),
        transaction=shared("transaction"),
        first_frame=pl.col(first).min(),
        last_frame=pl.col(last).max(),
        start=shared("response_first_time"),
        times=pl.len(),
        lost=pl.col("lost").sum(),
        elapsed=pl.col("elapsed").sum(),
        cause=pl.lit(None, pl.String),
    )


def severity() -> pl.Expr:
    """Return the severity of a finding about several transactions, as for all findings; ``info`` without a
    notable loss.
    """
    import polars as pl

    is_error = (pl.col("lost") >= _ERROR_LOST_MIN) & (
        pl.col("lost").dt.total_nanoseconds() >= _ERROR_SHARE_MIN * pl.col("elapsed").dt.total_nanoseconds()
    )
    return (
        pl.when(pl.col("lost") < REDUNDANT_TIME_MIN)
        .then(pl.lit("info"))
        .when(is_error)
        .then(pl.lit("error"))
        .otherwise(pl.lit("warning"))
    )


def milliseconds(name: str) -> pl.Expr:
    """Return a duration in milliseconds, as text."""
    import polars as pl

    return (pl.col(name).dt.total_nanoseconds() / 1e6).round(1)


def shown(*url: str) -> pl.Expr:
    """Return the URL of these columns for a sentence, cut at the maximum length."""
    import polars as pl

    whole = pl.concat_str(url)
    is_long = whole.str.len_chars() > _URL_CHARACTERS_MAX
    cut = pl.format("{}…", whole.str.slice(0, _URL_CHARACTERS_MAX))
    return pl.when(is_long).then(cut).otherwise(whole)


def kilobytes(bytes_: pl.Expr) -> pl.Expr:
    """Return bytes in kB, as text."""
    return (bytes_ / 1000).round(1)
