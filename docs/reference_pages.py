"""Generator of reference pages: detectors, causes, tables, commands, glossary, limits and others.

Each page shares its source with ``explain``, ``--help`` and the catalogue: no text is written twice. The
pages are not committed. ``conf.py`` calls :func:`write` before each build.
"""

from __future__ import annotations

import configparser
import re
import shutil
import sys
import textwrap
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from reference_sim import catalogue
from reference_sim.reproduction.claim import claims
from tcptrace_http.causes import RULES
from tcptrace_http.check import listing
from tcptrace_http.check.metrics import METRICS
from tcptrace_http.check.policy_file import PRESETS
from tcptrace_http.cli.main import commands
from tcptrace_http.detectors import DETECTORS, NEEDS
from tcptrace_http.peers import PEERS, peer
from tcptrace_http.remedies import remedies
from tcptrace_http.rollups import ROLLUPS
from tcptrace_http.schema import ANOMALY_KINDS, CAUSES, FLAWS, TABLES
from tcptrace_http.terms import REPORT_COLUMNS, TERMS
from tcptrace_http.what_if import FIXES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tcptrace_http.detectors import Detector
    from tcptrace_http.schema import Column

ROOT: Final = Path(__file__).resolve().parents[1]
#: Generated folders; none of their files is committed.
FOLDERS: Final = ("detectors", "reference")

#: Detectors by subject, in the order of a reader's interest.
GROUPS: Final = {
    "Nagle, delayed-ACK and corking stalls": """short-initial-segment odd-short-final-segment nagle-delayed-ack
        nagle-hold delayed-ack-first-segment cork-timeout""",
    "Window and buffer limits": """initial-window slow-start-restart repeated-slow-start stretch-ack
        small-send-buffer receive-window-limit zero-window""",
    "Loss, reordering and queueing delay": """retransmission-timeout tail-loss syn-retransmission
        spurious-retransmission reordering queueing-delay undelivered-data""",
    "Connection use": """connection-per-request keep-alive-refused parallel-connection-burst competing-bundle
        idle-timeout-race lost-pipelined-requests refused-connection unanswered-connection unanswered-request
        reset-in-response truncated-response""",
    "Requests and responses that wait": """slow-server head-of-line-blocking request-lull expect-continue-wait
        redirect-chain""",
    "TLS": """tls-ticket-nagle tls-handshake-nagle tls-client-hello-split tls-flight-exceeds-window
        tls-hello-retry tls-no-resumption slow-handshake-server tls-record-exceeds-window""",
    "HTTP/2": """h2-stream-window h2-connection-window h2-window-update-late h2-tcp-head-of-line
        h2-send-buffer-inversion h2-settings-wait h2-connection-churn""",
    "Avoidable bytes and packets": """uncompressed-text unconditional-repeat duplicate-object
        delta-eligible-repeat unfilled-segments split-request""",
    "Flaws of the capture": """one-sided-capture mid-stream-start capture-gap truncated-payload
        segmentation-offload no-pure-acks local-acks""",
}
#: Names that are no ordinary words: at least three words long.
_OTHER_DETECTOR: Final = re.compile(
    rf"(?<![\w`/-])({'|'.join(name for name in DETECTORS if name.count('-') > 1)})(?![\w`/-])"
)
_UNITS: Final = {"time": "time, UTC, nanoseconds", "duration": "duration, nanoseconds"}
_LIMIT: Final = re.compile(r"^\| `(\w+)` \| `[^`]+` \| `[^`]+` \| .+ \|$")
_URL: Final = re.compile(r"(?<![<(\w])https?://[^\s;,)]+[^\s;,).]")


def write(docs: Path) -> None:
    """Write all generated pages below ``docs``."""
    for folder in FOLDERS:
        shutil.rmtree(docs / folder, ignore_errors=True)
    for path, text in pages().items():
        target = docs / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")


def pages() -> dict[str, str]:
    """Return the text of every generated page by its path."""
    made = {"detectors/index.md": _detectors(), "reference/index.md": _index()}
    made |= {f"detectors/{name}.md": _detector(detector) for name, detector in DETECTORS.items()}
    made |= {f"reference/{path}.md": page() for path, (_, page) in _REFERENCE.items()}
    made |= {f"reference/tables/{name}.md": _table(name) for name in TABLES}
    return made | {f"reference/commands/{name}.md": _command(name) for name in commands.commands}


def _index() -> str:
    lines = "".join(f"- [{title}]({path}.md)\n" for path, (title, _) in _REFERENCE.items())
    return f"# Reference\n\nThese pages are generated from the program.\n\n{lines}\n{_toctree(_REFERENCE)}"


def _toctree(paths: Iterable[str]) -> str:
    return "```{toctree}\n:hidden:\n\n" + "\n".join(paths) + "\n```\n"


def _detectors() -> str:
    about = "A detector finds one pathology. Its page has the symptom, the evidence, the fix and the source."
    parts = [f"# Detectors\n\n{about}\n"]
    for title, names in GROUPS.items():
        rows = [(f"[{name}]({name}.md)", _markdown(_first_line(DETECTORS[name]))) for name in names.split()]
        parts.append(f"## {title}\n\n{_grid(('detector', 'finds'), rows)}")
    return "\n".join([*parts, _toctree(name for names in GROUPS.values() for name in names.split())])


def _first_line(detector: Detector) -> str:
    return detector.doc.partition("\n\n")[0].replace("\n", " ")


def _detector(detector: Detector) -> str:
    """Return the docstring as a page, with the detector's remedies and needs."""
    name = detector.name
    remedied = [one for one in remedies() if name in one.detectors]
    settings = list(dict.fromkeys(f"- {_markdown(one.words)} ([source]({one.source}))" for one in remedied))
    gathered = {gather.name: gather.table for gather in detector.gathers}
    read = dict.fromkeys(gathered.get(table, table) for table in detector.reads)
    tables = ", ".join(f"[{table}](../reference/tables/{table}.md)" for table in read)
    needs = [f"- {NEEDS[need].what} (missing: [{_flaw(need)}]({_flaw(need)}.md))" for need in detector.needs]
    causes = [f"- [`{cause}`](../reference/causes.md#{_anchor(cause)})" for cause in detector.causes]
    fixes = [f"- `{fix.name}`: {_markdown(fix.about)}" for fix in FIXES.values() if name in fix.fixed_findings]
    sections = {
        "Settings": settings,
        "What-if fixes": fixes,
        "Causes": causes,
        "Needs of the capture": needs,
        "Reads": [tables],
    }
    more = "".join(f"\n## {title}\n\n" + "\n".join(lines) + "\n" for title, lines in sections.items() if lines)
    return f"# {name}\n\n{_sections(detector.doc)}\n{more}"


def _flaw(need: str) -> str:
    return NEEDS[need].flaw.replace("_", "-")


def _sections(doc: str) -> str:
    """Return a docstring with underlined titles as Markdown; detector names are links."""
    text = _markdown(re.sub(r"^(.+)\n-{3,}$", r"## \1\n", doc, flags=re.MULTILINE))
    return _OTHER_DETECTOR.sub(r"[\1](\1.md)", text)


def _markdown(text: str) -> str:
    """Convert a docstring's text: code in single backticks, addresses as links, literal angle brackets."""
    parts = re.split(r"(``.+?``)", text, flags=re.DOTALL)
    return "".join(
        f"`{' '.join(part[2:-2].split())}`"
        if part.startswith("``")
        else _URL.sub(r"<\g<0>>", part.replace("<", "\\<").replace("*", "\\*").replace("$", "\\$"))
        for part in parts
    )


def _causes() -> str:
    parts = ["# Causes\n\nEvery nanosecond of a transaction has exactly one cause.\n"]
    for name, meaning in CAUSES.items():
        rule, up = RULES[name], ROLLUPS[name]
        found = [f"[{one.name}](../detectors/{one.name}.md)" for one in DETECTORS.values() if name in one.causes]
        rows = [("Recognised by", _markdown(rule.told_by)), ("Source", _markdown(rule.source))]
        rows += [("HAR timing", up.har), ("RFC 4898 state", up.rfc4898), ("TAPO stall", up.tapo)]
        rows += [("Detectors", ", ".join(found))] * bool(found)
        parts.append(f"## {name}\n\n{_markdown(meaning)}.\n\n{_grid(('', ''), rows)}")
    return "\n".join(parts)


def _tables() -> str:
    rows = [
        (f"[{name}](tables/{name}.md)", _markdown(table.doc), str(len(table.columns)))
        for name, table in TABLES.items()
    ]
    toctree = _toctree(f"tables/{name}" for name in TABLES)
    return f"# Tables\n\n{_grid(('table', 'rows', 'columns'), rows)}\n{toctree}"


def _table(name: str) -> str:
    table = TABLES[name]
    request = "\nThe table is made on request: `analyze(path, tables=[…])`.\n" if table.on_request else ""
    rows = [(f"`{column.name}`", _kind(column), _markdown(column.doc)) for column in table.columns]
    return f"# {name}\n\n{_markdown(table.doc)}\n{request}\n{_grid(('column', 'type', 'meaning'), rows)}"


def _kind(column: Column) -> str:
    marks = ["nullable"] * column.nullable + ["statistic"] * column.is_statistic
    return ", ".join([_UNITS.get(column.dtype, column.dtype).replace("enum:", ""), *marks])


def _commands() -> str:
    rows = [
        (f"[{name}](commands/{name}.md)", _markdown(command.get_short_help_str(200)))
        for name, command in sorted(commands.commands.items())
    ]
    toctree = _toctree(f"commands/{name}" for name in sorted(commands.commands))
    return f"# Commands\n\n{_grid(('command', 'does'), rows)}\n{toctree}"


def _command(name: str) -> str:
    """Return the help of a command: usage, prose, options, examples."""
    command = commands.commands[name]
    context = click.Context(command, info_name=f"tcptrace-http {name}", max_content_width=100)
    usage = command.get_usage(context).removeprefix("Usage: ")
    records = [record for option in command.get_params(context) if (record := option.get_help_record(context))]
    options = [(f"`{names}`", _markdown(words)) for names, words in records if words]
    prose = "\n\n".join(map(_paragraph, (command.help or "").split("\n\n")))
    table = _grid(("option", "meaning"), options)
    return f"# {name}\n\n```text\n{usage}\n```\n\n{prose}\n\n## Options\n\n{table}"


def _paragraph(text: str) -> str:
    """Return a paragraph of a help text; a paragraph that click leaves unwrapped is a code block."""
    lines = text.strip("\n").splitlines()
    if not lines or lines[0].strip() != "\b":
        return _markdown(" ".join(text.split()))
    title, *code = lines[1:]
    shown = _code(textwrap.dedent("\n".join(code)).strip())
    return f"{title.strip()}\n\n{shown}"


def _glossary() -> str:
    terms = [
        (f"**{name}**", _markdown(term.meaning), "this program" if term.ours else _markdown(term.source))
        for name, term in TERMS.items()
    ]
    columns = [
        (f"**{title}**", one.report, one.meaning, f"`{one.column}`" if one.column else "")
        for title, several in REPORT_COLUMNS.items()
        for one in several
    ]
    return (
        "# Glossary\n\n`tcptrace-http explain TERM` prints the same.\n\n## Terms\n\n"
        + _grid(("term", "meaning", "source"), terms)
        + "\n## Columns of the text reports\n\n"
        + _grid(("column", "report", "meaning", "value in"), columns)
    )


def _anomalies() -> str:
    anomalies = [(f"`{name}`", _markdown(meaning)) for name, meaning in ANOMALY_KINDS.items()]
    flaws = [
        (f"[{name}](../detectors/{name.replace('_', '-')}.md)", _markdown(words)) for name, words in FLAWS.items()
    ]
    needs = [(f"`{name}`", need.what, f"`{need.flaw}`") for name, need in NEEDS.items()]
    return (
        "# Anomalies and flaws\n\nAn anomaly is strange traffic, or a strange file. It is a row of the table"
        " `anomalies`, and no error.\n\n"
        + _grid(("kind", "meaning"), anomalies)
        + "\n## Flaws of a capture\n\nA flaw is"
        " a way in which the capture of a flow differs from the packets on the wire.\n\n"
        + _grid(("flaw", "meaning"), flaws)
        + "\n## Needs of detectors\n\nA detector that lacks what it needs is `inconclusive`.\n\n"
        + _grid(("need", "meaning", "spoiled by"), needs)
    )


def _policies() -> str:
    metrics = [(f"`{name}`", _markdown(metric.doc), str(metric.unit)) for name, metric in METRICS.items()]
    presets = "".join(f"\n### {name}\n\n{_code(listing.meaning(name) or '')}" for name in PRESETS)
    return (
        "# Policies\n\n[How to check captures](../ci.md) shows a policy. `tcptrace-http init` writes one with"
        " comments.\n\n## Metrics\n\nAggregates: avg, count, max, med, min, p(N).\n\n"
        + _grid(("metric", "meaning", "unit"), metrics)
        + f"\n## Presets\n{presets}"
    )


def _fixes() -> str:
    rows = [
        (
            f"`{fix.name}`",
            str(fix.side),
            _markdown(fix.about),
            " ".join(f"[{name}](../detectors/{name}.md)" for name in fix.fixed_findings),
            _markdown(fix.source),
        )
        for fix in FIXES.values()
    ]
    return f"# Fixes\n\n{_grid(('fix', 'side', 'change', 'fixes findings of', 'source'), rows)}"


def _simulations() -> str:
    parts = ["# Simulations\n\nThe names that a scenario can use. `tcptrace-http explain NAME` prints the same.\n"]
    for kind, title in catalogue.KINDS.items():
        of_kind = [entry for entry in catalogue.entries() if entry.kind == kind]
        parts.append(f"## {title}\n")
        parts += [f"### {entry.name}\n\n{_code(catalogue.explain(entry.name) or '')}" for entry in of_kind]
    return "\n".join(parts)


def _peers() -> str:
    parts = ["# Names of other tools\n\n`tcptrace-http explain --peer TOOL` prints the same.\n"]
    for name in PEERS:
        tool = peer(name)
        rows = [
            (f"`{field.name}`", " ".join(f"`{column}`" for column in field.columns), _markdown(field.note))
            for field in tool.fields
        ]
        parts.append(f"## {name}\n\n{_markdown(tool.about)}\n\n{_grid(('field', 'columns', 'difference'), rows)}")
    return "\n".join(parts)


def _claims() -> str:
    about = "`tcptrace-http reproduce` simulates each claim and compares the figures: [The papers](../papers.md)."
    parts = [f"# Claims of the papers\n\n{about}\n"]
    for paper in dict.fromkeys(claim.paper for claim in claims().values()):
        rows = [
            (one.id, _markdown(one.where), _markdown(one.system), _markdown(one.says))
            for one in claims().values()
            if one.paper == paper
        ]
        parts.append(f"## {paper}\n\n{_grid(('claim', 'where', 'subject', 'claim in our words'), rows)}")
    return "\n".join(parts)


def _limits() -> str:
    """Return the table of CONTRIBUTING.md: a test compares it with the constants in the sources."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").splitlines()
    rows = [line for line in text if _LIMIT.match(line)]
    return (
        "# Limits\n\nA capture must not decide how much memory its analysis takes. Each limit is a constant. Data"
        " beyond a limit is a row `limit_reached` of the table `anomalies`, unless the table says otherwise.\n\n"
        "| constant | value | where | beyond it |\n|---|---|---|---|\n" + "\n".join(rows) + "\n"
    )


def _known_faults() -> str:
    """Return the test cases that the program still gets wrong."""
    faults = tomllib.loads((ROOT / "tests/shortfalls.toml").read_text(encoding="utf-8"))
    about = (
        "Each line is a test case with a known right answer that the program does not give. A repaired case"
        " must leave the list: the test suite fails until it does. Times are milliseconds."
    )
    parts = [f"# Known faults\n\n{about}\n"]
    for kind, cases in faults.items():
        rows = [(_markdown(name), _markdown(tells)) for name, tells in cases.items()]
        parts.append(f"## {kind.capitalize()} ({len(rows)})\n\n{_grid(('case', 'answer'), rows)}")
    return "\n".join(parts)


def _python() -> str:
    import tcptrace_http

    described = [_described(name) for name in tcptrace_http.__all__ if name != "__version__"]
    return (
        "# Python\n\nThe public names are in `tcptrace_http.__all__`. Tables are polars frames; their columns are"
        " in [Tables](tables.md).\n\n" + "\n".join(described)
    )


def _described(name: str) -> str:
    import tcptrace_http

    it = getattr(tcptrace_http, name)
    directive = "autofunction"
    if isinstance(it, type):
        directive = "autoexception" if issubclass(it, Exception) else "autoclass"
    members = "\n   :members:" if directive == "autoclass" else ""
    return f"## {name}\n\n```{{eval-rst}}\n.. {directive}:: {it.__module__}.{name}{members}\n```\n"


def _extras() -> str:
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg", encoding="utf-8")
    rows = [
        (f"`{name}`", ", ".join(f"`{line}`" for line in words.splitlines() if line and not line.startswith("#")))
        for name, words in setup["options.extras_require"].items()
    ]
    return (
        "# Extras\n\nAn extra installs the libraries of a feature: `pip install 'tcptrace-http[charts]'`."
        f" In a clone: `pip install '.[charts]'`.\n\n{_grid(('extra', 'libraries'), rows)}"
    )


def _code(text: str) -> str:
    return f"```text\n{text}\n```\n"


def _anchor(heading: str) -> str:
    """Return the anchor that MyST gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _grid(headings: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [headings, tuple("---" for _ in headings), *rows]
    return "".join(
        "| " + " | ".join(cell.replace("\n", " ").replace("|", "\\|") for cell in line) + " |\n" for line in lines
    )


#: Reference pages: title and text.
_REFERENCE: Final[dict[str, tuple[str, Callable[[], str]]]] = {
    "commands": ("Commands", _commands),
    "python": ("Python", _python),
    "tables": ("Tables", _tables),
    "causes": ("Causes", _causes),
    "glossary": ("Glossary", _glossary),
    "anomalies": ("Anomalies and flaws", _anomalies),
    "policies": ("Policies: metrics and presets", _policies),
    "fixes": ("Fixes (whatif)", _fixes),
    "simulations": ("Simulations: strategies, pages, networks, stacks", _simulations),
    "claims": ("Claims of the papers", _claims),
    "peers": ("Names of other tools", _peers),
    "limits": ("Limits", _limits),
    "known-faults": ("Known faults", _known_faults),
    "extras": ("Extras", _extras),
}


if __name__ == "__main__":
    sys.exit("make docs builds the site")
