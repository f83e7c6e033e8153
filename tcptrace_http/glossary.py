"""What the names in a report mean: detectors, causes, tables, columns and kinds of anomalies."""

from __future__ import annotations

from difflib import get_close_matches

from tcptrace_http.detectors import DETECTORS
from tcptrace_http.errors import UnknownName
from tcptrace_http.schema import ANOMALY_KINDS, CAUSES, TABLES, Column, Table

__all__ = ["explain", "listing"]


def explain(name: str) -> str:
    """What a name means; a column that several tables have is explained for each of them."""
    meanings = [meaning for known, meaning in _entries() if name in {known, known.rpartition(".")[2]}]
    exact = [meaning for known, meaning in _entries() if name == known]
    if exact or meanings:
        return "\n\n".join(exact or meanings)
    near = get_close_matches(name, sorted({known for known, _ in _entries()} | _column_names()), n=3)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    raise UnknownName(f"nothing is called {name!r}{hint} (without a name, explain lists all)")


def listing() -> str:
    """All names, by what they are."""
    groups = {
        "Detectors": list(DETECTORS),
        "Causes": list(CAUSES),
        "Kinds of anomalies": list(ANOMALY_KINDS),
        "Tables (their columns: explain TABLE)": list(TABLES),
    }
    return "\n\n".join(f"{title}\n" + "\n".join(f"  {name}" for name in names) for title, names in groups.items())


def _entries() -> list[tuple[str, str]]:
    """Every name with its meaning."""
    entries = [(detector.name, f"{detector.name} (detector)\n\n{detector.doc}") for detector in DETECTORS.values()]
    entries += [(name, f"{name} (cause)\n  {meaning}") for name, meaning in CAUSES.items()]
    entries += [(name, f"{name} (anomaly)\n  {meaning}") for name, meaning in ANOMALY_KINDS.items()]
    for table in TABLES.values():
        entries.append((table.name, _table(table)))
        entries += [(f"{table.name}.{column.name}", _column(table, column)) for column in table.columns]
    return entries


def _table(table: Table) -> str:
    width = max(len(column.name) for column in table.columns)
    columns = "\n".join(f"  {column.name:<{width}}  {column.doc}" for column in table.columns)
    return f"{table.name} (table)\n  {table.doc}\n\n{columns}"


def _column(table: Table, column: Column) -> str:
    nullable = ", may be null" if column.nullable else ""
    return f"{table.name}.{column.name} (column, {column.dtype}{nullable})\n  {column.doc}"


def _column_names() -> set[str]:
    return {column.name for table in TABLES.values() for column in table.columns}
