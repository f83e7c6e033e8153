"""``tcptrace-http simulate``: a capture of what never happened, with the truth beside it."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import click

from tcptrace_http.cli.completion import files, parts_of_simulations
from tcptrace_http.cli.output import check_outputs, write
from tcptrace_http.cli.progress import SimulationProgress
from tcptrace_http.output_file import errors_kept, replacing

if TYPE_CHECKING:
    from reference_sim.scenario import Scenario
    from reference_sim.simulation import Simulation

__all__ = ["simulate"]

_DEFAULT_STACK: Final = "reno"
_NANOSECONDS: Final = 1_000_000_000


@click.command()
@click.option(
    "--strategy",
    metavar="NAME",
    shell_complete=parts_of_simulations("strategy"),
    help="How the page is retrieved.",
)
@click.option("--page", metavar="NAME", shell_complete=parts_of_simulations("page"), help="What is retrieved.")
@click.option(
    "--network",
    metavar="NAME",
    shell_complete=parts_of_simulations("network"),
    help="What lies between client and server.",
)
@click.option(
    "--stack",
    metavar="NAME",
    shell_complete=parts_of_simulations("stack"),
    help=f"The TCP of both ends. Default: {_DEFAULT_STACK}.",
)
@click.option(
    "--server-stack",
    metavar="NAME",
    shell_complete=parts_of_simulations("stack"),
    help="The TCP of the server, where it is another.",
)
@click.option(
    "--tls",
    metavar="NAME",
    shell_complete=parts_of_simulations("tls"),
    help="TLS of the connections, by name. Default: none.",
)
@click.option(
    "--scenario", "file", metavar="FILE", shell_complete=files, help="A scenario in TOML, in place of all these."
)
@click.option("--seed", type=click.IntRange(0, (1 << 64) - 1), help="The same seed gives the same bytes.")
@click.option(
    "--at", metavar="PLACE", help="Where to capture: client, server, or a node or link. Default: client."
)
@click.option(
    "--truth", metavar="PATH", help="Write what really happened: a .json file, or a folder of Parquet files."
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
    tls: str | None,
    file: str | None,
    seed: int | None,
    at: str | None,
    truth: str | None,
    output: str | None,
    lists: bool,
    format_name: str,
    quiet: bool,
) -> None:
    r"""Simulate the retrieval of a page, and write it as a capture.

    Either name a strategy, a page and a network (--list shows them, explain NAME says what one is), or
    give a scenario in TOML.

    \b
    Examples:
      tcptrace-http simulate --list
      tcptrace-http simulate --strategy http11-pipelined --page heidemann --network lan -o page.pcapng
      tcptrace-http simulate --strategy http11 --page heidemann --network wan --tls tls-1.3 -o page.pcapng
      tcptrace-http simulate --scenario office.toml --truth truth.json -o office.pcapng
    """
    if lists:
        from tcptrace_http.cli import catalogue

        click.echo(catalogue.as_json() if format_name == "json" else catalogue.as_text())
        return
    parts = _Parts(strategy, page, network, stack, server_stack, tls)
    if output is None:
        raise click.UsageError("say where the capture goes: -o OUT.pcapng")
    check_outputs([output, truth], [file])
    scenario = parts.from_file(file) if file is not None else parts.retrieval()
    _run(scenario, at, seed, output, truth, quiet=quiet)


@dataclass(frozen=True, slots=True)
class _Parts:
    """What a scenario is made of, where no file says it."""

    strategy: str | None
    page: str | None
    network: str | None
    stack: str | None
    server_stack: str | None
    tls: str | None

    def from_file(self, path: str) -> Scenario:
        """The scenario of a file, which says it all."""
        from reference_sim.scenario_file import read

        if any((self.strategy, self.page, self.network, self.stack, self.server_stack, self.tls)):
            raise click.UsageError("--scenario says what is simulated; leave the other names out")
        return read(path)

    def retrieval(self) -> Scenario:
        """One retrieval of a page."""
        from reference_sim.workloads import retrieval

        for option, value in (("strategy", self.strategy), ("page", self.page), ("network", self.network)):
            if value is None:
                raise click.UsageError(f"--{option} is missing (--list shows what there is), or --scenario FILE")
        return retrieval(
            strategy=self.strategy or "",
            page=self.page or "",
            network=self.network or "",
            client_stack=self.stack or _DEFAULT_STACK,
            server_stack=self.server_stack,
            tls=self.tls,
        )


def _run(
    scenario: Scenario, at: str | None, seed: int | None, output: str, truth: str | None, *, quiet: bool
) -> None:
    from reference_sim.scenario import Record
    from reference_sim.simulation import simulate as run
    from reference_sim.workloads import tap_at

    # A file may have taps already; a place that is asked for comes in their stead.
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
    """One JSON object with a list of rows for each table, or a Parquet file for each table."""
    from dataclasses import fields

    tables = {field.name: getattr(simulation.truth, field.name) for field in fields(simulation.truth)}
    if path.endswith(".json"):
        # Each table writes its own rows: times as text, in the way that reads back to the nanosecond.
        rows = ",\n".join(f'"{name}": {frame.write_json()}' for name, frame in tables.items())
        write(path, f"{{{rows}}}\n".encode())
        return
    os.makedirs(path, exist_ok=True)
    for name, frame in tables.items():
        with replacing(os.path.join(path, f"{name}.parquet")) as parquet, errors_kept(parquet) as sink:
            frame.write_parquet(sink)


def _summary(simulation: Simulation) -> str:
    """What was simulated, in a line."""
    from tcptrace_http.quantity import counted

    truth = simulation.truth
    connections = counted(truth.connections.height, "connection")
    transactions = counted(truth.transactions.height, "transaction")
    seconds = simulation.end_ns / _NANOSECONDS
    return f"captured at {simulation.taps[0]}; {connections}, {transactions} in {seconds:.6f} simulated seconds"
