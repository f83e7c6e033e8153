"""Output of ``tcptrace-http reproduce``: pages, tables, charts.

``index.html`` and one page per paper are self-contained (no script, no other file, no network). The other
files are ``tables/CLAIM.csv`` and ``.parquet``, ``charts/CLAIM-N.svg`` and ``summary.csv``. The same results
give the same bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_sim.reproduction.claim import PAPERS
from reference_sim.reproduction.report.baselines_page import (
    TITLE,
    baselines_chart,
    baselines_frame,
    baselines_page,
)
from reference_sim.reproduction.report.charts import drawing_of, drawn
from reference_sim.reproduction.report.index_page import index_page
from reference_sim.reproduction.report.paper_page import paper_page
from reference_sim.reproduction.report.tables import comparisons_frame, summary_frame
from tcptrace_http.output_file import replacing, write_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import polars as pl

    from reference_sim.reproduction.baselines import Row
    from reference_sim.reproduction.experiment import Effort
    from reference_sim.reproduction.report.charts import Drawings
    from reference_sim.reproduction.runner import Outcome
    from reference_sim.reproduction.work import Failure

__all__ = ["write_report"]


def write_report(
    outcomes: Sequence[Outcome], folder: Path, *, effort: Effort, baselines: Sequence[Row] = ()
) -> list[Failure]:
    """Write the report of these outcomes into the folder; return the failed charts.

    The ``baselines``, if any, have a page of their own.

    :raises ModuleNotFoundError: altair or vl-convert are not installed.
    :raises OSError: a file cannot be written.
    """
    for name in ("tables", "charts"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    drawings = {outcome.claim.id: drawn(outcome) for outcome in outcomes}
    for outcome in outcomes:
        claim = outcome.claim.id
        for number, drawing in enumerate(drawings[claim].drawings, start=1):
            _write(folder / "charts" / f"{claim}-{number}.svg", drawing.file)
        _write_tables(comparisons_frame(outcome), folder / "tables" / f"{claim}.csv")
    _write(folder / "summary.csv", summary_frame(outcomes).write_csv())
    if baselines:
        _write_baselines(baselines, folder, effort)
    _write_pages(outcomes, folder, drawings, effort, has_baselines=bool(baselines))
    return [one.failure for one in drawings.values() if one.failure is not None]


def _write_baselines(rows: Sequence[Row], folder: Path, effort: Effort) -> None:
    _write_tables(baselines_frame(rows), folder / "tables" / "baselines.csv")
    drawing = drawing_of(f"{TITLE}: residuals", baselines_chart(rows).to_dict(), "baselines")
    _write(folder / "charts" / "baselines.svg", drawing.file)
    _write(folder / "baselines.html", baselines_page(rows, drawing, effort))


def _write_pages(
    outcomes: Sequence[Outcome],
    folder: Path,
    drawings: Mapping[str, Drawings],
    effort: Effort,
    *,
    has_baselines: bool,
) -> None:
    by_paper = {paper: [one for one in outcomes if one.claim.paper == paper] for paper in PAPERS.values()}
    for paper, shown in by_paper.items():
        if shown:
            _write(folder / f"{paper}.html", paper_page(paper, shown, drawings, effort))
    requested = {paper: shown for paper, shown in by_paper.items() if shown}
    _write(folder / "index.html", index_page(requested, effort, has_baselines=has_baselines))


def _write(path: Path, text: str) -> None:
    write_text(path, text)


def _write_tables(frame: pl.DataFrame, path: Path) -> None:
    """Write the table as CSV and as Parquet."""
    write_text(path.with_suffix(".csv"), frame.write_csv())
    with replacing(path.with_suffix(".parquet")) as parquet:
        frame.write_parquet(parquet)
