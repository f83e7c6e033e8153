"""Where the time of all transactions went, cause by cause."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.quantity import duration
from tcptrace_http.report.grid import Heading, grid

if TYPE_CHECKING:
    import polars as pl

__all__ = ["time_by_cause"]

#: Causes with less of the time than this are put together: they are what hosts take to answer.
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
    """A table of the causes, the greatest first, with the longest wait of each and its transaction.

    ``waits`` has the columns of ``schema.TABLES["waits"]``. The shares are of all time of all
    transactions; what each has less than a two-hundredth of is one line, for the sum to be whole.
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
