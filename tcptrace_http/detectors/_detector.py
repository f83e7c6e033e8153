"""What a detector is, and how its rows become findings."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from tcptrace_http.schema import TABLES, polars_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType

    import polars as pl

    Find = Callable[[Mapping[str, pl.DataFrame]], pl.LazyFrame]

__all__ = ["Detector", "as_findings", "detector"]

#: Less than this, or than this share of the transaction, is a warning and no error.
ERROR_LOST_MIN: Final = timedelta(milliseconds=5)
ERROR_SHARE_MIN: Final = 0.05


@dataclass(frozen=True, slots=True)
class Detector:
    """A named pathology: how to find it, and what there is to say about it.

    ``find`` gives, per finding, the columns of the findings table that are its own: flow,
    transaction, first_frame, last_frame, start, lost, confidence, cause, summary, evidence, remedy;
    and ``severity`` where it is another than the time lost makes it (``info`` for structure alone).
    """

    name: str
    find: Find
    doc: str
    #: The tables whose rows may become findings: it is not run where all of them are empty. One that
    #: reads ``waits`` runs after those that do not, whose findings give the waits their stalls.
    reads: tuple[str, ...]

    @property
    def reads_waits(self) -> bool:
        """Whether it needs the finished waits, and so cannot be one that shapes them."""
        return "waits" in self.reads

    @property
    def reads_pages(self) -> bool:
        """Whether it judges pages, and so needs the whole capture."""
        return bool({"retrievals", "retrieval_transactions", "critical_path"}.intersection(self.reads))

    @property
    def reference(self) -> str:
        """Where the pathology is described: the last part of the docstring, on one line."""
        _, _, reference = self.doc.partition("Reference\n---------\n")
        return " ".join(reference.split())


def detector(module: ModuleType) -> Detector:
    """The detector of a module: named after its file, documented by its docstring."""
    name = module.__name__.rpartition(".")[2].replace("_", "-")
    return Detector(name, module.find, inspect.getdoc(module) or "", module.READS)


def as_findings(detector: Detector, tables: Mapping[str, pl.DataFrame]) -> pl.LazyFrame:
    """What ``detector`` finds in the tables, as rows of the findings table."""
    import polars as pl

    schema = polars_schema(TABLES["findings"])
    elapsed = pl.coalesce("last_ack_time", "response_last_time") - pl.coalesce(
        "request_time", "response_first_time"
    )
    transactions = (
        tables["transactions"]
        .lazy()
        .select("flow", pl.col("index").alias("transaction"), elapsed.alias("elapsed"))
    )
    is_error = (pl.col("lost") >= ERROR_LOST_MIN) & (
        pl.col("lost").dt.total_nanoseconds() >= ERROR_SHARE_MIN * pl.col("elapsed").dt.total_nanoseconds()
    )
    found = detector.find(tables)
    own = ["severity"] if "severity" in found.collect_schema() else []
    return (
        found.join(transactions, on=["flow", "transaction"], how="left", maintain_order="left", nulls_equal=False)
        .with_columns(
            detector=pl.lit(detector.name),
            severity=pl.coalesce(*own, pl.when(is_error).then(pl.lit("error")).otherwise(pl.lit("warning"))),
            reference=pl.lit(detector.reference),
            # What all findings claim is told when all are known.
            elapsed_without=None,
            shared=pl.lit(0).cast(pl.Duration("ns")),
        )
        .select(pl.col(name).cast(dtype) for name, dtype in schema.items())
    )
