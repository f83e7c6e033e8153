"""How a table is declared: its columns with type, unit and meaning."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Column", "Table", "columns", "json_name", "of_both"]


@dataclass(frozen=True, slots=True)
class Column:
    """One column: ``dtype`` is one of the words that :func:`~tcptrace_http.schema.polars_schema` translates."""

    name: str
    dtype: str
    doc: str
    nullable: bool = False
    #: Whether the JSON contract shows the column; times get the suffix ``_ns`` there.
    in_json: bool = False
    #: Whether the value may become known only after later rows of the table.
    late: bool = False
    #: Whether it is one of the statistics, which cost time and are there only when asked for.
    is_statistic: bool = False
    #: Whether Python adds it to a native table, whose rows come without it; such columns are the last ones.
    is_added: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """One table: what a row is, and its columns in order."""

    name: str
    doc: str
    columns: tuple[Column, ...]
    #: Whether Rust makes the rows (else Python does, from the native tables).
    native: bool = True
    #: A row for each packet or record costs memory: made only when asked for, of the columns that are wanted.
    on_request: bool = False


def columns(*declarations: tuple[str, str, str]) -> tuple[Column, ...]:
    """Declare columns by (name, type, meaning).

    After the type: ``?`` nullable, ``*`` in the JSON, ``~`` late, ``+`` statistic, ``^`` added by Python.
    """
    made = []
    for name, dtype, doc in declarations:
        bare = dtype.rstrip("?*~+^")
        marks = dtype[len(bare) :]
        column = Column(
            name,
            bare,
            doc,
            nullable="?" in marks,
            in_json="*" in marks,
            late="~" in marks,
            is_statistic="+" in marks,
            is_added="^" in marks,
        )
        made.append(column)
    return tuple(made)


def of_both(*declarations: tuple[str, str, str]) -> tuple[tuple[str, str, str], ...]:
    """Declare each column for both senders: ``client_NAME`` and ``server_NAME``. Texts name {sender}, {peer}."""
    return tuple(
        (f"{sender}_{name}", dtype, doc.format(sender=f"the {sender}", peer=f"the {peer}"))
        for name, dtype, doc in declarations
        for sender, peer in (("client", "server"), ("server", "client"))
    )


def json_name(column: Column) -> str:
    """The name of a column in the JSON contract: times and durations end in ``_ns``."""
    return f"{column.name}_ns" if column.dtype in {"time", "duration"} else column.name
