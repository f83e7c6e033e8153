"""The JSON contract of ``analyze --format json``.

Most rows are rendered by the core and only joined here, so that a capture of many thousand
transactions costs no Python object a row. Rows that were selected, findings and waits are rendered
from their frames, by the same names.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tcptrace_http.schema import SCHEMA_VERSION, TABLES, Column, json_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import BinaryIO

    import polars as pl

    from tcptrace_http.analysis import Analysis
    from tcptrace_http.capture import Decoded

__all__ = ["write"]

#: Rows that are rendered at a time: about half a megabyte.
ROWS_IN_A_PART = 2048

_WAIT_COLUMNS = ("cause", "start", "end", "first_frame", "last_frame")


def write(analyses: Iterable[Analysis], file: BinaryIO, *, is_one: bool) -> None:
    """Write one object, or an array of them where several captures were asked for."""
    if is_one:
        for analysis in analyses:
            file.writelines(_document(analysis))
            file.write(b"\n")
        return
    for number, analysis in enumerate(analyses):
        file.write(b"[\n" if number == 0 else b",\n")
        file.writelines(_document(analysis))
    file.write(b"\n]\n")


def _document(analysis: Analysis) -> Iterator[bytes]:
    """The object of one capture, part by part."""
    yield b'{"schema_version": %d,\n"capture": %s' % (SCHEMA_VERSION, _capture(analysis))
    decoded = analysis.decoded
    arrays: dict[str, Iterable[bytes]] = {
        "flows": [_rows("flows", analysis)] if decoded is None else _native_rows("flows", decoded),
        "transactions": [_selected_transactions(analysis)]
        if decoded is None
        else _transactions(analysis, decoded),
        # Pages are not rebuilt from transactions yet: the contract has their place.
        "retrievals": [b"[]"],
        "findings": [_rows("findings", analysis) if analysis.has_candidates else b"[]"],
        "anomalies": [_rows("anomalies", analysis) if decoded is None else _anomalies(decoded)],
    }
    for name, parts in arrays.items():
        yield b',\n"%s": ' % name.encode()
        yield from parts
    yield b"}"


def _native_rows(
    name: str, decoded: Decoded, waits: dict[tuple[int, int], bytes] | None = None
) -> Iterator[bytes]:
    """The array of a native table, in parts that stay in the processor's cache."""
    yield b"["
    for first in range(0, decoded.core.row_count(name), ROWS_IN_A_PART):
        if first:
            yield b",\n"
        yield decoded.core.json_rows(name, first, ROWS_IN_A_PART, waits)
    yield b"]"


def _capture(analysis: Analysis) -> bytes:
    capture = analysis.capture
    return _encoded(
        {
            "path": capture.path,
            "packets": capture.packets,
            "tcp_packets": capture.tcp_packets,
            "first_time_ns": capture.first_time_ns,
            "last_time_ns": capture.last_time_ns,
            "truncated": capture.truncated,
            "link_types": list(capture.link_types),
        }
    )


def _transactions(analysis: Analysis, decoded: Decoded) -> Iterator[bytes]:
    waits = _waits(analysis) if analysis.has_candidates else {}
    return _native_rows("transactions", decoded, {key: _encoded(rows) for key, rows in waits.items()})


def _selected_transactions(analysis: Analysis) -> bytes:
    waits = _waits(analysis)
    rows = _objects("transactions", analysis.transactions)
    return _array([row | {"waits": waits.get((row["flow"], row["index"]), [])} for row in rows])


def _waits(analysis: Analysis) -> dict[tuple[int, int], list[dict[str, Any]]]:
    """The waits of each transaction that has any."""
    by_transaction: dict[tuple[int, int], list[dict[str, Any]]] = {}
    columns = [column for column in TABLES["waits"].columns if column.name in _WAIT_COLUMNS]
    keys = analysis.waits.select("flow", "transaction").rows()
    for key, row in zip(keys, _plain(analysis.waits, columns).iter_rows(named=True), strict=True):
        by_transaction.setdefault(key, []).append(row)
    return by_transaction


def _anomalies(decoded: Decoded) -> bytes:
    """What the core saw, and what it could not know of the file's packing."""
    seen = b"".join(_native_rows("anomalies", decoded))
    if not decoded.strangeness:
        return seen
    rows = [
        {"kind": one.kind, "frame": None, "flow": None, "offset": one.offset, "detail": one.detail}
        for one in decoded.strangeness
    ]
    return _array([*json.loads(seen), *rows])


def _rows(name: str, analysis: Analysis) -> bytes:
    return _array(_objects(name, analysis.table(name)))


def _objects(name: str, frame: pl.DataFrame) -> list[dict[str, Any]]:
    columns = [column for column in TABLES[name].columns if column.in_json]
    return _plain(frame, columns).to_dicts()


def _plain(frame: pl.DataFrame, columns: list[Column]) -> pl.DataFrame:
    """The columns by their JSON names, times as integer nanoseconds."""
    import polars as pl

    return frame.select(
        (pl.col(column.name).to_physical() if column.dtype in {"time", "duration"} else pl.col(column.name)).alias(
            json_name(column)
        )
        for column in columns
    )


def _array(rows: list[dict[str, Any]]) -> bytes:
    return b"[" + b",\n".join(_encoded(row) for row in rows) + b"]"


def _encoded(value: object) -> bytes:
    # Undecodable bytes of a path came in as lone surrogates; escaped, they are valid JSON.
    return json.dumps(value).encode("ascii")
