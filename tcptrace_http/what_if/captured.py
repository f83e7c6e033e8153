"""Captured retrieval: its duration, its findings, and the scenario that reproduces it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tcptrace_http.inference import infer
from tcptrace_http.inference.observe import observe

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reference_sim.page import Object
    from reference_sim.scenario import Scenario
    from tcptrace_http.analysis import Analysis
    from tcptrace_http.inference.figure import Figure
    from tcptrace_http.inference.observed import Observed, Part

__all__ = ["Captured", "captured"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Captured:
    """Retrieval or session of a capture, with its scenario."""

    name: str
    #: Number of retrievals in the capture.
    retrievals: int
    #: Time from the first SYN or request to the last byte, summed over the visits.
    elapsed_ns: int
    scenario: Scenario
    figures: tuple[Figure, ...]
    #: Number of findings in the retrieval, by detector.
    findings: Mapping[str, int]
    #: Number of findings that lost time, by cause and detector.
    stalls: Mapping[str, Mapping[str, int]]
    #: Modelled part of the retrieval or session; None for all of it.
    part: Part | None


def captured(analysis: Analysis, *, retrieval: int | None = None, session: bool = False) -> Captured:
    """Return a retrieval of a capture, by default the one with most transactions, or its whole session.

    :raises ScenarioError: the capture has no retrieval, or none with this number.
    """
    inference = infer(analysis, retrieval=retrieval, session=session)
    what = observe(analysis, retrieval=retrieval, session=session)
    findings, stalls = _findings(analysis, what)
    return Captured(
        name=analysis.capture.path,
        retrievals=analysis.retrievals.height,
        elapsed_ns=what.elapsed,
        # Candidates send other packets than the lost ones.
        scenario=_with_encodings(inference.by_chance, analysis, what),
        figures=inference.figures,
        findings=findings,
        stalls=stalls,
        part=what.part,
    )


def _findings(analysis: Analysis, what: Observed) -> tuple[dict[str, int], dict[str, dict[str, int]]]:
    """Return the findings of the retrieval's flows and transactions."""
    import polars as pl

    numbers = {(exchange.flow, exchange.index) for exchange in what.exchanges}
    found: dict[str, int] = {}
    stalls: dict[str, dict[str, int]] = {}
    rows = analysis.findings.select(
        "detector", "flow", "transaction", pl.col("cause").cast(pl.String), "lost"
    ).rows()
    for detector, flow, transaction, cause, lost in rows:
        if flow not in what.flows or (transaction is not None and (flow, transaction) not in numbers):
            continue
        found[detector] = found.get(detector, 0) + 1
        if cause is not None and lost:
            of_cause = stalls.setdefault(cause, {})
            of_cause[detector] = of_cause.get(detector, 0) + 1
    return found, stalls


def _with_encodings(scenario: Scenario, analysis: Analysis, what: Observed) -> Scenario:
    """Return the pages with their objects marked as compressed or not: the inference has only their sizes."""
    import polars as pl

    rows = (
        analysis.transactions.filter(pl.col("flow").is_in(list(what.flows)))
        .select("target", "content_encoding")
        .drop_nulls()
        .rows()
    )
    encodings = {target: encoding for target, encoding in rows if encoding != "identity"}

    def encoded(part: Object) -> Object:
        encoding = encodings.get(part.target)
        if encoding is None or any(field.startswith("Content-Encoding:") for field in part.response_fields):
            return part
        return replace(part, response_fields=(*part.response_fields, f"Content-Encoding: {encoding}"))

    browsers = (
        replace(
            browser,
            visits=tuple(
                replace(visit, page=visit.page.with_objects(tuple(map(encoded, visit.page.objects))))
                for visit in browser.visits
            ),
        )
        for browser in scenario.browsers
    )
    return replace(scenario, browsers=tuple(browsers)) if encodings else scenario
