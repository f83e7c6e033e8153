"""``tcptrace-http corpus``: datasets of many captures."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import click

from tcptrace_http.cli.completion import files
from tcptrace_http.cli.corpus_report import report
from tcptrace_http.cli.key_log import key_log_option
from tcptrace_http.cli.progress import CorpusProgress, Working

if TYPE_CHECKING:
    from tcptrace_http.corpus.add import Added

__all__ = ["corpus"]

EXIT_UNUSABLE: Final = 2
EXIT_FAILED: Final = 3
_DONE: Final = ("ok", "partial")


class _Shard(click.ParamType[tuple[int, int]]):
    """Shard ``I/N``."""

    name = "shard"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:
        found = re.fullmatch(r"(\d+)/(\d+)", str(value), re.ASCII)
        if found is None or not int(found[1]) < int(found[2]):
            self.fail(f"{value!r} is no part: write I/N, as in 0/4 to 3/4", param, ctx)
        return int(found[1]), int(found[2])


def _working_options(command: click.decorators.FC) -> click.decorators.FC:
    """Add the options of commands that analyse."""
    options = (
        click.option(
            "--shard",
            type=_Shard(),
            default="0/1",
            metavar="I/N",
            help="Do part I of N, from 0, as one of N machines with the same sources.",
        ),
        click.option("--jobs", type=click.IntRange(min=1), help="Processes. Default: one for each core."),
        key_log_option,
        click.option("--executor", metavar="URL", help="Executor: dask://HOST:PORT. Default: processes."),
        click.option("--quiet", is_flag=True, help="No progress and no notices on standard error."),
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.group()
def corpus() -> None:
    r"""Make a dataset of many captures, and keep it up to date.

    A dataset is a folder, or a URL of an object store (s3, gs, az). It has one Parquet file per table, day
    and unit of captures. The commands analyze, check, plot and diff accept a dataset instead of a capture.

    \b
    Examples:
      tcptrace-http corpus add captures/ --into week
      tcptrace-http corpus status week
      tcptrace-http corpus report week
      tcptrace-http analyze week --where "elapsed > '2 s'"
    """


@corpus.command()
@click.argument("sources", metavar="SOURCE...", nargs=-1, required=True, shell_complete=files)
@click.option("--into", metavar="DATASET", required=True, help="The dataset; it is made if there is none.")
@click.option(
    "--series",
    default="auto",
    show_default=True,
    metavar="auto|file|REGEX",
    help="Files of one stream: rotated ones by their names and times (auto), none (file), or those whose path"
    " matches the expression with equal groups.",
)
@_working_options
def add(sources: tuple[str, ...], into: str, **options: Any) -> int:
    r"""Add captures to a dataset: files, globs, folders and URLs.

    Captures already in the dataset are skipped. To resume an interrupted command, run it again: complete
    units are kept. A unit whose analysis fails is reported and skipped; the exit code is then 3. The command
    retry analyses such units again.

    \b
    Examples:
      tcptrace-http corpus add captures/ 'more/*.pcap.gz' --into week
      tcptrace-http corpus add s3://traces/2026/ --into s3://results/week --executor dask://scheduler:8786
      tcptrace-http corpus add captures/ --into week --shard "$SLURM_ARRAY_TASK_ID/64"
    """
    from tcptrace_http.corpus.add import add_captures

    quiet = options.pop("quiet")
    with CorpusProgress(quiet=quiet) as progress:
        added = add_captures(sources, into=into, progress=progress, **options)
    return _told(added, into, quiet=quiet)


@corpus.command()
@click.argument("dataset", shell_complete=files)
@_working_options
def retry(dataset: str, **options: Any) -> int:
    """Analyse failed, poisonous, stale and missing units again."""
    from tcptrace_http.corpus.add import retry as do_again

    quiet = options.pop("quiet")
    with CorpusProgress(quiet=quiet) as progress:
        added = do_again(dataset, progress=progress, **options)
    return _told(added, dataset, quiet=quiet)


def _told(added: Added, dataset: str, *, quiet: bool) -> int:
    """Report the results of the units, and return the exit code."""
    for path, what in [] if quiet else added.strange.items():
        click.echo(f"tcptrace-http: {_named(path, what)}", err=True)
    for name, what in added.failed.items():
        click.echo(f"tcptrace-http: {_named(name, what)}; repeat it with: corpus retry {dataset}", err=True)
    for name, what in added.poisonous.items():
        click.echo(f"tcptrace-http: {name}: set aside, it ended its worker twice: {what}", err=True)
    if not quiet:
        click.echo(f"{dataset}: {added.units} units, {added.captures} captures, {added.rows} rows added")
    if not added.failed and not added.poisonous:
        return 0
    return EXIT_FAILED if added.captures else EXIT_UNUSABLE


def _named(path: str, what: str) -> str:
    return what if path in what else f"{path}: {what}"


@corpus.command()
@click.argument("dataset", shell_complete=files)
@click.option("--failed", "shown", flag_value="failed", help="Only units that failed or were set aside.")
@click.option("--stale", "shown", flag_value="stale", help="Only units of another version, or not done yet.")
@click.option("--json", "as_json", is_flag=True, help="JSON.")
def status(dataset: str, shown: str | None, as_json: bool) -> None:
    """List the units of a dataset that are complete, failed (with the reason), stale or missing."""
    from tcptrace_http.corpus.dataset import read_state

    state = read_state(dataset)
    kinds = {"failed": ("failed", "poisonous"), "stale": ("stale", "missing")}
    rows: list[dict[str, Any]] = [
        {
            "unit": unit.id,
            "status": state.status_of(unit),
            "name": unit.name,
            "captures": len(unit.files),
            "bytes": unit.size,
            "error": state.markers.get(unit.id, {}).get("error"),
        }
        for unit in state.units.values()
    ]
    if shown is not None:
        rows = [row for row in rows if row["status"] in kinds[shown]]
    if as_json:
        import json

        click.echo(json.dumps({"dataset": dataset, "units": rows}, indent=2))
        return
    for row in rows:
        if shown is not None or row["status"] not in _DONE:
            click.echo(
                f"{row['unit']}  {row['status']:<9}  {_named(row['name'], row['error'] or '')}".rstrip(": ")
            )
    counts = {
        name: sum(row["status"] == name for row in rows) for name in dict.fromkeys(r["status"] for r in rows)
    }
    listed = ", ".join(f"{count} {name}" for name, count in counts.items()) or "no units"
    click.echo(f"{dataset}: {listed}")


@corpus.command()
@click.argument("dataset", shell_complete=files)
@click.option("--quiet", is_flag=True, help="No progress on standard error.")
def seal(dataset: str, quiet: bool) -> None:
    """Merge the objects of each day, and delete obsolete ones.

    Do not read or add to the dataset meanwhile. Later additions stay separate until the next sealing.
    """
    from tcptrace_http.corpus.sealing import seal as put_together

    with Working("putting objects together", quiet=quiet):
        count = put_together(dataset)
    if not quiet:
        click.echo(f"{dataset}: {count} objects")


corpus.add_command(report)
