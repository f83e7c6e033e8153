"""``tcptrace-http check``: check of captures against a policy, for CI."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from tcptrace_http.cli.completion import files
from tcptrace_http.cli.dataset import dataset_part
from tcptrace_http.cli.key_log import key_log_option
from tcptrace_http.cli.output import check_outputs
from tcptrace_http.cli.progress import Progress
from tcptrace_http.output_file import write_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from collections.abc import Set as AbstractSet

    from tcptrace_http.check import CheckReport, Gathered, Level, Policy

__all__ = ["Judging", "baseline_of", "check", "concluded", "judging_options", "output_files", "policy_of"]

EXIT_FAILED: Final = 1
EXIT_UNUSABLE: Final = 2
EXIT_INCONCLUSIVE: Final = 3
#: Default policy.
_DEFAULT_PRESET: Final = "recommended"
#: Copy of ``FORMATS`` of :mod:`tcptrace_http.check.formats`; a test compares them. That import is slow.
FORMAT_NAMES: Final = ("text", "json", "junit", "sarif", "github", "gitlab", "tap", "markdown")
_PRESET_NAMES: Final = ("recommended", "strict", "lan", "satellite")


def judging_options(command: click.decorators.FC) -> click.decorators.FC:
    """Add the options of every command that judges by a policy."""
    options = (
        click.option("--policy", type=click.Path(path_type=Path), help="Judge by this TOML file."),
        click.option(
            "--preset",
            type=click.Choice(_PRESET_NAMES),
            help="Judge by a preset of the program. Default: recommended.",
        ),
        click.option("--select", multiple=True, metavar="NAME", help="Judge only these detectors and metrics."),
        click.option("--ignore", multiple=True, metavar="NAME", help="Do not judge these detectors and metrics."),
        click.option(
            "--fail-on",
            type=click.Choice(("error", "warning", "never")),
            default="error",
            show_default=True,
            help="Lowest severity that fails the check (exit code 1).",
        ),
        click.option(
            "--baseline",
            type=click.Path(path_type=Path),
            help="Only violations that this file lacks fail; --write-baseline writes the file.",
        ),
        click.option(
            "--write-baseline", type=click.Path(path_type=Path), help="Write all violations to this file."
        ),
        click.option(
            "--output-format",
            type=click.Choice(FORMAT_NAMES),
            default="text",
            show_default=True,
            help="Format of standard output.",
        ),
        click.option(
            "--output-file",
            "output_files",
            multiple=True,
            metavar="FORMAT:PATH",
            help="Write the report to a file too; may be given several times.",
        ),
        click.option(
            "--inconclusive",
            type=click.Choice(("pass", "fail")),
            help="Exit code of an inconclusive verdict: pass is 0, fail is 1. Default: 3.",
        ),
        click.option(
            "--redact/--no-redact",
            default=None,
            help="Replace query values and users of URLs. Default: in sarif, junit, github and gitlab.",
        ),
        click.option(
            "--location",
            metavar="FILE",
            help="File of the annotations: the server's configuration in the repository. Default: the capture.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


@dataclass(frozen=True, kw_only=True, slots=True)
class Judging:
    """Values of :func:`judging_options`."""

    policy: Path | None
    preset: str | None
    select: tuple[str, ...]
    ignore: tuple[str, ...]
    fail_on: str
    baseline: Path | None
    write_baseline: Path | None
    output_format: str
    output_files: tuple[str, ...]
    location: str | None
    inconclusive: str | None
    redact: bool | None

    @property
    def level(self) -> Level | None:
        """Return the minimum level of a violation that fails."""
        from tcptrace_http.check import Level

        return None if self.fail_on == "never" else Level(self.fail_on)


@dataclass(frozen=True, slots=True)
class _Reading:
    """Reading of captures."""

    keylog: str | None
    jobs: int | None
    quiet: bool


@click.command()
@click.argument("captures", metavar="CAPTURE...", nargs=-1, shell_complete=files)
@judging_options
@click.option("--list", "lists", is_flag=True, help="List detectors, metrics and presets, and end.")
@key_log_option
@click.option("--jobs", type=click.IntRange(min=1), help="Threads. Default: one for each core.")
@click.option("--quiet", is_flag=True, help="No progress on standard error.")
def check(
    captures: tuple[str, ...],
    lists: bool,
    keylog: str | None,
    jobs: int | None,
    quiet: bool,
    **judging: object,
) -> int:
    r"""Check captures against a policy (exit code 1 if violated).

    \b
    0  the policy holds
    1  a rule or threshold is violated, at the level of --fail-on or above
    2  a capture or the policy is unusable
    3  no rule is violated, but at least one is inconclusive

    Rules allow or forbid findings of detectors; thresholds limit metrics. The command init writes a policy
    with comments, and --list shows all names.

    \b
    Examples:
      tcptrace-http check api.pcapng
      tcptrace-http check *.pcap --policy tcp.toml --output-file sarif:tcp.sarif
      tcptrace-http check new.pcap --baseline known.json --fail-on warning
    """
    if lists:
        from tcptrace_http.check.listing import listing

        click.echo(listing(), nl=False)
        return 0
    if not captures:
        raise click.UsageError("Missing argument 'CAPTURE...'.")
    requested = Judging(**judging)  # type: ignore[arg-type]
    from tcptrace_http.capture import expand
    from tcptrace_http.check import check as judge

    inputs = [*expand(captures), *([keylog] if keylog else [])]
    files, known = output_files(requested, inputs), baseline_of(requested)
    unreadable: list[str] = []
    policy = policy_of(requested)
    judged = _gathered(captures, policy, _Reading(keylog, jobs, quiet), unreadable)
    report = judge(judged, policy=policy, fail_on=requested.level)
    return concluded(replace(report, unreadable=tuple(unreadable)), requested, files, known)


def baseline_of(requested: Judging) -> AbstractSet[str] | None:
    """Return the named baseline, read first: an invalid one then costs no work."""
    from tcptrace_http.check.baseline import load_baseline

    return None if requested.baseline is None else load_baseline(requested.baseline)


def concluded(
    report: CheckReport,
    requested: Judging,
    files: Iterable[tuple[str, Path]],
    known: AbstractSet[str] | None,
) -> int:
    """Write the requested reports, and return the exit code."""
    from tcptrace_http.check import baseline as baselines

    if requested.write_baseline is not None:
        write_text(requested.write_baseline, baselines.baseline_of(report))
    if known is not None:
        report = baselines.against(report, known)
    if requested.location is not None:
        report = replace(report, location=requested.location)
    _written(report, requested, files)
    return _exit_code(report, requested.inconclusive)


def policy_of(requested: Judging) -> Policy:
    """Return the policy of the options, reduced to the selection.

    :raises click.UsageError: two policies are named, or a name is neither a detector nor a metric.
    """
    from tcptrace_http.check import load_policy, preset
    from tcptrace_http.check.metrics import METRICS
    from tcptrace_http.detectors import DETECTORS

    if requested.policy is not None and requested.preset is not None:
        raise click.UsageError(
            "--policy and --preset are two policies; a file extends a preset with extends = NAME"
        )
    known = {*DETECTORS, *METRICS}
    for name in (*requested.select, *requested.ignore):
        if name not in known:
            raise click.UsageError(_unknown(name, known))
    policy = (
        load_policy(requested.policy)
        if requested.policy is not None
        else preset(requested.preset or _DEFAULT_PRESET)
    )
    return policy.only(selected=frozenset(requested.select), ignored=frozenset(requested.ignore))


def _unknown(name: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, sorted(known), n=1)
    hint = f"did you mean {near[0]!r}?" if near else "--list has all of them"
    return f"there is no detector or metric {name!r}; {hint}"


def output_files(
    requested: Judging, inputs: Iterable[str] = (), others: Iterable[Path | None] = ()
) -> list[tuple[str, Path]]:
    """Return the files to write with their formats; neither they nor ``others`` may replace an input.

    :raises click.UsageError: a file replaces an input, or has no format.
    """
    files = []
    for one in requested.output_files:
        name, colon, path = one.partition(":")
        if not colon or not path or name not in FORMAT_NAMES:
            raise click.UsageError(
                f"--output-file {one}: write FORMAT:PATH, FORMAT one of {', '.join(FORMAT_NAMES)}"
            )
        files.append((name, Path(path)))
    outputs = [*(path for _, path in files), requested.write_baseline, *others]
    check_outputs(outputs, [*inputs, requested.policy, requested.baseline])
    return files


def _gathered(
    captures: tuple[str, ...], policy: Policy, reading: _Reading, unreadable: list[str]
) -> Iterator[Gathered]:
    """Yield the check input of each capture; unreadable captures are reported and noted."""
    from tcptrace_http.analysis import analyze_in_batches
    from tcptrace_http.capture import expand
    from tcptrace_http.check import gathered
    from tcptrace_http.errors import CaptureError

    for path in expand(captures):
        if (part := dataset_part(path)) is not None:
            from tcptrace_http.corpus.checked import gathered_of

            yield from gathered_of(part, policy)
            continue
        try:
            with Progress(quiet=reading.quiet) as progress:
                parts = analyze_in_batches(path, jobs=reading.jobs, progress=progress, keylog=reading.keylog)
                yield gathered(parts, policy)
        except CaptureError as error:
            click.echo(f"tcptrace-http: {error}", err=True)
            unreadable.append(str(error))


def _written(report: CheckReport, requested: Judging, files: Iterable[tuple[str, Path]]) -> None:
    """Write the report to standard output and to files."""
    from tcptrace_http.check.formats import render

    for name, path in files:
        write_text(path, render(report, name, redact=requested.redact))
    click.echo(render(report, requested.output_format, redact=requested.redact), nl=False)


def _exit_code(report: CheckReport, inconclusive: str | None) -> int:
    """Return the exit code of the verdict."""
    from tcptrace_http.check import Verdict

    if report.verdict is Verdict.FAILED:
        return EXIT_FAILED
    if report.unreadable:
        return EXIT_UNUSABLE
    if report.verdict is not Verdict.INCONCLUSIVE:
        return 0
    return {"pass": 0, "fail": EXIT_FAILED, None: EXIT_INCONCLUSIVE}[inconclusive]
