"""``tcptrace-http simulate``: capture of a simulation, with the ground truth."""

from __future__ import annotations

import os
from dataclasses import astuple, dataclass, replace
from typing import TYPE_CHECKING, Final

import click

from tcptrace_http.cli.completion import claim_names, files, part_of_simulation
from tcptrace_http.cli.output import check_outputs, write
from tcptrace_http.cli.progress import SimulationProgress
from tcptrace_http.output_file import errors_kept, replacing

if TYPE_CHECKING:
    from reference_sim.scenario import Scenario
    from reference_sim.simulation import Simulation

__all__ = ["simulate"]

_NANOSECONDS: Final = 1_000_000_000


@click.command()
@part_of_simulation("--strategy", "strategy", about="Retrieval strategy.")
@part_of_simulation(
    "--page", "page", about="Page. Default of this and the next options: the value of the strategy's paper."
)
@part_of_simulation("--network", "network", about="Network between client and server.")
@part_of_simulation("--stack", "stack", about="The TCP of both ends.")
@part_of_simulation("--server-stack", "stack", about="The TCP of the server, if different.")
@click.option("--think", metavar="DURATION", help="The reader's pause between two visits: 3s, 500ms.")
@part_of_simulation("--tls", "tls", about="TLS of the connections, by name. Default: none.")
@click.option(
    "--scenario", "file", metavar="FILE", shell_complete=files, help="A scenario in TOML, in place of all these."
)
@click.option(
    "--claim",
    metavar="CLAIM",
    shell_complete=claim_names,
    help="A scenario of a paper's claim (H1), in place of all these; with --list, all scenarios of the claim.",
)
@click.option("--run", metavar="LABEL|N", help="Which scenario of the claim. Default: the first.")
@click.option("--seed", type=click.IntRange(0, (1 << 64) - 1), help="The same seed gives the same bytes.")
@click.option(
    "--at", metavar="PLACE", help="Where to capture: client, server, or a node or link. Default: client."
)
@click.option(
    "--truth", metavar="PATH", help="Write the ground truth: a .json file, or a folder of Parquet files."
)
@click.option(
    "-o",
    "--output",
    metavar="PATH",
    help="Write the capture: pcapng, or pcap by its suffix; - is stdout.",
)
@click.option(
    "--list", "lists", is_flag=True, help="List strategies, pages, networks, stacks and TLS, and do nothing else."
)
@click.option(
    "--format",
    "format_name",
    type=click.Choice(("text", "json")),
    default="text",
    help="Format of --list. Default: text.",
)
@click.option("--quiet", is_flag=True, help="No progress and no summary on standard error.")
def simulate(  # noqa: PLR0913, PLR0917 -- one parameter an option
    strategy: str | None,
    page: str | None,
    network: str | None,
    stack: str | None,
    server_stack: str | None,
    think: str | None,
    tls: str | None,
    file: str | None,
    claim: str | None,
    run: str | None,
    seed: int | None,
    at: str | None,
    truth: str | None,
    output: str | None,
    lists: bool,
    format_name: str,
    quiet: bool,
) -> None:
    r"""Simulate the retrieval of a page, and write it as a capture.

    A strategy has its paper's page, network, TCP stacks, hosts and pauses (explain NAME shows them). Each
    named part replaces the paper's part. A combination that cannot show the paper's effect gives a warning.
    Alternatively, give a scenario in TOML, or a claim of a paper.

    \b
    Examples:
      tcptrace-http simulate --list
      tcptrace-http simulate --strategy p-http-apache-1.1b4 -o stalls.pcapng
      tcptrace-http simulate --strategy p-http-restart-reset --think 10s -o restart.pcapng
      tcptrace-http simulate --strategy http11 --page heidemann --network wan --tls tls-1.3 -o page.pcapng
      tcptrace-http simulate --claim H1 --run p-http-headers-fix -o table-1.pcapng
      tcptrace-http simulate --scenario office.toml --truth truth.json -o office.pcapng
    """
    parts = _Parts(strategy, page, network, stack, server_stack, think, tls)
    if run is not None and claim is None:
        raise click.UsageError("--run is a scenario of a claim: --claim H1 --run 2")
    if lists:
        click.echo(_listed(claim, format_name))
        return
    if output is None:
        raise click.UsageError("name the output file: -o OUT.pcapng")
    check_outputs([output, truth], [file])
    _check_alone(parts, file, claim)
    scenario = _of_claim(claim, run, quiet=quiet) if claim is not None else parts.scenario(file, quiet=quiet)
    _run(scenario, at, seed, output, truth, quiet=quiet)


@dataclass(frozen=True, slots=True)
class _Parts:
    """Parts of a scenario that no file and no claim defines."""

    strategy: str | None
    page: str | None
    network: str | None
    stack: str | None
    server_stack: str | None
    think: str | None
    tls: str | None

    def scenario(self, file: str | None, *, quiet: bool) -> Scenario:
        """Return the scenario of a file, or the paper's strategy with the named parts replaced."""
        if file is not None:
            from reference_sim.scenario_file import read

            return read(file)
        if self.strategy is None:
            raise click.UsageError("--strategy, --scenario or --claim is required (--list shows all strategies)")
        return self._as_published(self.strategy, quiet=quiet)

    def _as_published(self, name: str, *, quiet: bool) -> Scenario:
        from reference_sim.contradictions import contradictions
        from reference_sim.quantities import nanoseconds
        from reference_sim.strategies import named_strategy
        from reference_sim.workloads import published_scenario

        strategy = named_strategy(name)
        made = published_scenario(
            strategy,
            page=self.page,
            network=self.network,
            client_stack=self.stack,
            server_stack=self.server_stack,
            think=None if self.think is None else nanoseconds(self.think),
            tls=self.tls,
        )
        if not quiet:
            for warning in contradictions(strategy, made):
                click.echo(f"tcptrace-http: warning: {warning}", err=True)
        return made


def _check_alone(parts: _Parts, file: str | None, claim: str | None) -> None:
    """Refuse part names beside a file or claim."""
    if file is not None and claim is not None:
        raise click.UsageError("--scenario and --claim exclude each other; omit one")
    if (file is not None or claim is not None) and any(astuple(parts)):
        option = "--scenario" if claim is None else "--claim"
        raise click.UsageError(f"{option} defines the whole simulation; omit the other names")


def _of_claim(claim: str, run: str | None, *, quiet: bool) -> Scenario:
    from reference_sim.reproduction.claim_scenarios import named_scenario

    found = named_scenario(claim, run)
    if not quiet:
        click.echo(f"tcptrace-http: claim {found.claim}, run {found.number}: {found.label}", err=True)
    return found.scenario


def _listed(claim: str | None, format_name: str) -> str:
    """Return the available names, or the runs of a claim."""
    from tcptrace_http.cli import catalogue

    if claim is None:
        return catalogue.as_json() if format_name == "json" else catalogue.as_text()
    from reference_sim.reproduction.claim_scenarios import claim_scenarios

    runs = claim_scenarios(claim)
    if format_name == "json":
        import json

        return json.dumps([{"run": one.number, "label": one.label} for one in runs], indent=2, ensure_ascii=False)
    if not runs:
        return f"{claim.upper()} is calculated, not simulated"
    width = len(str(len(runs)))
    return "\n".join(f"{one.number:>{width}}  {one.label}" for one in runs)


def _run(
    scenario: Scenario, at: str | None, seed: int | None, output: str, truth: str | None, *, quiet: bool
) -> None:
    from reference_sim.scenario import Record
    from reference_sim.simulation import simulate as run
    from reference_sim.workloads import tap_at

    # A requested place replaces the taps of a file.
    if at is not None or not scenario.taps:
        scenario = replace(scenario, taps=(tap_at(scenario.network, at or "client"),))
    scenario = replace(scenario, record=Record() if truth is None else Record.everything())
    with SimulationProgress(quiet=quiet) as progress:
        simulation = run(scenario, seed=seed, progress=progress)
    place = simulation.taps[0]
    capture = simulation.pcap(place) if output.endswith(".pcap") else simulation.pcapng(place)
    write(output, capture)
    if truth is not None:
        _write_truth(simulation, truth)
    if not quiet:
        click.echo(f"tcptrace-http: {output}: {_summary(simulation)}", err=True)


def _write_truth(simulation: Simulation, path: str) -> None:
    """Write one JSON object with a list of rows per table, or one Parquet file per table."""
    from dataclasses import fields

    tables = {field.name: getattr(simulation.truth, field.name) for field in fields(simulation.truth)}
    if path.endswith(".json"):
        # Each table writes its own rows, with times as text that reads back to the nanosecond.
        rows = ",\n".join(f'"{name}": {frame.write_json()}' for name, frame in tables.items())
        write(path, f"{{{rows}}}\n".encode())
        return
    os.makedirs(path, exist_ok=True)
    for name, frame in tables.items():
        with replacing(os.path.join(path, f"{name}.parquet")) as parquet, errors_kept(parquet) as sink:
            frame.write_parquet(sink)


def _summary(simulation: Simulation) -> str:
    """Return a one-line summary of the simulation."""
    from tcptrace_http.quantity import counted

    truth = simulation.truth
    connections = counted(truth.connections.height, "connection")
    transactions = counted(truth.transactions.height, "transaction")
    seconds = simulation.end_ns / _NANOSECONDS
    return f"captured at {simulation.taps[0]}; {connections}, {transactions} in {seconds:.6f} simulated seconds"
