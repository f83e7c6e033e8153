"""``tcptrace-http init``: policy template."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from tcptrace_http.output_file import write_text

__all__ = ["init"]

_DEFAULT_PATH: Final = Path("tcptrace-http.toml")


@click.command()
@click.argument("path", type=click.Path(path_type=Path), default=_DEFAULT_PATH)
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
def init(path: Path, force: bool) -> None:
    r"""Write a policy with comments to PATH (tcptrace-http.toml), for check and probe.

    \b
    Example:
      tcptrace-http init && tcptrace-http check slow.pcapng --policy tcptrace-http.toml
    """
    if path.exists() and not force:
        raise click.UsageError(f"{path} already exists; --force overwrites it")
    from tcptrace_http.check.listing import policy_template

    write_text(path, policy_template())
    click.echo(f"tcptrace-http: wrote {path}; judge with: tcptrace-http check CAPTURE --policy {path}", err=True)
