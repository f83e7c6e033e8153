"""Detector type, and the conversion of its rows to findings."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from tcptrace_http.detectors._gather import Gather
from tcptrace_http.detectors._software import software_of_flows
from tcptrace_http.schema import TABLES, polars_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from types import ModuleType

    import polars as pl

    Find = Callable[[Mapping[str, pl.DataFrame]], pl.LazyFrame]

__all__ = ["FLAWS", "NEEDS", "Detector", "Need", "as_findings", "detector", "flaws_that_spoil"]


@dataclass(frozen=True, slots=True)
class Need:
    """Property of the capture that a detector needs, and the flaw of a flow that spoils it."""

    what: str
    #: Word of ``schema.FLAWS``. The detector of that flaw has the same name.
    flaw: str


#: Properties of a flow's capture that a detector may need. If a flaw spoils a property, the absence of a
#: finding proves nothing. The table ``inconclusive`` then counts the flow.
NEEDS: Final = {
    "both_directions": Need("the packets of both directions", "one_sided_capture"),
    "handshake": Need("the handshake, for the round trip, the MSS and the scale of windows", "mid_stream_start"),
    "no_gaps": Need("every packet", "capture_gap"),
    "whole_payload": Need("whole packets, for the heads of messages", "truncated_payload"),
    "segments_as_sent": Need("the segments as they were sent", "segmentation_offload"),
    "pure_acks": Need("the receiver's ACKs", "no_pure_acks"),
    "acks_of_server": Need("ACKs of the server itself", "local_acks"),
}

#: Confidence factor of a finding if the capture lacks a property that its detector needs. The value is
#: chosen, not measured: the finding ranks behind all findings of its kind from sound captures.
SPOILED_FACTOR: Final = 0.8
#: Minimum loss, absolute and as a share of the transaction, for severity ``error``. A smaller loss is a
#: warning.
ERROR_LOST_MIN: Final = timedelta(milliseconds=5)
ERROR_SHARE_MIN: Final = 0.05


#: Maximum number of flows with a flaw: five bytes per row.
FLAWED_MAX: Final = 1 << 18


def _flawed(tables: Mapping[str, pl.DataFrame]) -> pl.LazyFrame:
    return _first_flawed(tables["flaws"].lazy().filter("has_messages").select("flow", "flaw"))


def _first_flawed(rows: pl.LazyFrame) -> pl.LazyFrame:
    return rows.unique().sort("flow", "flaw").head(FLAWED_MAX)


#: Flaws of flows, for detectors whose confidence a flaw lowers.
FLAWS: Final = Gather("flaws", _flawed, _first_flawed, "flaws", adds_up=True)


@dataclass(frozen=True, slots=True)
class Detector:
    """Named pathology: the function that finds it, and its description.

    ``find`` returns these columns of the findings table: flow, transaction, first_frame, last_frame, start,
    lost, confidence, cause, summary, evidence, remedy. A capture-wide detector adds ``elapsed``, the time of
    everything that the finding is about. If a finding may be about several flows, ``flows`` lists them.
    ``severity`` is present if the lost time does not decide the severity (``info`` for structure alone).
    """

    name: str
    find: Find
    doc: str
    #: Tables whose rows may become findings. The detector does not run if all of them are empty.
    reads: tuple[str, ...]
    #: Words of ``NEEDS``: the properties that the capture of a flow must have, all of them.
    needs: tuple[str, ...] = ()
    #: Rows gathered by a capture-wide detector (``SCOPE = "capture"``). ``find`` receives only these rows, by
    #: name, from all parts of the capture. ``reads`` names at least one of them.
    gathers: tuple[Gather, ...] = ()
    #: Wait causes that the detector judges. The detector does not run if no wait has one of them.
    causes: tuple[str, ...] = ()

    @property
    def reads_flaws(self) -> bool:
        """Return whether the detector judges the capture itself, not its traffic."""
        return "flaws" in self.reads

    @property
    def spans_flows(self) -> bool:
        """Return whether the detector compares all flows at the end of the capture."""
        return bool(self.gathers)

    @property
    def reads_pages(self) -> bool:
        """Return whether the detector judges pages. Such a detector needs the whole capture."""
        return bool({"retrievals", "retrieval_transactions", "critical_path"}.intersection(self.reads))

    @property
    def reference(self) -> str:
        """Return the reference of the pathology: the last part of the docstring, on one line."""
        _, _, reference = self.doc.partition("Reference\n---------\n")
        return " ".join(reference.split())


def detector(module: ModuleType) -> Detector:
    """Return the detector of a module. The file gives the name, the docstring gives the documentation."""
    name = module.__name__.rpartition(".")[2].replace("_", "-")
    gathers = module.GATHERS if getattr(module, "SCOPE", "flow") == "capture" else ()
    doc = inspect.getdoc(module) or ""
    causes, needs = (tuple(getattr(module, words, ())) for words in ("CAUSES", "NEEDS"))
    return Detector(name, module.find, doc, module.READS, needs=needs, gathers=gathers, causes=causes)


def flaws_that_spoil(needs: Iterable[str]) -> tuple[str, ...]:
    """Return the flaw that spoils each need."""
    return tuple(NEEDS[need].flaw for need in needs)


def as_findings(detector: Detector, found: pl.DataFrame, tables: Mapping[str, pl.DataFrame]) -> pl.LazyFrame:
    """Return the rows of ``detector`` as rows of the findings table.

    If a flaw of the capture spoils a need of the detector, the confidence is lower.
    """
    import polars as pl

    schema = polars_schema(TABLES["findings"])
    is_error = (pl.col("lost") >= ERROR_LOST_MIN) & (
        pl.col("lost").dt.total_nanoseconds() >= ERROR_SHARE_MIN * pl.col("elapsed").dt.total_nanoseconds()
    )
    own = ["severity"] if "severity" in found.columns else []
    told = _of_flows(found, tables) if detector.spans_flows else _of_transactions(found.lazy(), tables)
    if FLAWS in detector.gathers or not detector.spans_flows:
        told = _less_certain(told, detector, tables)
    return told.with_columns(
        detector=pl.lit(detector.name),
        severity=pl.coalesce(*own, pl.when(is_error).then(pl.lit("error")).otherwise(pl.lit("warning"))),
        reference=pl.lit(detector.reference),
        # The last step fills in the shares, once all findings are known.
        elapsed_without=None,
        shared=pl.lit(0).cast(pl.Duration("ns")),
    ).select(pl.col(name).cast(dtype) for name, dtype in schema.items())


def _of_flows(found: pl.DataFrame, tables: Mapping[str, pl.DataFrame]) -> pl.LazyFrame:
    """Return the findings with the server software of their flows, if all flows have the same software."""
    import polars as pl

    has_flows = "flows" in found.columns
    software = software_of_flows(found["flows"], tables["software"]) if has_flows else pl.lit(None, pl.String)
    return found.lazy().with_columns(server_software=software)


def _of_transactions(found: pl.LazyFrame, tables: Mapping[str, pl.DataFrame]) -> pl.LazyFrame:
    """Return the findings with the duration of their transactions and the server software that answered."""
    import polars as pl

    elapsed = pl.when(pl.col("response_last_time").is_not_null()).then(
        pl.col("end_time") - pl.coalesce("request_time", "response_first_time")
    )
    # The transactions of pages lack this column.
    has_software = "server_software" in tables["transactions"].columns
    software = pl.col("server_software") if has_software else pl.lit(None, pl.String).alias("server_software")
    transactions = (
        tables["transactions"]
        .lazy()
        .select("flow", pl.col("index").alias("transaction"), software, elapsed.alias("elapsed"))
    )
    return found.join(
        transactions, on=["flow", "transaction"], how="left", maintain_order="left", nulls_equal=False
    )


def _less_certain(found: pl.LazyFrame, detector: Detector, tables: Mapping[str, pl.DataFrame]) -> pl.LazyFrame:
    """Return the findings, with a lower confidence for those in flows whose flaws spoil a need of the detector."""
    import polars as pl

    if not detector.needs or tables["flaws"].is_empty():
        return found
    spoiled = tables["flaws"].filter(pl.col("flaw").is_in(flaws_that_spoil(detector.needs)))["flow"].unique()
    factor = pl.when(pl.col("flow").is_in(spoiled.implode())).then(SPOILED_FACTOR).otherwise(1.0)
    return found.with_columns(confidence=pl.col("confidence") * factor)
