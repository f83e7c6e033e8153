"""Meanings of the names in reports: detectors, causes, needs, tables, columns, anomaly and flaw kinds, terms,
and names of other tools.
"""

from __future__ import annotations

from difflib import get_close_matches

from tcptrace_http.causes import RULES
from tcptrace_http.detectors import DETECTORS, NEEDS, Detector
from tcptrace_http.documentation import detector_page
from tcptrace_http.errors import UnknownName
from tcptrace_http.peers import names_for, peer
from tcptrace_http.rollups import ROLLUPS
from tcptrace_http.schema import ANOMALY_KINDS, CAUSES, FLAWS, TABLES, Column, Table
from tcptrace_http.terms import REPORT_COLUMNS, TERMS, ReportColumn, Term

__all__ = ["explain", "explain_peer", "listing"]

_UNITS = {"time": "UTC, nanoseconds", "duration": "nanoseconds"}


def explain(name: str) -> str:
    """Return the meaning of a name; a column of several tables or reports is explained for each of them.

    >>> import tcptrace_http
    >>> tcptrace_http.explain("stall.cork_timeout").splitlines()[0]
    'stall.cork_timeout (cause)'

    :raises UnknownName: the name is unknown.
    """
    entries = _entries()
    exact = [meaning for known, meaning in entries if name == known]
    columns = [meaning for known, meaning in entries if name == known.rpartition(".")[2]]
    # Abbreviations are written in capitals but often typed in lower case.
    words = [meaning for known, meaning in _words() if name.casefold() == known.casefold()]
    if exact or columns or words:
        return "\n\n".join([*words, *(exact or columns)])
    near = get_close_matches(name, sorted(names()), n=3)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    raise UnknownName(f"nothing is called {name!r}{hint} (without a name, explain lists all)")


def names() -> set[str]:
    """Return every name that :func:`explain` knows."""
    return {known for known, _ in (*_entries(), *_words())} | _column_names()


def listing() -> str:
    """Return all names, grouped by kind."""
    groups = {
        "Detectors": list(DETECTORS),
        "Causes": list(CAUSES),
        "Kinds of anomalies": list(ANOMALY_KINDS),
        "Flaws of a capture": list(FLAWS),
        "Needs of detectors": list(NEEDS),
        "Tables (their columns: explain TABLE)": list(TABLES),
        "Terms": list(TERMS),
        "Columns of the text reports": list(REPORT_COLUMNS),
    }
    return "\n\n".join(f"{title}\n" + "\n".join(f"  {name}" for name in names) for title, names in groups.items())


def _entries() -> list[tuple[str, str]]:
    """Return the names of tables, detectors and causes with their meanings."""
    entries = [(detector.name, _detector(detector)) for detector in DETECTORS.values()]
    entries += [(name, _cause(name)) for name in CAUSES]
    entries += [(name, f"{name} (anomaly)\n  {meaning}") for name, meaning in ANOMALY_KINDS.items()]
    entries += [(name, f"{name} (flaw of a capture)\n  {meaning}") for name, meaning in FLAWS.items()]
    entries += [
        (name, f"{name} (need of a detector)\n  {need.what}; spoiled by the flaw {need.flaw}")
        for name, need in NEEDS.items()
    ]
    for table in TABLES.values():
        entries.append((table.name, _table(table)))
        entries += [(f"{table.name}.{column.name}", _column(table, column)) for column in table.columns]
    return entries


def _words() -> list[tuple[str, str]]:
    """Return the terms and the text report columns with their meanings."""
    words = [(name, _term(name, term)) for name, term in TERMS.items()]
    return words + [
        (title, _report_column(title, one)) for title, columns in REPORT_COLUMNS.items() for one in columns
    ]


def _term(name: str, term: Term) -> str:
    used = "term of this program" if term.ours else "term"
    return f"{name} ({used})\n  {term.meaning}" + (f"\n\nSource\n  {term.source}" if term.source else "")


def _report_column(title: str, column: ReportColumn) -> str:
    held = f"\n  The value is in {column.column}." if column.column else ""
    return f"{title} (column of the text report: {column.report})\n  {column.meaning}{held}"


def explain_peer(tool: str, name: str | None = None) -> str:
    """Return the fields of a tool with our columns for them, or only the field ``name``."""
    known = peer(tool)
    shown = [field for field in known.fields if name is None or field.name == name]
    if not shown:
        near = get_close_matches(name or "", [field.name for field in known.fields], n=3)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        raise UnknownName(f"{tool} has no field {name!r}{hint}")
    width = max(len(field.name) for field in shown)
    lines = [known.about, ""]
    for field in shown:
        lines.append(f"  {field.name:<{width}}  {' '.join(field.columns) or '(no column)'}")
        lines += [f"  {'':<{width}}  {field.note}"] * bool(field.note)
    return "\n".join(lines)


def _detector(detector: Detector) -> str:
    needs = "\n".join(f"  {name}: {NEEDS[name].what}" for name in detector.needs) or "  nothing"
    reads = " ".join(detector.reads)
    return (
        f"{detector.name} (detector)\n\n{detector.doc}\n\nReads\n  {reads}\n\nNeeds of the capture\n{needs}\n\n"
        f"Page\n  {detector_page(detector.name)}"
    )


def _cause(name: str) -> str:
    rule, up = RULES[name], ROLLUPS[name]
    return (
        f"{name} (cause)\n  {CAUSES[name]}\n\nRecognised by\n  {rule.told_by}\n\nSource\n  {rule.source}\n\n"
        f"Rolls up to\n  HAR timing: {up.har}\n  RFC 4898: {up.rfc4898}\n  TAPO: {up.tapo}"
    )


def _table(table: Table) -> str:
    width = max(len(column.name) for column in table.columns)
    columns = "\n".join(f"  {column.name:<{width}}  {column.doc}" for column in table.columns)
    return f"{table.name} (table)\n  {table.doc}\n\n{columns}"


def _column(table: Table, column: Column) -> str:
    qualities = [column.dtype, _UNITS.get(column.dtype, "")]
    qualities += ["may be null" * column.nullable, "a statistic, made on request" * column.is_statistic]
    lines = [f"{table.name}.{column.name} (column, {', '.join(filter(None, qualities))})", f"  {column.doc}"]
    for tool, field in names_for(f"{table.name}.{column.name}"):
        note = f": {field.note}" if field.note else ""
        lines.append(f"  {tool.name} {field.name}{note}")
    return "\n".join(lines)


def _column_names() -> set[str]:
    return {column.name for table in TABLES.values() for column in table.columns}
