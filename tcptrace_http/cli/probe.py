"""``tcptrace-http probe``: check of a live server against a policy."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from tcptrace_http.cli.check import Judging, baseline_of, concluded, judging_options, output_files, policy_of

__all__ = ["probe"]


@click.command()
@click.argument("url")
@judging_options
@click.option("--path", "paths", multiple=True, metavar="PATH", help="Request this document too.")
@click.option("--save", type=click.Path(path_type=Path), help="Keep the capture in this file.")
@click.option("--no-capture", is_flag=True, help="Judge by the sockets' own times, without packets.")
@click.option("--insecure", is_flag=True, help="Do not check the server's certificate (https).")
@click.option("--http2", is_flag=True, help="Speak HTTP/2: in clear without Upgrade, in TLS by ALPN.")
@click.option(
    "--interface", metavar="NAME", help="Capture interface. Default: the interface of the route to the server."
)
@click.option(
    "--time-limit", type=click.FloatRange(min=1), default=60, show_default=True, help="Maximum time in seconds."
)
@click.option(
    "--max-requests",
    type=click.IntRange(min=1),
    default=300,
    show_default=True,
    help="Maximum number of requests.",
)
@click.option("--rate", type=click.FloatRange(min=0, min_open=True), help="Maximum number of requests per second.")
@click.option("--quiet", is_flag=True, help="No progress on standard error.")
def probe(  # noqa: PLR0913, PLR0917 -- one parameter an option
    url: str,
    paths: tuple[str, ...],
    save: Path | None,
    no_capture: bool,
    insecure: bool,
    http2: bool,
    interface: str | None,
    time_limit: float,
    max_requests: int,
    rate: float | None,
    quiet: bool,
    **judging: object,
) -> int:
    r"""Send a test workload to a live server and check how it answers.

    The probe asks only the server of URL, over http or https. Name a static document of at least 100 kB:
    parts of it (Range) represent documents of other sizes. As root, or with the capability to capture,
    tcpdump captures the packets of the probe's connections for the analysis. Otherwise the sockets' times are
    judged.

    With https the probe trusts the authorities of the system (or of SSL_CERT_FILE), and resumes sessions. The
    probe decrypts its own packets with its own secrets. No report and no --save contains the secrets. The
    file named by SSLKEYLOGFILE, if any, receives them.

    With --http2, requests are streams of one connection, first one by one and then concurrent. This option
    needs the extra http2.

    \b
    0  the policy holds
    1  a rule or threshold is violated, at the level of --fail-on or above
    2  the server or the policy is unusable
    3  no rule is violated, but at least one is inconclusive

    \b
    Examples:
      tcptrace-http probe http://localhost:8080/large.html
      tcptrace-http probe localhost/a.js --policy tcp.toml --output-file junit:tcp.xml
      tcptrace-http probe https://localhost:8443/large.html --insecure
      tcptrace-http probe https://localhost:8443/large.html --http2
      tcptrace-http probe http://10.0.0.2/ --path /small.json --save probe.pcap
    """
    from tcptrace_http.probe import Limits
    from tcptrace_http.probe import probe as run

    requested = Judging(**judging)  # type: ignore[arg-type]
    files, known = output_files(requested, others=[save]), baseline_of(requested)
    report = run(
        url,
        policy=policy_of(requested),
        limits=Limits(time=time_limit, requests=max_requests, rate=rate),
        paths=paths,
        fail_on=requested.level,
        captures=not no_capture,
        interface=interface,
        insecure=insecure,
        http2=http2,
        save=save,
        progress=None if quiet or not sys.stderr.isatty() else _shown,
    )
    return concluded(report, requested, files, known)


def _shown(step: str) -> None:
    """Show the step on a terminal, in place of the previous one."""
    click.echo(f"\r\x1b[Kprobing: {step}" if step else "\r\x1b[K", err=True, nl=False)
