"""Pages read from a browser's HAR file or a captured retrieval.

A page of the simulator has one host: this host also serves the objects of all other hosts.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from reference_sim.page import Object, Page, constant
from tcptrace_http.errors import ScenarioError

if TYPE_CHECKING:
    from os import PathLike

    import polars as pl

__all__ = ["page_from_har", "page_from_retrieval"]

_UNKNOWN_TYPE: Final = "application/octet-stream"


def page_from_har(path: str | PathLike[str], *, page: str | None = None) -> Page:
    """Return the page of a HAR file (HTTP Archive 1.2): its answered GET requests, in the order of the file.

    ``page`` is the id of a page of the file. By default the first page is taken, or all entries if the file
    names no pages. Sizes are wire sizes (``bodySize``), else decoded sizes. An object is discovered in the
    object that its Referer names, else in the first object.

    :raises ScenarioError: the file cannot be read, is not a HAR, or has no such page.
    """
    name = str(path)
    try:
        log = json.loads(Path(path).read_text(encoding="utf-8-sig"))["log"]
        entries, pages = list(log["entries"]), [known["id"] for known in log.get("pages", [])]
    except OSError as error:
        raise ScenarioError(error.strerror or str(error), path=name) from None
    except (ValueError, KeyError, TypeError):
        raise ScenarioError("not a HAR file: it has no log with entries", path=name) from None
    if page is not None and page not in pages:
        raise ScenarioError(f"no page {page!r} (there are: {', '.join(pages) or 'none'})", path=name)
    wanted = page if page is not None else next(iter(pages), None)
    try:
        chosen = [entry for entry in entries if wanted is None or entry.get("pageref") == wanted]
        objects, host = _of_entries([entry for entry in chosen if _is_answered_get(entry)])
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ScenarioError(f"an entry violates HAR 1.2: {error!r}", path=name) from None
    if not objects:
        raise ScenarioError("no entry is a GET request with a response", path=name)
    return Page(name=Path(path).stem, host=host, objects=objects, about="from a HAR file", source=name)


def _is_answered_get(entry: dict[str, Any]) -> bool:
    is_http = entry["request"]["url"].startswith(("http://", "https://"))
    return bool(is_http and entry["request"]["method"] == "GET" and entry["response"]["status"] > 0)


def _of_entries(entries: list[dict[str, Any]]) -> tuple[tuple[Object, ...], str]:
    """Return the objects, and the host of the first object."""
    numbers: dict[str, int] = {}
    objects = []
    for index, entry in enumerate(entries):
        url, response = entry["request"]["url"], entry["response"]
        fields = {field["name"].lower(): field["value"] for field in entry["request"].get("headers", [])}
        body, content = response.get("bodySize", -1), response["content"]
        objects.append(
            _object(
                target=_target(url),
                content_type=content.get("mimeType"),
                size=body if body > 0 else max(content.get("size", 0), 0),
                status=response["status"],
                found_in=numbers.get(fields.get("referer", ""), 0),
            )
        )
        numbers.setdefault(url, index)
    host = urlsplit(entries[0]["request"]["url"]).netloc if entries else ""
    return tuple(objects), host


def _target(url: str) -> str:
    parts = urlsplit(url)
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def _object(*, target: str, content_type: str | None, size: int, status: int, found_in: int) -> Object:
    kind = (content_type or _UNKNOWN_TYPE).partition(";")[0].strip()
    return Object(
        target=target, content_type=kind or _UNKNOWN_TYPE, size=constant(size), status=status, found_in=found_in
    )


def page_from_retrieval(
    transactions: pl.DataFrame, members: pl.DataFrame | None = None, *, retrieval: int = 0, name: str = "captured"
) -> Page:
    """Return the page of a capture: its complete transactions, in the order of their requests.

    ``transactions`` has the columns of the analysis's table of this name. ``members`` has the columns of
    ``retrieval_transactions``: the transactions of a ``retrieval``, and the initiator of each. Without
    ``members``, all transactions form one page.

    :raises ScenarioError: no transaction is complete.
    """
    finders = None if members is None else _finders(members, retrieval)
    rows = [
        row
        for row in transactions.sort("request_time").iter_rows(named=True)
        if row["complete"] and row["method"] == "GET" and (finders is None or _key(row) in finders)
    ]
    if not rows:
        raise ScenarioError(f"retrieval {retrieval} has no complete GET; a page needs at least one")
    numbers = {_key(row): index for index, row in enumerate(rows)}
    objects = []
    for index, row in enumerate(rows):
        # The initiator may be incomplete, and a later transaction is no initiator.
        found_in = numbers.get((finders or {}).get(_key(row), _key(row)), 0)
        objects.append(
            _object(
                target=row["target"],
                content_type=row["content_type"],
                size=row["response_body_bytes"] or 0,
                status=row["status"],
                found_in=found_in if found_in < index else 0,
            )
        )
    return Page(
        name=name, host=rows[0]["host"] or "captured.invalid", objects=tuple(objects), about="from a capture"
    )


def _key(row: dict[str, Any]) -> tuple[int, int]:
    return row["flow"], row["index"]


def _finders(members: pl.DataFrame, retrieval: int) -> dict[tuple[int, int], tuple[int, int]]:
    """Return each transaction of the retrieval with its initiator."""
    return {
        (row["flow"], row["transaction"]): (row["initiator_flow"], row["initiator_transaction"])
        for row in members.iter_rows(named=True)
        if row["retrieval"] == retrieval
    }
