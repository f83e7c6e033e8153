"""What a detector is, and how its rows become findings."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from tcptrace_http.schema import TABLES, polars_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from types import ModuleType

    import polars as pl

    Find = Callable[[Mapping[str, pl.DataFrame]], pl.LazyFrame]

__all__ = ["FLAWS", "NEEDS", "Detector", "Gather", "Need", "as_findings", "detector", "flaws_that_spoil"]


@dataclass(frozen=True, slots=True)
class Need:
    """Something that a detector may need of a capture, and the flaw of a flow that spoils it."""

    what: str
    #: A word of ``schema.FLAWS``; the detector that tells it has the same name.
    flaw: str


#: What a detector may need of the capture of a flow in order to judge it. Where it is spoiled, no finding
#: means nothing: the flow is counted in the table ``inconclusive``.
NEEDS: Final = {
    "both_directions": Need("the packets of both directions", "one_sided_capture"),
    "handshake": Need("the handshake, for the round trip, the MSS and the scale of windows", "mid_stream_start"),
    "no_gaps": Need("every packet", "capture_gap"),
    "whole_payload": Need("whole packets, for the heads of messages", "truncated_payload"),
    "segments_as_sent": Need("the segments as they were sent", "segmentation_offload"),
    "pure_acks": Need("the receiver's ACKs", "no_pure_acks"),
    "acks_of_server": Need("ACKs of the server itself", "local_acks"),
}

#: A finding where the capture lacks what its detector needs is so much less certain. A choice and no
#: measurement: it puts such a finding behind all of its kind from sound captures.
SPOILED_FACTOR: Final = 0.8
#: Less than this, or than this share of the transaction, is a warning and no error.
ERROR_LOST_MIN: Final = timedelta(milliseconds=5)
ERROR_SHARE_MIN: Final = 0.05


@dataclass(frozen=True, slots=True)
class Gather:
    """What is kept of each part of a capture, for detectors that look over several flows.

    A long capture comes in parts (:func:`tcptrace_http.analysis.analyze_in_batches`). ``rows`` are those
    of one part. ``merged`` drops from the rows of several parts what is beyond a limit: merging parts
    one by one must give what merging all of them at once gives, so that findings do not depend on the
    parts.
    """

    name: str
    rows: Callable[[Mapping[str, pl.DataFrame]], pl.LazyFrame]
    merged: Callable[[pl.LazyFrame], pl.LazyFrame]
    #: The native table that the rows come from: where that lacks some, these do.
    table: str
    #: Several rows may become one; else a row that is not there any more was beyond the limit.
    adds_up: bool = False


#: Flows with a flaw: five bytes a row.
FLAWED_MAX: Final = 1 << 18


def _flawed(tables: Mapping[str, pl.DataFrame]) -> pl.LazyFrame:
    return _first_flawed(tables["flaws"].lazy().filter("has_messages").select("flow", "flaw"))


def _first_flawed(rows: pl.LazyFrame) -> pl.LazyFrame:
    return rows.unique().sort("flow", "flaw").head(FLAWED_MAX)


#: The flaws of flows, for detectors whose findings are less certain where one of them spoils what they need.
FLAWS: Final = Gather("flaws", _flawed, _first_flawed, "flaws", adds_up=True)


@dataclass(frozen=True, slots=True)
class Detector:
    """A named pathology: how to find it, and what there is to say about it.

    ``find`` gives, per finding, the columns of the findings table that are its own: flow,
    transaction, first_frame, last_frame, start, lost, confidence, cause, summary, evidence, remedy;
    one that looks over the whole capture ``elapsed`` too, the time of all that a finding is about, and
    ``flows``, all of them, where they may be several; and ``severity`` where it is another than the time
    lost makes it (``info`` for structure alone).
    """

    name: str
    find: Find
    doc: str
    #: The tables whose rows may become findings: it is not run where all of them are empty.
    reads: tuple[str, ...]
    #: Words of ``NEEDS``: what it needs of the capture of a flow, all of it.
    needs: tuple[str, ...] = ()
    #: Of a detector that looks over all flows of a capture (``SCOPE = "capture"``): ``find`` is given
    #: what these gather from all parts of it, by name, and nothing else. ``reads`` names some of them.
    gathers: tuple[Gather, ...] = ()
    #: Of one that judges waits: their causes. It is not run where no wait has one of them.
    causes: tuple[str, ...] = ()

    @property
    def reads_flaws(self) -> bool:
        """Whether it judges the capture itself, and not what was captured."""
        return "flaws" in self.reads

    @property
    def spans_flows(self) -> bool:
        """Whether it looks over all flows of a capture, at its end."""
        return bool(self.gathers)

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
    gathers = module.GATHERS if getattr(module, "SCOPE", "flow") == "capture" else ()
    doc = inspect.getdoc(module) or ""
    causes, needs = (tuple(getattr(module, words, ())) for words in ("CAUSES", "NEEDS"))
    return Detector(name, module.find, doc, module.READS, needs=needs, gathers=gathers, causes=causes)


def flaws_that_spoil(needs: Iterable[str]) -> tuple[str, ...]:
    """The flaw that spoils each need."""
    return tuple(NEEDS[need].flaw for need in needs)


def as_findings(detector: Detector, found: pl.DataFrame, tables: Mapping[str, pl.DataFrame]) -> pl.LazyFrame:
    """What ``detector`` found in the tables, as rows of the findings table; less certain where a flaw of the
    capture spoils what it needs.
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
        # What all findings claim is told when all are known.
        elapsed_without=None,
        shared=pl.lit(0).cast(pl.Duration("ns")),
    ).select(pl.col(name).cast(dtype) for name, dtype in schema.items())


def _of_flows(found: pl.DataFrame, tables: Mapping[str, pl.DataFrame]) -> pl.LazyFrame:
    """The findings, with the server software of the flows that they are about, if it is only one."""
    import polars as pl

    from tcptrace_http.detectors._software import software_of_flows

    has_flows = "flows" in found.columns
    software = software_of_flows(found["flows"], tables["software"]) if has_flows else pl.lit(None, pl.String)
    return found.lazy().with_columns(server_software=software)


def _of_transactions(found: pl.LazyFrame, tables: Mapping[str, pl.DataFrame]) -> pl.LazyFrame:
    """The findings, with how long their transactions took, and what software answered them."""
    import polars as pl

    elapsed = pl.when(pl.col("response_last_time").is_not_null()).then(
        pl.col("end_time") - pl.coalesce("request_time", "response_first_time")
    )
    # The transactions of pages come without it.
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
    """The findings, with the confidence lowered of those in flows that lack what the detector needs."""
    import polars as pl

    if not detector.needs or tables["flaws"].is_empty():
        return found
    spoiled = tables["flaws"].filter(pl.col("flaw").is_in(flaws_that_spoil(detector.needs)))["flow"].unique()
    factor = pl.when(pl.col("flow").is_in(spoiled.implode())).then(SPOILED_FACTOR).otherwise(1.0)
    return found.with_columns(confidence=pl.col("confidence") * factor)
