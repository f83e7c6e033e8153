"""HAR 1.2 (Odvarko, "HTTP Archive 1.2"), the format of browser tools and waterfall viewers.

A page is a retrieval. Timings are in milliseconds. ``dns`` is -1, because a capture of a connection never
shows it. ``connect`` is -1 on a reused connection. ``ssl`` is the TLS part of ``connect``, and -1 without
TLS. ``_waits`` holds the waits of an entry, in nanoseconds after its start. A TLS exchange is ``_opaque``:
its URL has only the host, and it has no method or status. An HTTP/2 stream is an entry with ``_h2``. Its
``headersSize`` is -1, because HAR means the head's text, which HTTP/2 does not send.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, quote

from tcptrace_http.http2_names import error_name, grpc_call, grpc_status_name
from tcptrace_http.redaction import escaped_controls
from tcptrace_http.rollups import HAR_TIMINGS, har_timings, tls_timings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import BinaryIO

    from tcptrace_http.analysis import Analysis

__all__ = ["document", "write"]

_NOT_APPLICABLE: Final = -1
_MILLISECOND: Final = 1_000_000
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_OPTIONAL_TIMES: Final = ("blocked", "dns", "connect")
#: Target in absolute form (RFC 9112, section 3.2.2): a URI, not a path with a URI in its query.
_ABSOLUTE: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
#: Reserved characters, and the percent sign of existing escapes (RFC 3986, section 2).
_URI_CHARACTERS: Final = ":/?#@!$&'()*+,;=%"
_HOST_CHARACTERS: Final = ":[]!$&'()*+,;=%"


def write(analyses: Iterable[Analysis], file: BinaryIO) -> None:
    """Write one archive of all captures."""
    text = json.dumps(document(analyses), ensure_ascii=False, indent=1)
    file.write(escaped_controls(text).encode("utf-8", "backslashreplace"))
    file.write(b"\n")


def document(analyses: Iterable[Analysis]) -> dict[str, Any]:
    """Return the archive as an object; entries in request order."""
    from tcptrace_http._version import __version__

    pages: list[dict[str, Any]] = []
    entries: list[dict[str, Any]] = []
    for number, analysis in enumerate(analyses):
        pages += _pages(analysis, number)
        entries += _entries(analysis, number)
    entries.sort(key=lambda entry: entry["startedDateTime"])
    creator = {"name": "tcptrace-http", "version": __version__}
    return {"log": {"version": "1.2", "creator": creator, "pages": pages, "entries": entries}}


def _pages(analysis: Analysis, number: int) -> Iterator[dict[str, Any]]:
    import polars as pl

    moments = pl.col("start", "elapsed").to_physical().name.suffix("_ns")
    for row in analysis.retrievals.with_columns(moments).iter_rows(named=True):
        yield {
            "startedDateTime": _moment(row["start_ns"]),
            "id": _page_id(number, row["retrieval"]),
            "title": row["url"] or "",
            "pageTimings": {"onContentLoad": _NOT_APPLICABLE, "onLoad": _duration(row["elapsed_ns"])},
        }


def _entries(analysis: Analysis, number: int) -> Iterator[dict[str, Any]]:
    import polars as pl

    key = ["flow", "transaction"]
    names = analysis.tls_handshakes.select("flow", "server_name")
    columns = ("flow", "server", "server_port", "client_port", pl.col("protocol").alias("carried"))
    of_flows = analysis.flows.select(columns).join(names, on="flow", how="left")
    of_pages = analysis.retrieval_transactions.select(*key, "retrieval").unique(key, keep="first")
    rows = (
        analysis.transactions.rename({"index": "transaction"})
        .join(har_timings(analysis.waits), on=key, how="left")
        .join(tls_timings(analysis.waits), on=key, how="left")
        .join(of_flows, on="flow", how="left")
        .join(of_pages, on=key, how="left")
        .with_columns(
            pl.col("start_time").to_physical().alias("start_time_ns"), pl.col(*HAR_TIMINGS, "ssl").to_physical()
        )
    )
    waits = _waits(analysis)
    for row in rows.sort("start_time_ns", *key).iter_rows(named=True):
        yield _entry(row, waits.get((row["flow"], row["transaction"]), []), number)


def _waits(analysis: Analysis) -> Mapping[tuple[int, int], list[dict[str, Any]]]:
    """Return the waits by transaction."""
    import polars as pl

    upstream = pl.format("{}.{}", "upstream_flow", "upstream_transaction")
    columns = (
        *(pl.col("cause").cast(pl.String), pl.col("start", "end").to_physical(), "first_frame", "last_frame"),
        upstream.alias("upstream"),
    )
    rows = analysis.waits.sort("flow", "transaction", "start").select("flow", "transaction", *columns).iter_rows()
    return {
        key: [
            {"cause": cause, "start_ns": start, "end_ns": end, "first_frame": first, "last_frame": last}
            | ({} if upstream is None else {"upstream": upstream})
            for _, _, cause, start, end, first, last, upstream in these
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
        # Part of connect.
        "timings": timings | {"ssl": _duration(row["ssl"])},
        "serverIPAddress": row["server"],
        "connection": str(row["client_port"]),
        "_flow": row["flow"],
        "_transaction": row["transaction"],
        "_waits": waits,
    }
    if row["protocol"] == "tls":
        entry["_opaque"] = True
    if row["stream"] is not None:
        entry["_h2"] = _h2(row)
    if row["retrieval"] is not None:
        entry["pageref"] = _page_id(number, row["retrieval"])
    return entry


def _h2(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the HTTP/2 properties of a stream; header sizes are those of the frames."""
    told = {
        "stream": row["stream"],
        "pushed": row["is_pushed"],
        "urgency": row["urgency"],
        "request_header_bytes": row["request_header_bytes"],
        "response_header_bytes": row["response_header_bytes"],
    }
    if row["reset_by"] is not None:
        told["reset"] = {"by": row["reset_by"], "error": error_name(row["reset_code"] or 0)}
    if row["grpc_request_messages"] is not None:
        told["grpc"] = _grpc(row)
    return told


def _grpc(row: Mapping[str, Any]) -> dict[str, Any]:
    service, method = grpc_call(row["target"]) or (None, None)
    status = row["grpc_status"]
    return {
        "service": service,
        "method": method,
        "status": status,
        "status_name": None if status is None else grpc_status_name(status),
        "request_messages": row["grpc_request_messages"],
        "response_messages": row["grpc_response_messages"],
    }


def _timings(row: Mapping[str, Any]) -> dict[str, float]:
    """Return the six timings; a missing one is -1 where HAR allows it."""
    made = {name: _duration(row[name]) for name in HAR_TIMINGS}
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
        "headersSize": _head_size(row, "request_header_bytes"),
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
        "headersSize": _head_size(row, "response_header_bytes"),
        "bodySize": _size(row["response_body_bytes"]),
        "comment": "" if row["complete"] else "the response is not complete in the capture",
    }


def _headers(fields: Mapping[str, str | None]) -> list[dict[str, str]]:
    """Return the fields that an analysis keeps; a capture has more."""
    return [{"name": name, "value": value} for name, value in fields.items() if value is not None]


def _query(target: str | None) -> list[dict[str, str]]:
    query = (target or "").partition("?")[2]
    return [{"name": name, "value": value} for name, value in parse_qsl(query, keep_blank_values=True)]


def _url(row: Mapping[str, Any]) -> str:
    """Return the target URI (RFC 9112, section 3.3), with invalid bytes escaped."""
    if row["protocol"] == "tls":
        host = row["server_name"] or _address(row)
        return f"https://{quote(host, safe=_HOST_CHARACTERS)}:{row['server_port']}/"
    target = row["target"] or "/"
    if _ABSOLUTE.match(target):
        return quote(target, safe=_URI_CHARACTERS)
    authority = (
        quote(row["host"], safe=_HOST_CHARACTERS) if row["host"] else f"{_address(row)}:{row['server_port']}"
    )
    scheme = "https" if row["carried"] == "tls" and row["method"] != "CONNECT" else "http"
    if row["method"] == "CONNECT" or target == "*":
        return f"{scheme}://{authority}"
    path = target if target.startswith("/") else f"/{target}"
    return f"{scheme}://{authority}{quote(path, safe=_URI_CHARACTERS)}"


def _address(row: Mapping[str, Any]) -> str:
    """Return the server's address in URL form."""
    address = str(row["server"] or "")
    return f"[{address}]" if ":" in address else address


def _head_size(row: Mapping[str, Any], name: str) -> int:
    """Return the bytes of a head's text with the empty line; -1 for a head that was not sent as text."""
    return _NOT_APPLICABLE if row["protocol"] == "h2" else _size(row[name])


def _size(count: int | None) -> int:
    return _NOT_APPLICABLE if count is None else int(count)


def _duration(nanoseconds: int | None) -> float:
    """Return milliseconds; -1 for an unknown time."""
    return _NOT_APPLICABLE if nanoseconds is None else nanoseconds / _MILLISECOND


def _moment(nanoseconds: int | None) -> str:
    """Return ISO 8601 with microseconds."""
    if nanoseconds is None:
        nanoseconds = 0
    return (_EPOCH + timedelta(microseconds=nanoseconds // 1000)).isoformat(timespec="microseconds")


def _page_id(capture: int, retrieval: int) -> str:
    return f"page_{capture}_{retrieval}"
