"""``tcptrace-http reproduce``: simulation and judgement of the papers' claims."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import click

from tcptrace_http.cli.completion import part_of_simulation
from tcptrace_http.cli.output import write
from tcptrace_http.cli.progress import ReproductionProgress
from tcptrace_http.errors import MissingExtra

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from reference_sim.reproduction.baselines import Row
    from reference_sim.reproduction.claim import Claim
    from reference_sim.reproduction.conclusion import Conclusion
    from reference_sim.reproduction.experiment import Effort
    from reference_sim.reproduction.runner import Outcome
    from reference_sim.reproduction.substitution import Substitution
    from reference_sim.reproduction.work import Failure
    from tcptrace_http.report.grid import Heading

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
  tcptrace-http reproduce all --stack linux-6
  tcptrace-http reproduce H1 --captures captures
"""


def _completed(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the names that begin with the typed text, for a shell."""
    del context, parameter
    from reference_sim.reproduction.registry import names

    return [name for name in names() if name.lower().startswith(incomplete.lower())]


@click.command(epilog=_EXAMPLES)
@click.argument("names", metavar="PAPER|CLAIM|all...", nargs=-1, shell_complete=_completed)
@click.option(
    "--seeds",
    type=click.IntRange(1),
    metavar="N",
    help=f"Number of random repetitions. Default: {_DEFAULT_SEEDS}, with --quick {_QUICK_SEEDS}.",
)
@click.option("--jobs", type=click.IntRange(1), metavar="N", help="Processes that simulate. Default: all cores.")
@click.option("--quick", is_flag=True, help="Fewer and shorter runs: all claims in about two minutes.")
@click.option(
    "-o",
    "--output",
    metavar="DIR",
    help=f"Folder of the pages, tables, charts and measurements. Default: {_DEFAULT_FOLDER}, followed by the name"
    " of another stack or network.",
)
@part_of_simulation(
    "--stack",
    "stack",
    about="Judge the claims with this TCP in place of the papers'; the subject of the claim stays.",
)
@part_of_simulation("--network", "network", about="Judge the claims on this network in place of the papers'.")
@click.option(
    "--captures",
    metavar="DIR",
    help="Write the scenarios of each claim to DIR/CLAIM as TOML and pcapng, each once, and judge nothing.",
)
@click.option("--list", "lists", is_flag=True, help="List the papers and their claims, and do nothing else.")
@click.option(
    "--format",
    "format_name",
    type=click.Choice(("text", "json", "markdown")),
    default="text",
    help="Format of what is written to stdout: text, json (without chart packages, no pages are written),"
    " or with --stack or --network markdown, a page of the conclusions that hold. Default: text.",
)
@click.option("--quiet", is_flag=True, help="No progress and no messages on standard error.")
def reproduce(  # noqa: PLR0913, PLR0917 -- one parameter an option
    names: tuple[str, ...],
    seeds: int | None,
    jobs: int | None,
    quick: bool,
    output: str | None,
    stack: str | None,
    network: str | None,
    captures: str | None,
    lists: bool,
    format_name: str,
    quiet: bool,
) -> int:
    """Simulate the papers' claims, and compare the results with the printed ones.

    Name papers (gurkan-1998, heidemann-1996, eggert-1999, kruse-2001, bhalekar-2003), claims (G1, H1, …),
    baselines (analytic models beside the simulator) or all. DIR receives index.html, one page per paper,
    tables and charts. DIR also keeps the measurements: a repeated call simulates nothing, and an interrupted
    call continues.

    With --stack or --network, the claims are tested on another TCP or path. A conclusion holds if the signs
    of effects and the order of figures are the paper's, for any figures.

    The exit code is 0 for any verdict, and 2 if a run could not be simulated. The claim of that run is not
    reproduced, and the report gives the reason.
    """
    if lists:
        _list(format_name)
        return 0
    if not names:
        raise click.UsageError("say what to reproduce: a paper, a claim, or all (--list shows them)")
    from reference_sim.reproduction.experiment import Effort
    from tcptrace_http.capture import cores

    effort = Effort(seeds=seeds or (_QUICK_SEEDS if quick else _DEFAULT_SEEDS), quick=quick)
    if captures is not None:
        _write_captures(names, effort, captures, quiet=quiet)
        return 0
    substitution = _substitution(stack, network)
    folder = output or "-".join(filter(None, [_DEFAULT_FOLDER, stack, network]))
    call = _Call(names, effort, jobs or cores(), folder, substitution, quiet=quiet)
    if format_name == "markdown":
        if substitution is None:
            raise click.UsageError("markdown is a page about another stack or network: --stack NAME")
        outcomes, failures = _still_holds(call)
    else:
        draws = _has_charts(is_needed=format_name == "text" or output is not None)
        outcomes, failures = _reproduced(call, draws=draws)
        as_text = _as_text if substitution is None else _as_holding
        click.echo(_as_json(outcomes) if format_name == "json" else as_text(outcomes))
        if not quiet and draws:
            click.echo(f"tcptrace-http: {os.path.join(folder, 'index.html')}", err=True)
    for failure in failures:
        click.echo(f"tcptrace-http: could not run {failure.label}: {failure.error}", err=True)
    return _EXIT_NOT_ALL_RAN if failures else 0


@dataclass(frozen=True, slots=True)
class _Call:
    """Requested work."""

    names: Sequence[str]
    effort: Effort
    jobs: int
    folder: str
    #: Substitutes for the papers' own stack or network.
    substitution: Substitution | None
    quiet: bool = field(kw_only=True)

    @property
    def choices(self) -> list[str]:
        """Return the options that affect the results."""
        named = self.substitution
        options = ["--quick"] if self.effort.quick else []
        if self.effort.seeds != (_QUICK_SEEDS if self.effort.quick else _DEFAULT_SEEDS):
            options.append(f"--seeds {self.effort.seeds}")
        if named is not None and named.stack is not None:
            options.append(f"--stack {named.stack.name}")
        if named is not None and named.network is not None:
            options.append(f"--network {named.network.name}")
        return options

    def outcomes(self, *, is_original: bool = False) -> tuple[list[Outcome], list[Row], list[Failure]]:
        """Return the outcomes of the claims, the requested rows of the baselines, and all failures."""
        from pathlib import Path

        from reference_sim.reproduction import baselines
        from reference_sim.reproduction.registry import BASELINES, asks_for_baselines, claims_named, experiments
        from reference_sim.reproduction.runner import measurements
        from reference_sim.reproduction.runner import reproduce as run
        from reference_sim.reproduction.store import Store

        claims = claims_named(self.names)
        substitution = None if is_original else self.substitution
        with Store(Path(self.folder) / ".results") as store:
            if store.dropped and not self.quiet:
                click.echo(
                    f"tcptrace-http: {store.dropped} results in {self.folder} could not be read and are dropped",
                    err=True,
                )
            with ReproductionProgress(quiet=self.quiet) as progress:
                common: dict[str, Any] = {
                    "store": store,
                    "effort": self.effort,
                    "jobs": self.jobs,
                    "progress": progress,
                }
                outcomes = run([experiments()[claim] for claim in claims], substitution=substitution, **common)
                wanted = asks_for_baselines(self.names) and self.substitution is None
                measured = measurements({BASELINES: baselines.runs} if wanted else {}, **common)
        failures = [failure for outcome in outcomes for failure in outcome.failures]
        failures += [failure for _, failed in measured.values() for failure in failed]
        rows = [row for results, failed in measured.values() if not failed for row in baselines.rows(results)]
        return outcomes, rows, failures


def _reproduced(call: _Call, *, draws: bool) -> tuple[list[Outcome], list[Failure]]:
    """Return the outcomes of the claims and all failures; pages are written if charts can be drawn."""
    from pathlib import Path

    outcomes, rows, failures = call.outcomes()
    if not draws:
        return outcomes, failures
    from reference_sim.reproduction.report import write_report

    return outcomes, failures + write_report(outcomes, Path(call.folder), effort=call.effort, baselines=rows)


def _still_holds(call: _Call) -> tuple[list[Outcome], list[Failure]]:
    """Print the results with the substitution beside the papers' own; the page lists runs that cannot be
    simulated.
    """
    from reference_sim.reproduction.report.still_holds import still_holds

    published, _, failures = call.outcomes(is_original=True)
    outcomes, _, _ = call.outcomes()
    command = " ".join(["tcptrace-http reproduce", *call.names, *call.choices, "--format markdown"])
    title = call.substitution.title if call.substitution is not None else ""
    click.echo(still_holds(published, outcomes, title=title, command=command, effort=call.effort))
    return outcomes, failures


def _substitution(stack: str | None, network: str | None) -> Substitution | None:
    from reference_sim.networks import network as network_named
    from reference_sim.reproduction.substitution import Substitution
    from reference_sim.stacks import stack as stack_named

    if stack is None and network is None:
        return None
    return Substitution(
        stack=None if stack is None else stack_named(stack),
        network=None if network is None else network_named(network),
    )


def _write_captures(names: Sequence[str], effort: Effort, folder: str, *, quiet: bool) -> None:
    """Write every scenario of the claims as a readable file and as a capture, one by one."""
    from reference_sim.reproduction.claim_scenarios import claim_scenarios
    from reference_sim.reproduction.registry import claims_named
    from reference_sim.scenario_writer import toml_of
    from reference_sim.simulation import simulate

    for claim in claims_named(names):
        written = claim_scenarios(claim, effort)
        into = os.path.join(folder, claim)
        os.makedirs(into, exist_ok=True)
        for one in written:
            path = os.path.join(into, one.file_name)
            text = toml_of(one.scenario, comments={"": f"Claim {claim}, run {one.number}: {one.label}"})
            write(f"{path}.toml", text.encode())
            simulation = simulate(one.scenario)
            write(f"{path}.pcapng", simulation.pcapng(simulation.taps[0]))
        if not quiet:
            what = f"{len(written)} scenarios" if written else "calculated, not simulated"
            click.echo(f"tcptrace-http: {into}: {what}", err=True)


def _has_charts(*, is_needed: bool) -> bool:
    """Return whether the chart library is installed; checked before any simulation.

    :raises MissingExtra: the library is missing, and pages are requested.
    """
    from importlib.util import find_spec

    missing = [name for name in ("altair", "vl_convert") if find_spec(name) is None]
    if missing and is_needed:
        raise MissingExtra(
            f"the charts need {' and '.join(missing)} (verdicts alone do not: --format json)", "reproduce"
        )
    return not missing


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
    for paper in PAPERS.values():
        table = _claim_table([(one, ()) for one in claims().values() if one.paper == paper], (), _WIDTH - 2)
        click.echo("\n".join([paper, *(f"  {line}" for line in table), ""]))


def _claim_table(
    rows: Iterable[tuple[Claim, Sequence[str]]], headings: Sequence[Heading], width: int = _WIDTH
) -> list[str]:
    """Return one line per claim: its number, the cells of these headings, its place in the paper, its subject."""
    from tcptrace_http.report.grid import Heading, grid

    ends = (Heading("where", is_elastic=True), Heading("what", is_elastic=True))
    cells = [(claim.id, *of_claim, claim.where, claim.system) for claim, of_claim in rows]
    return grid((Heading("claim"), *headings, *ends), cells, width)


def _as_text(outcomes: Sequence[Outcome]) -> str:
    """Return a table for 80 columns, the score, and the reasons of claims that are not reproduced."""
    import textwrap

    from reference_sim.reproduction.report.tables import counts
    from reference_sim.reproduction.report.words import certainty
    from reference_sim.reproduction.verdict import Verdict
    from tcptrace_http.report.grid import Heading

    figures = (Heading(name, is_number=True) for name in ("same", "shape", "not"))
    rows = []
    reasons: list[str] = []
    for outcome in outcomes:
        of = counts([one.verdict for one in outcome.judgement.comparisons])
        claim, judgement = outcome.claim, outcome.judgement
        rows.append((claim, (str(judgement.verdict), *map(str, of.values()))))
        if judgement.verdict is Verdict.NOT_REPRODUCED:
            reasons += ["", *textwrap.wrap(f"{claim.id}: {judgement.remarks}", _WIDTH, subsequent_indent="  ")]
    total = counts([one.judgement.verdict for one in outcomes])
    score = ", ".join(f"{count} {verdict}" for verdict, count in total.items())
    unsure = [f"{one.claim.id}, {certainty(one)}" for one in outcomes if one.is_uncertain]
    table = _claim_table(rows, (Heading("verdict"), *figures))
    return "\n".join([*table, "", score, *unsure, *reasons])


def _as_holding(outcomes: Sequence[Outcome]) -> str:
    """Return, for another stack or network, whether the conclusion of each claim holds, by signs and orders."""
    from reference_sim.reproduction.conclusion import Holding, conclusion
    from tcptrace_http.report.grid import Heading

    headings = (Heading("conclusion"), Heading("kept", is_number=True), Heading("of", is_number=True))
    found = [conclusion(one.judgement.comparisons) for one in outcomes]
    rows = [
        (one.claim, ("could not run" if one.failures else str(of.holding), str(of.kept), str(of.requested)))
        for one, of in zip(outcomes, found, strict=True)
    ]
    ran = [of.holding for one, of in zip(outcomes, found, strict=True) if not one.failures]
    score = ", ".join(f"{ran.count(one)} {one}" for one in Holding)
    return "\n".join([*_claim_table(rows, headings), "", score])


def _as_json(outcomes: Sequence[Outcome]) -> str:
    """Return a list of claims, each with its comparisons; an unbounded range is null.

    ``seeds`` are the separately judged seeds, with the number that gave the overall verdict. ``conclusion``
    is the number of testable effects and orders that match the paper.
    """
    import json
    from math import isfinite

    from reference_sim.reproduction.conclusion import conclusion
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
            "is_uncertain": one.is_uncertain,
            "is_on_edge": one.judgement.is_on_edge,
            "seeds": {"judged": one.seeds, "agreeing": one.agreeing},
            "conclusion": _conclusion(conclusion(one.judgement.comparisons)),
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


def _conclusion(found: Conclusion) -> dict[str, Any]:
    return {"holding": str(found.holding), "kept": found.kept, "asked": found.requested}
