"""Counts of a dataset's findings by place and time: streaming queries, each over its own columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    import polars as pl

__all__ = ["KEY", "Tables", "counted_findings", "counted_transactions", "time_by_cause"]

#: Key of a dataset's transactions.
KEY: Final = ("flow_id", "transaction")
#: Maximum length of a host or path: captured text is unbounded.
_TEXT_MAX: Final = 128
_NOTE: Final = "info"


class Tables(Protocol):
    """Tables of a dataset."""

    def table(self, name: str, /) -> pl.LazyFrame:
        """Return a table; its rows are read only on demand."""


def counted_transactions(tables: Tables, every: str) -> pl.DataFrame:
    """Return the transaction counts: ``time``, ``host``, ``transactions``, ``elapsed_ns``, ``first``, ``last``."""
    import polars as pl

    length = (pl.col("end_time") - pl.col("start_time")).dt.total_nanoseconds()
    rows = _transactions(tables).group_by(pl.col("start_time").dt.truncate(every).alias("time"), "host")
    return (
        rows.agg(
            pl.len().alias("transactions"),
            length.sum().alias("elapsed_ns"),
            pl.col("start_time").min().alias("first"),
            pl.col("end_time").max().alias("last"),
        )
        .sort("time", "host")
        .collect(engine="streaming")
    )


def counted_findings(tables: Tables, every: str) -> pl.DataFrame:
    """Return the finding counts without notes, by time and by place.

    The columns are ``time``, ``detector``, ``host``, ``path``, ``server_software``, ``findings``,
    ``lost_ns``.
    """
    import polars as pl

    findings = (
        tables.table("findings")
        .filter(pl.col("severity").cast(pl.String) != _NOTE)
        .select(
            "capture",
            *KEY,
            pl.col("detector").cast(pl.String),
            pl.col("cause").cast(pl.String),
            "start",
            "lost",
            "shared",
            pl.col("server_software").str.slice(0, _TEXT_MAX).fill_null(""),
        )
        .with_columns(_claimed().alias("lost_ns"))
    )
    # Only the subjects of findings are kept: a dataset has many more transactions, flows and captures.
    transactions = _transactions(tables)
    theirs = transactions.drop("capture").join(findings, on=KEY, how="semi")
    found = findings.join(theirs, on=KEY, how="left")
    # A finding about several transactions belongs to their host, if they have only one.
    for key in ("flow_id", "capture"):
        only = pl.col("host").min() == pl.col("host").max()
        hosts = (
            transactions.join(findings.filter(pl.col("transaction").is_null()), on=key, how="semi")
            .group_by(key)
            .agg(pl.when(only).then(pl.col("host").min()).alias("only"))
        )
        found = found.join(hosts, on=key, how="left").with_columns(pl.coalesce("host", "only")).drop("only")
    return (
        found.with_columns(pl.coalesce("start_time", "start").dt.truncate(every).alias("time"))
        .group_by("time", "detector", pl.col("host", "path").fill_null(""), "server_software")
        .agg(pl.len().alias("findings"), pl.col("lost_ns").sum())
        .sort("time", "detector", "host", "path", "server_software")
        .collect(engine="streaming")
    )


def _transactions(tables: Tables) -> pl.LazyFrame:
    """Return every transaction with its host (for an opaque one its server's address) and the path of its
    target.
    """
    import polars as pl

    flows = tables.table("flows").select("flow_id", pl.format("{}:{}", "server", "server_port").alias("server"))
    path = pl.col("target").str.split_exact("?", 1).struct.field("field_0")
    return (
        tables.table("transactions")
        .rename({"index": "transaction"})
        .select("capture", *KEY, "host", path.str.slice(0, _TEXT_MAX).alias("path"), "start_time", "end_time")
        .join(flows, on="flow_id", how="left")
        .with_columns(pl.coalesce("host", "server").str.slice(0, _TEXT_MAX).fill_null("").alias("host"))
        .drop("server")
    )


def _claimed() -> pl.Expr:
    """Return the loss of each finding that no larger finding of the same transaction and cause claims. The
    losses add up.
    """
    import polars as pl

    is_greatest = pl.col("lost").rank("ordinal", descending=True).over("capture", *KEY, "cause") == 1
    own = pl.when(is_greatest).then("lost").otherwise(pl.col("lost") - pl.col("shared"))
    return own.dt.total_nanoseconds()


def time_by_cause(tables: Tables) -> pl.DataFrame:
    """Return the time of all transactions by cause: ``cause``, ``time_ns``, largest first."""
    import polars as pl

    length = (pl.col("end") - pl.col("start")).dt.total_nanoseconds()
    return (
        tables.table("waits")
        .group_by(pl.col("cause").cast(pl.String))
        .agg(length.sum().alias("time_ns"))
        .sort("time_ns", "cause", descending=[True, False])
        .collect(engine="streaming")
    )
