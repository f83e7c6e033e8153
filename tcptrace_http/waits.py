"""The waits table: intervals of a transaction whose cause is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tcptrace_http.schema import TABLES, polars_schema

if TYPE_CHECKING:
    import polars as pl

__all__ = ["waits"]


def waits(findings: pl.DataFrame) -> pl.DataFrame:
    """The waits that findings explain, by flow, transaction and time.

    ``findings`` has the columns of ``schema.TABLES["findings"]``, the result those of
    ``TABLES["waits"]``. Time of a transaction that no finding explains has no row.
    """
    import polars as pl

    schema = polars_schema(TABLES["waits"])
    return (
        findings.lazy()
        .filter(pl.col("cause").is_not_null())
        .with_columns(end=pl.col("start") + pl.col("lost"))
        .select(pl.col(name).cast(dtype) for name, dtype in schema.items())
        .sort("flow", "transaction", "start")
        .collect()
    )
