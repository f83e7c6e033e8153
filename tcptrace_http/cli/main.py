"""Command ``tcptrace-http``: its subcommands, and the end of every failure.

Exit codes: 0 success; 1 a violated check; 2 usage error or unreadable input; 3 an inconclusive check; 130
interrupted, as a shell reports SIGINT. Users see no traceback, unless TCPTRACE_HTTP_TRACEBACK is set.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from typing import Any, Final

import click

from tcptrace_http._version import __version__
from tcptrace_http.cli.analyze import analyze
from tcptrace_http.cli.check import check
from tcptrace_http.cli.corpus import corpus
from tcptrace_http.cli.diff import diff
from tcptrace_http.cli.explain import explain
from tcptrace_http.cli.infer import infer
from tcptrace_http.cli.init import init
from tcptrace_http.cli.plot import plot
from tcptrace_http.cli.probe import probe
from tcptrace_http.cli.reproduce import reproduce
from tcptrace_http.cli.simulate import simulate
from tcptrace_http.cli.streams import broken_pipe_ends, prepare_streams
from tcptrace_http.cli.whatif import whatif
from tcptrace_http.errors import TcptraceError

PROGRAM: Final = "tcptrace-http"
EXIT_UNUSABLE: Final = 2
_EXIT_INTERRUPTED: Final = 130


_EPILOG: Final = """\b
Examples:
  tcptrace-http analyze slow.pcapng
  tcptrace-http analyze --format html -o slow.html slow.pcapng
  tcptrace-http plot time-sequence slow.pcapng -o slow.svg
  tcptrace-http explain short-initial-segment

\b
Completion of commands, names and files, in bash, zsh and fish:
  eval "$(_TCPTRACE_HTTP_COMPLETE=bash_source tcptrace-http)"
  eval "$(_TCPTRACE_HTTP_COMPLETE=zsh_source tcptrace-http)"
  _TCPTRACE_HTTP_COMPLETE=fish_source tcptrace-http | source
"""


class _Commands(click.Group):
    """Subcommands. Without this class, click would set its own exit code when a reader goes away."""

    def add_command(self, cmd: click.Command, name: str | None = None) -> None:
        """Add a command; its docstring is raw, so this method inserts the marks of verbatim lines."""
        for one in (cmd, *getattr(cmd, "commands", {}).values()):
            if one.help is not None:
                one.help = one.help.replace("\\b", "\b")
        super().add_command(cmd, name)

    def make_context(self, *given: Any, **options: Any) -> click.Context:
        with broken_pipe_ends():
            return super().make_context(*given, **options)

    def invoke(self, ctx: click.Context) -> Any:
        with broken_pipe_ends():
            return super().invoke(ctx)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]}, epilog=_EPILOG)
@click.version_option(__version__, prog_name=PROGRAM)
def commands() -> None:
    """Analyse packet captures: where HTTP transactions spend their time, and why."""


commands.add_command(analyze)
commands.add_command(check)
commands.add_command(corpus)
commands.add_command(diff)
commands.add_command(explain)
commands.add_command(infer)
commands.add_command(init)
commands.add_command(plot)
commands.add_command(probe)
commands.add_command(reproduce)
commands.add_command(simulate)
commands.add_command(whatif)


def main() -> None:
    """Run the command line, and end the process with its exit code."""
    # A run is short and leaves little garbage in cycles; its collection costs more than it returns.
    gc.disable()
    prepare_streams()
    code = run()
    with contextlib.suppress(OSError):  # run has reported the error already
        sys.stdout.flush()
    sys.stderr.flush()
    # All output is written. The teardown of modules and tables would take as long as ten thousand packets.
    os._exit(code)


def run(arguments: list[str] | None = None) -> int:
    """Run the command line, by default with the arguments of the process; return the exit code."""
    try:
        return _completed(arguments)
    except SystemExit as end:  # click has sent completions to a shell
        return end.code if isinstance(end.code, int) else EXIT_UNUSABLE
    except click.ClickException as error:
        error.show()
        return EXIT_UNUSABLE
    except (KeyboardInterrupt, click.Abort):
        return _EXIT_INTERRUPTED
    except BaseException as error:
        # BaseException: a panic of the core is no Exception.
        if "TCPTRACE_HTTP_TRACEBACK" in os.environ:
            raise
        return _failed(
            f"internal error: {type(error).__name__}: {error}; "
            "please report it with what TCPTRACE_HTTP_TRACEBACK=1 shows"
        )


def _completed(arguments: list[str] | None) -> int:
    """Run a subcommand; failures with an external cause become a line and a code."""
    try:
        code = commands.main(arguments, prog_name=PROGRAM, standalone_mode=False)
        sys.stdout.flush()
    except TcptraceError as error:
        return _failed(str(error))
    except OSError as error:
        return _failed(f"{error.filename or 'output'}: {error.strerror or error}")
    return code if isinstance(code, int) else 0


def _failed(message: str) -> int:
    click.echo(f"{PROGRAM}: {message}", err=True)
    return EXIT_UNUSABLE
