"""HAR 1.2 (Odvarko, "HTTP Archive 1.2"): what browsers' tools and waterfall viewers read.

A page is a retrieval. Timings are in milliseconds; ``dns`` is -1, for no capture of a connection shows it, and
so is ``connect`` on a connection that was used before. What each entry waited for is its ``_waits``, in
nanoseconds after its start.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import BinaryIO

    from tcptrace_http.analysis import Analysis

__all__ = ["document", "write"]

_NOT_APPLICABLE: Final = -1
_MILLISECOND: Final = 1_000_000
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_OPTIONAL_TIMES: Final = ("blocked", "dns", "connect")


def write(analyses: Iterable[Analysis], file: BinaryIO) -> None:
    """Write one archive of all captures."""
    text = json.dumps(document(analyses), ensure_ascii=False, indent=1)
    file.write(text.encode("utf-8", "backslashreplace"))
    file.write(b"\n")


def document(analyses: Iterable[Analysis]) -> dict[str, Any]:
    """The archive as an object; entries in the order in which they were asked for."""
    from tcptrace_http import __version__

    pages: list[dict[str, Any]] = []
    entries: list[dict[str, Any]] = []
    for number, analysis in enumerate(analyses):
        pages += _pages(analysis, number)
        entries += _entries(analysis, number)
    entries.sort(key=lambda entry: entry["startedDateTime"])
    creator = {"name": "tcptrace-http", "version": __version__}
    return {"log": {"version": "1.2", "creator": creator, "pages": pages, "entries": entries}}


def _pages(analysis: Analysis, number: int) -> Iterator[dict[str, Any]]:
    for row in analysis.retrievals.iter_rows(named=True):
        yield {
            "startedDateTime": _moment(_nanoseconds(row["start"])),
            "id": _page_id(number, row["retrieval"]),
            "title": row["url"] or "",
            "pageTimings": {"onContentLoad": _NOT_APPLICABLE, "onLoad": _duration(row["elapsed"])},
        }


def _entries(analysis: Analysis, number: int) -> Iterator[dict[str, Any]]:
    import polars as pl

    from tcptrace_http.rollups import har_timings

    key = ["flow", "transaction"]
    of_flows = analysis.flows.select("flow", "server", "server_port", "client_port")
    of_pages = analysis.retrieval_transactions.select(*key, "retrieval").unique(key, keep="first")
    rows = (
        analysis.transactions.rename({"index": "transaction"})
        .join(har_timings(analysis.waits), on=key, how="left")
        .join(of_flows, on="flow", how="left")
        .join(of_pages, on=key, how="left")
        .with_columns(pl.col("start_time", "end_time").to_physical().name.suffix("_ns"))
    )
    waits = _waits(analysis)
    for row in rows.sort("start_time_ns", *key).iter_rows(named=True):
        yield _entry(row, waits.get((row["flow"], row["transaction"]), []), number)


def _waits(analysis: Analysis) -> Mapping[tuple[int, int], list[dict[str, Any]]]:
    """The waits by transaction."""
    import polars as pl

    columns = (pl.col("cause").cast(pl.String), pl.col("start", "end").to_physical(), "first_frame", "last_frame")
    rows = analysis.waits.sort("flow", "transaction", "start").select("flow", "transaction", *columns).iter_rows()
    return {
        key: [
            {"cause": cause, "start_ns": start, "end_ns": end, "first_frame": first, "last_frame": last}
            for _, _, cause, start, end, first, last in these
        ]
        for key, these in groupby(rows, key=lambda row: (row[0], row[1]))
    }


def _entry(row: Mapping[str, Any], waits: list[dict[str, Any]], number: int) -> dict[str, Any]:
    timings = _timings(row)
    entry = {
        "startedDateTime": _moment(row["start_time_ns"]),
        "time": sum(each for each in timings.values() if each != _NOT_APPLICABLE),
        "request": _request(row),
        "response": _response(row),
        "cache": {},
        "timings": timings,
        "serverIPAddress": row["server"],
        "connection": str(row["client_port"]),
        "_flow": row["flow"],
        "_transaction": row["transaction"],
        "_waits": waits,
    }
    if row["retrieval"] is not None:
        entry["pageref"] = _page_id(number, row["retrieval"])
    return entry


def _timings(row: Mapping[str, Any]) -> dict[str, float]:
    """The six; what is no time of this transaction is -1 where HAR allows that."""
    made = {name: _duration(row[name]) for name in ("blocked", "dns", "connect", "send", "wait", "receive")}
    made["connect"] = _NOT_APPLICABLE if row["reused_connection"] else made["connect"]
    return {
        name: value if value != _NOT_APPLICABLE or name in _OPTIONAL_TIMES else 0.0 for name, value in made.items()
    }


def _request(row: Mapping[str, Any]) -> dict[str, Any]:
    fields = {"Host": row["host"], "Referer": row["referer"], "Accept-Encoding": row["accept_encoding"]}
    return {
        "method": row["method"] or "",
        "url": _url(row),
        "httpVersion": row["version"] or "",
        "cookies": [],
        "headers": _headers(fields),
        "queryString": _query(row["target"]),
        "headersSize": _size(row["request_header_bytes"]),
        "bodySize": _size(row["request_body_bytes"]),
    }


def _response(row: Mapping[str, Any]) -> dict[str, Any]:
    fields = {
        "Server": row["server_software"],
        "Content-Type": row["content_type"],
        "Content-Encoding": row["content_encoding"],
        "Location": row["location"],
        "ETag": row["etag"],
        "Last-Modified": row["last_modified"],
        "Cache-Control": row["cache_control"],
        "Vary": row["vary"],
    }
    return {
        "status": row["status"] or 0,
        "statusText": "",
        "httpVersion": row["version"] or "",
        "cookies": [],
        "headers": _headers(fields),
        "content": {"size": row["response_body_bytes"] or 0, "mimeType": row["content_type"] or ""},
        "redirectURL": row["location"] or "",
        "headersSize": _size(row["response_header_bytes"]),
        "bodySize": _size(row["response_body_bytes"]),
        "comment": "" if row["complete"] else "the response is not complete in the capture",
    }


def _headers(fields: Mapping[str, str | None]) -> list[dict[str, str]]:
    """The fields that an analysis keeps; a capture has more."""
    return [{"name": name, "value": value} for name, value in fields.items() if value is not None]


def _query(target: str | None) -> list[dict[str, str]]:
    from urllib.parse import parse_qsl

    query = (target or "").partition("?")[2]
    return [{"name": name, "value": value} for name, value in parse_qsl(query, keep_blank_values=True)]


def _url(row: Mapping[str, Any]) -> str:
    target = row["target"] or "/"
    if "://" in target:
        return str(target)
    address = f"[{row['server']}]" if ":" in (row["server"] or "") else row["server"]
    authority = row["host"] or f"{address}:{row['server_port']}"
    return f"http://{authority}{target}"


def _size(count: int | None) -> int:
    return _NOT_APPLICABLE if count is None else int(count)


def _duration(length: timedelta | None) -> float:
    """Milliseconds, or -1 of what is not known."""
    return _NOT_APPLICABLE if length is None else length / timedelta(milliseconds=1)


def _nanoseconds(moment: datetime) -> int:
    stamped = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return (stamped - _EPOCH) // timedelta(microseconds=1) * 1000


def _moment(nanoseconds: int | None) -> str:
    """ISO 8601 with microseconds."""
    if nanoseconds is None:
        nanoseconds = 0
    return (_EPOCH + timedelta(microseconds=nanoseconds // 1000)).isoformat(timespec="microseconds")


def _page_id(capture: int, retrieval: int) -> str:
    return f"page_{capture}_{retrieval}"
