"""``tcptrace-http reproduce``: the papers' claims, simulated again and judged."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

import click

from tcptrace_http.cli.progress import ReproductionProgress

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reference_sim.reproduction.experiment import Effort
    from reference_sim.reproduction.runner import Outcome
    from reference_sim.reproduction.work import Failure

__all__ = ["reproduce"]

_DEFAULT_FOLDER: Final = "reproduction"
_DEFAULT_SEEDS: Final = 5
_QUICK_SEEDS: Final = 2
_EXIT_NOT_ALL_RAN: Final = 2
_WIDTH: Final = 80
_EXAMPLES: Final = """\b
Examples:
  tcptrace-http reproduce --list
  tcptrace-http reproduce H1
  tcptrace-http reproduce heidemann kruse-2001 -o pages
  tcptrace-http reproduce all --quick
"""


def _completed(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """The names that begin so, for a shell."""
    del context, parameter
    from reference_sim.reproduction.registry import names

    return [name for name in names() if name.lower().startswith(incomplete.lower())]


@click.command(epilog=_EXAMPLES)
@click.argument("names", metavar="PAPER|CLAIM|all...", nargs=-1, shell_complete=_completed)
@click.option(
    "--seeds",
    type=click.IntRange(1),
    metavar="N",
    help=f"Repetitions of what is random. Default: {_DEFAULT_SEEDS}, with --quick {_QUICK_SEEDS}.",
)
@click.option("--jobs", type=click.IntRange(1), metavar="N", help="Processes that simulate. Default: all cores.")
@click.option("--quick", is_flag=True, help="Fewer and shorter runs: all claims in about two minutes.")
@click.option(
    "-o",
    "--output",
    metavar="DIR",
    default=_DEFAULT_FOLDER,
    show_default=True,
    help="Where pages, tables, charts and what was measured are written.",
)
@click.option("--list", "lists", is_flag=True, help="List the papers and their claims, and do nothing else.")
@click.option(
    "--format",
    "format_name",
    type=click.Choice(("text", "json")),
    default="text",
    help="Format of what is written to stdout. Default: text.",
)
@click.option("--quiet", is_flag=True, help="No progress and no messages on standard error.")
def reproduce(  # noqa: PLR0913, PLR0917 -- one parameter an option
    names: tuple[str, ...],
    seeds: int | None,
    jobs: int | None,
    quick: bool,
    output: str,
    lists: bool,
    format_name: str,
    quiet: bool,
) -> int:
    """Simulate what the papers claim, and set it beside what they print.

    Name papers (gurkan-1998, heidemann-1996, eggert-1999, kruse-2001, bhalekar-2003), claims (G1, H1, …),
    baselines (analytic models beside the simulator) or all. In DIR are then index.html, a page for each paper,
    tables and charts. What was measured is kept there: the same call simulates nothing again, and one that was
    interrupted goes on.

    Exits with 0 whatever the verdicts are, with 2 where a run could not be simulated: its claim then is not
    reproduced, and the reason is said.
    """
    if lists:
        _list(format_name)
        return 0
    if not names:
        raise click.UsageError("say what to reproduce: a paper, a claim, or all (--list shows them)")
    from reference_sim.reproduction.experiment import Effort

    effort = Effort(seeds=seeds or (_QUICK_SEEDS if quick else _DEFAULT_SEEDS), quick=quick)
    outcomes, failures = _reproduced(names, effort, jobs or len(os.sched_getaffinity(0)), output, quiet=quiet)
    click.echo(_as_json(outcomes) if format_name == "json" else _as_text(outcomes))
    for failure in failures:
        click.echo(f"tcptrace-http: could not run {failure.label}: {failure.error}", err=True)
    if not quiet:
        click.echo(f"tcptrace-http: {os.path.join(output, 'index.html')}", err=True)
    return _EXIT_NOT_ALL_RAN if failures else 0


def _reproduced(
    names: Sequence[str], effort: Effort, jobs: int, output: str, *, quiet: bool
) -> tuple[list[Outcome], list[Failure]]:
    """What became of the claims, and all that failed; everything is written."""
    from pathlib import Path

    from reference_sim.reproduction import baselines
    from reference_sim.reproduction.registry import BASELINES, asks_for_baselines, claims_named, experiments
    from reference_sim.reproduction.runner import measurements
    from reference_sim.reproduction.runner import reproduce as run
    from reference_sim.reproduction.store import Store

    claims = claims_named(names)
    _check_charts()
    with Store(Path(output) / ".results") as store:
        if store.dropped and not quiet:
            click.echo(
                f"tcptrace-http: {store.dropped} results in {output} could not be read and are dropped", err=True
            )
        with ReproductionProgress(quiet=quiet) as progress:
            common: dict[str, Any] = {"store": store, "effort": effort, "jobs": jobs, "progress": progress}
            outcomes = run([experiments()[claim] for claim in claims], **common)
            wanted = {BASELINES: baselines.runs} if asks_for_baselines(names) else {}
            measured = measurements(wanted, **common)
    from reference_sim.reproduction.report import write_report

    failures = [failure for outcome in outcomes for failure in outcome.failures]
    failures += [failure for _, failed in measured.values() for failure in failed]
    rows = [row for results, failed in measured.values() if not failed for row in baselines.rows(results)]
    return outcomes, failures + write_report(outcomes, Path(output), effort=effort, baselines=rows)


def _check_charts() -> None:
    """Before anything is simulated.

    :raises click.ClickException: what draws is not installed.
    """
    from importlib.util import find_spec

    missing = [name for name in ("altair", "vl_convert") if find_spec(name) is None]
    if missing:
        raise click.ClickException(
            f"the charts need {' and '.join(missing)}: pip install 'tcptrace-http[reproduce]'"
        )


def _list(format_name: str) -> None:
    from reference_sim.reproduction.claim import PAPERS, claims

    if format_name == "json":
        import json

        rows = [
            {"claim": one.id, "paper": one.paper, "where": one.where, "system": one.system, "says": one.says}
            for one in claims().values()
        ]
        click.echo(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    from tcptrace_http.report.grid import Heading, grid

    for paper in PAPERS.values():
        table = [(one.id, one.where, one.system) for one in claims().values() if one.paper == paper]
        headings = (Heading("claim"), Heading("where", is_elastic=True), Heading("what", is_elastic=True))
        click.echo("\n".join([paper, *(f"  {line}" for line in grid(headings, table, _WIDTH - 2)), ""]))


def _as_text(outcomes: Sequence[Outcome]) -> str:
    """A table for 80 columns, the score, and why what is not reproduced is not."""
    import textwrap

    from reference_sim.reproduction.report.tables import counts
    from reference_sim.reproduction.verdict import Verdict
    from tcptrace_http.report.grid import Heading, grid

    headings = (
        Heading("claim"),
        Heading("verdict"),
        Heading("same", is_number=True),
        Heading("shape", is_number=True),
        Heading("not", is_number=True),
        Heading("where", is_elastic=True),
        Heading("what", is_elastic=True),
    )
    rows = []
    reasons: list[str] = []
    for outcome in outcomes:
        of = counts([one.verdict for one in outcome.judgement.comparisons])
        claim, judgement = outcome.claim, outcome.judgement
        rows.append((claim.id, str(judgement.verdict), *map(str, of.values()), claim.where, claim.system))
        if judgement.verdict is Verdict.NOT_REPRODUCED:
            reasons += ["", *textwrap.wrap(f"{claim.id}: {judgement.remarks}", _WIDTH, subsequent_indent="  ")]
    total = counts([one.judgement.verdict for one in outcomes])
    score = ", ".join(f"{count} {verdict}" for verdict, count in total.items())
    return "\n".join([*grid(headings, rows, _WIDTH), "", score, *reasons])


def _as_json(outcomes: Sequence[Outcome]) -> str:
    """A list of claims, each with its comparisons; no figure (an unbounded range) is null."""
    import json
    from math import isfinite

    from reference_sim.reproduction.report.tables import comparisons_frame

    def plain(value: Any) -> Any:
        return None if isinstance(value, float) and not isfinite(value) else value

    rows = [
        {
            "claim": one.claim.id,
            "paper": one.claim.paper,
            "where": one.claim.where,
            "system": one.claim.system,
            "verdict": str(one.judgement.verdict),
            "rule": one.judgement.rule,
            "remarks": one.judgement.remarks,
            "comparisons": [
                {name: plain(value) for name, value in row.items() if name != "claim"}
                for row in comparisons_frame(one).iter_rows(named=True)
            ],
        }
        for one in outcomes
    ]
    return json.dumps(rows, indent=2, ensure_ascii=False)
