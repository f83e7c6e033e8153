"""Declaration of tables: their columns with type, unit and meaning."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Column", "Table", "columns", "json_name", "of_both"]


@dataclass(frozen=True, slots=True)
class Column:
    """Column; ``dtype`` is a word that :func:`~tcptrace_http.schema.polars_schema` translates."""

    name: str
    dtype: str
    doc: str
    nullable: bool = False
    #: True if the JSON contract shows the column; times get the suffix ``_ns`` there.
    in_json: bool = False
    #: True if the value may become known only after later rows of the table.
    late: bool = False
    #: True for a statistic, which takes time and is made only on request.
    is_statistic: bool = False
    #: True if Python adds the column to the rows of a native table; such columns come last.
    is_added: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """Table: the meaning of a row, and its columns in order."""

    name: str
    doc: str
    columns: tuple[Column, ...]
    #: True if Rust makes the rows; otherwise Python makes them from the native tables.
    native: bool = True
    #: True if the rows are made only on request, with the requested columns: a row per packet or record costs
    #: memory.
    on_request: bool = False


def columns(*declarations: tuple[str, str, str]) -> tuple[Column, ...]:
    """Return columns declared by (name, type, meaning).

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
    """Return each column for both senders: ``client_NAME`` and ``server_NAME``. Texts name {sender}, {peer}."""
    return tuple(
        (f"{sender}_{name}", dtype, doc.format(sender=f"the {sender}", peer=f"the {peer}"))
        for name, dtype, doc in declarations
        for sender, peer in (("client", "server"), ("server", "client"))
    )


def json_name(column: Column) -> str:
    """Return the name of a column in the JSON contract: times and durations end in ``_ns``."""
    return f"{column.name}_ns" if column.dtype in {"time", "duration"} else column.name
