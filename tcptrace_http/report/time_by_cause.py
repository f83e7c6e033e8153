"""Time of all transactions, cause by cause."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.quantity import duration
from tcptrace_http.report.grid import Heading, grid

if TYPE_CHECKING:
    import polars as pl

__all__ = ["time_by_cause"]

#: Minimum share for a separate line; smaller causes, such as host reaction times, are merged.
_SHARE_MIN: Final = 0.005
_HEADINGS: Final = (
    Heading("cause"),
    Heading("time", is_number=True),
    Heading("share", is_number=True),
    Heading("transactions", is_number=True),
    Heading("longest", is_number=True),
    Heading("in flow.no", is_optional=True),
)


def time_by_cause(waits: pl.DataFrame, width: int) -> list[str]:
    """Return a table of the causes, largest first, with the longest wait of each and its transaction.

    ``waits`` has the columns of ``schema.TABLES["waits"]``. The shares refer to the time of all transactions.
    Causes below a two-hundredth share one line, so the sum is complete.
    """
    import polars as pl

    elapsed = (pl.col("end") - pl.col("start")).dt.total_nanoseconds()
    longest = pl.col("elapsed").arg_max()
    causes = (
        waits.with_columns(elapsed=elapsed)
        .group_by("cause")
        .agg(
            pl.col("elapsed").sum().alias("time"),
            pl.struct("flow", "transaction").n_unique().alias("transactions"),
            pl.col("elapsed").max().alias("longest"),
            pl.format("{}.{}", pl.col("flow").get(longest), pl.col("transaction").get(longest)).alias("where"),
        )
        .with_columns(share=pl.col("time") / pl.col("time").sum())
        .sort("time", "cause", descending=[True, False])
    )
    small = causes.filter(pl.col("share") < _SHARE_MIN)
    rows = [
        (
            row["cause"],
            duration(row["time"]),
            f"{row['share']:.1%}",
            f"{row['transactions']:,}",
            duration(row["longest"]),
            row["where"],
        )
        for row in causes.filter(pl.col("share") >= _SHARE_MIN).iter_rows(named=True)
    ]
    if not small.is_empty():
        rest = f"{small.height} more, each under {_SHARE_MIN:.1%}"
        rows.append((rest, duration(int(small["time"].sum())), f"{small['share'].sum():.1%}", "", "", ""))
    return grid(_HEADINGS, rows, width)
