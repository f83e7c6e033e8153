"""JSON contract of ``analyze --format json``.

The core renders most rows, and this module joins them. A capture of many thousand transactions thus needs no
Python object per row. Selected rows, findings and waits are rendered from their frames, with the same names.
"""

from __future__ import annotations

import json
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from tcptrace_http.schema import SCHEMA_VERSION, TABLES, Column, json_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import BinaryIO

    import polars as pl

    from tcptrace_http.analysis import Analysis
    from tcptrace_http.capture import Decoded
    from tcptrace_http.pages import Pages
    from tcptrace_http.trace import Provenance

__all__ = ["document", "write"]

#: Number of rows rendered at a time: about half a megabyte.
ROWS_IN_A_PART = 2048

#: Number of pages rendered at a time: a page may have a path of a thousand steps.
PAGES_IN_A_PART = 64

#: Separator between two rows, as the core writes it.
ROW_END = b",\n"


def write(documents: Iterable[Iterable[bytes]], file: BinaryIO, *, is_one: bool) -> None:
    """Write one document, or an array of documents for several captures."""
    if is_one:
        for parts in documents:
            file.writelines(parts)
            file.write(b"\n")
        return
    for number, parts in enumerate(documents):
        file.write(b"[\n" if number == 0 else b",\n")
        file.writelines(parts)
    file.write(b"\n]\n")


def document(batches: Iterable[Analysis]) -> Iterator[bytes]:
    """Yield the object of one capture in parts; the whole capture is read before the first part.

    The capture comes as one analysis, or as several with the rows that became final since the previous one.
    """
    remaining = iter(batches)
    begun = list(islice(remaining, 2))
    return _of_one(begun[0]) if len(begun) == 1 else _of_many(chain(_handed_over(begun), remaining))


def _handed_over(begun: list[Analysis]) -> Iterator[Analysis]:
    """Yield the objects of a list, which keeps none of them."""
    while begun:
        yield begun.pop(0)


def _of_one(analysis: Analysis) -> Iterator[bytes]:
    decoded = analysis.decoded
    arrays: dict[str, Iterable[bytes]] = {
        "flows": _rows("flows", analysis) if decoded is None else _native_rows("flows", decoded),
        "transactions": [_selected_transactions(analysis)]
        if decoded is None
        else _transactions(analysis, decoded),
        "hops": _rows("hops", analysis) if analysis.may_have_hops else [b"[]"],
        "retrievals": [_selected_retrievals(analysis)] if decoded is None else _retrievals(analysis.pages),
        "findings": _rows("findings", analysis) if analysis.may_have_findings else [b"[]"],
        "inconclusive": _rows("inconclusive", analysis) if analysis.may_have_findings else [b"[]"],
        "anomalies": _rows("anomalies", analysis)
        if decoded is None
        else _joined(_anomalies(decoded), _complaint(analysis.pages)),
    }
    return _object(analysis.capture, arrays)


def _retrievals(pages: Pages) -> Iterator[bytes]:
    """Yield the retrievals in parts, each with its critical path."""
    rows = pages.rows
    parts = (rows.json(first, PAGES_IN_A_PART) for first in range(0, rows.count("retrievals"), PAGES_IN_A_PART))
    return _array_of(_separated(parts))


def _selected_retrievals(analysis: Analysis) -> bytes:
    path = analysis.critical_path
    by_retrieval: dict[int, list[dict[str, Any]]] = {}
    for number, row in zip(path["retrieval"], _objects("critical_path", path), strict=True):
        by_retrieval.setdefault(number, []).append(row)
    rows = _objects("retrievals", analysis.retrievals)
    return _array([row | {"critical_path": by_retrieval.get(row["retrieval"], [])} for row in rows])


def _of_many(batches: Iterable[Analysis]) -> Iterator[bytes]:
    """Yield the object of many batches: each batch's rows are stored at once, and memory holds one batch."""
    put_by = _PutBy()
    for analysis in batches:
        put_by.add(analysis)
        capture = analysis.capture
        # The next batch is made while this one is released.
        del analysis
    return _object(capture, put_by.arrays())


class _PutBy:
    """Rows of a capture's batches: findings and anomalies in memory, the others on disk.

    Rows about the capture itself need all batches.
    """

    def __init__(self) -> None:
        from tcptrace_http.judged import Judged
        from tcptrace_http.report.runs import Runs

        self._judged = Judged()
        self._flows, self._transactions = Runs(), Runs()
        self._hops: list[pl.DataFrame] = []
        self._strange: list[bytes] = []

    def add(self, analysis: Analysis) -> None:
        if analysis.decoded is None:
            raise ValueError("rows were selected from a part of a capture")
        rows = analysis.decoded.rows
        waits = _encoded_waits(analysis)
        self._flows.add(rows.count("flows"), partial(rows.json, "flows"))
        self._transactions.add(rows.count("transactions"), partial(rows.json, "transactions", waits=waits))
        if analysis.may_have_hops:
            self._hops.append(analysis.hops)
        self._judged.add(analysis)
        self._strange.append(_anomalies(analysis.decoded))

    def arrays(self) -> dict[str, Iterable[bytes]]:
        return {
            "flows": _array_of(self._flows.merged()),
            "transactions": _array_of(self._transactions.merged()),
            "hops": _hops(self._hops),
            "retrievals": _retrievals(self._judged.pages),
            "findings": _frame_rows("findings", self._judged.findings),
            "inconclusive": _frame_rows("inconclusive", self._judged.inconclusive),
            "anomalies": _joined(*self._strange, _complaint(self._judged.pages)),
        }


def _object(capture: Provenance, arrays: dict[str, Iterable[bytes]]) -> Iterator[bytes]:
    yield b'{"schema_version": %d,\n"capture": %s' % (SCHEMA_VERSION, _capture(capture))
    for name, parts in arrays.items():
        yield b',\n"%s": ' % name.encode()
        yield from parts
    yield b"}"


def _array_of(parts: Iterable[bytes]) -> Iterator[bytes]:
    yield b"["
    yield from parts
    yield b"]"


def _hops(parts: list[pl.DataFrame]) -> Iterator[bytes]:
    """Yield the hops of all batches, in the order of a single batch."""
    if not parts:
        return iter([b"[]"])
    import polars as pl

    return _frame_rows("hops", pl.concat(parts).sort("flow", "transaction", "start"))


def _native_rows(
    name: str, decoded: Decoded, waits: dict[tuple[int, int], bytes] | None = None
) -> Iterator[bytes]:
    """Yield the array of a native table, in parts that fit the CPU cache."""
    yield b"["
    for first in range(0, decoded.rows.count(name), ROWS_IN_A_PART):
        if first:
            yield ROW_END
        yield decoded.rows.json(name, first, ROWS_IN_A_PART, waits)
    yield b"]"


def _capture(capture: Provenance) -> bytes:
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
    return _native_rows("transactions", decoded, _encoded_waits(analysis))


def _encoded_waits(analysis: Analysis) -> dict[tuple[int, int], bytes]:
    """Return the waits of transactions that differ from the core's."""
    waits = _by_transaction(analysis.changed_waits) if analysis.may_have_hops else {}
    return {key: _encoded(rows) for key, rows in waits.items()}


def _selected_transactions(analysis: Analysis) -> bytes:
    waits = _by_transaction(analysis.waits)
    rows = _objects("transactions", analysis.transactions)
    return _array([row | {"waits": waits.get((row["flow"], row["index"]), [])} for row in rows])


def _by_transaction(waits: pl.DataFrame) -> dict[tuple[int, int], list[dict[str, Any]]]:
    """Return the waits by transaction."""
    by_transaction: dict[tuple[int, int], list[dict[str, Any]]] = {}
    keys = waits.select("flow", "transaction").rows()
    for key, row in zip(keys, _objects("waits", waits), strict=True):
        by_transaction.setdefault(key, []).append(row)
    return by_transaction


def _anomalies(decoded: Decoded) -> bytes:
    """Return the anomalies of the traffic, and of the file's packing, which the core does not know."""
    seen = b"".join(_native_rows("anomalies", decoded))
    rows = [
        {"kind": one.kind, "frame": None, "flow": None, "offset": one.offset, "detail": one.detail}
        for one in decoded.strangeness
    ]
    parts = [seen[1:-1], *(_encoded(row) for row in rows)]
    return ROW_END.join(part for part in parts if part)


def _joined(*parts: bytes) -> list[bytes]:
    """Return the array of the rows in all parts, some of which may be empty."""
    return [b"[", ROW_END.join(part for part in parts if part), b"]"]


def _complaint(pages: Pages) -> bytes:
    """Return the row about missing pages, if any."""
    if pages.complaint is None:
        return b""
    return _encoded(
        {"kind": "limit_reached", "frame": None, "flow": None, "offset": None, "detail": pages.complaint}
    )


def _rows(name: str, analysis: Analysis) -> Iterator[bytes]:
    return _frame_rows(name, analysis.table(name))


def _frame_rows(name: str, frame: pl.DataFrame) -> Iterator[bytes]:
    """Yield the array of a frame's rows in parts; Python objects would take ten times the memory."""
    columns = [column for column in TABLES[name].columns if column.in_json]
    parts = (
        _lines(frame.slice(first, ROWS_IN_A_PART), columns) for first in range(0, frame.height, ROWS_IN_A_PART)
    )
    return _array_of(_separated(parts))


def _lines(frame: pl.DataFrame, columns: list[Column]) -> bytes:
    return _plain(frame, columns).write_ndjson().encode().rstrip().replace(b"\n", ROW_END)


def _separated(parts: Iterable[bytes]) -> Iterator[bytes]:
    for number, part in enumerate(parts):
        if number:
            yield ROW_END
        yield part


def _objects(name: str, frame: pl.DataFrame) -> list[dict[str, Any]]:
    columns = [column for column in TABLES[name].columns if column.in_json]
    return _plain(frame, columns).to_dicts()


def _plain(frame: pl.DataFrame, columns: list[Column]) -> pl.DataFrame:
    """Return the columns with their JSON names, times as integer nanoseconds."""
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
    # Undecodable bytes of a path are lone surrogates; escaped, they are valid JSON.
    return json.dumps(value).encode("ascii")
