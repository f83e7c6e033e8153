"""Aligned retrievals and transactions of two analyses, as frames."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import polars as pl

from tcptrace_http.difference.alignment import Item, Pair, align

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tcptrace_http.analysis import Analysis

__all__ = [
    "RETRIEVALS",
    "TRANSACTIONS",
    "is_opaque",
    "paired_retrievals",
    "paired_transactions",
    "pairs_of_retrievals",
]

_TIME: Final = pl.Duration("ns")
#: Columns of retrievals, one row per retrieval of either side. ``pair`` numbers the rows; two-sided rows come
#: first.
RETRIEVALS: Final = {
    "pair": pl.UInt32(),
    "left_retrieval": pl.UInt32(),
    "right_retrieval": pl.UInt32(),
    "left_url": pl.String(),
    "right_url": pl.String(),
    "left_transactions": pl.UInt32(),
    "right_transactions": pl.UInt32(),
    "left_elapsed": _TIME,
    "right_elapsed": _TIME,
    "difference": _TIME,
}
#: Columns of transactions, one row per transaction of either side. ``how`` is the alignment; ``unnamed``
#: means by order and size, because a side has no target.
TRANSACTIONS: Final = {
    "pair": pl.UInt32(),
    "how": pl.Enum(("same", "renamed", "unnamed", "only_left", "only_right")),
    "method": pl.String(),
    **{
        f"{side}_{name}": dtype
        for name, dtype in (
            ("flow", pl.UInt32()),
            ("transaction", pl.UInt32()),
            ("retrieval", pl.UInt32()),
            ("target", pl.String()),
            ("body_bytes", pl.UInt64()),
            ("elapsed", _TIME),
        )
        for side in ("left", "right")
    },
    "difference": _TIME,
}


@dataclass(frozen=True, slots=True)
class _Transaction:
    item: Item
    row: dict[str, Any]


def paired_retrievals(left: Analysis, right: Analysis) -> pl.DataFrame:
    """Return the retrievals of both sides, aligned by URL path, order and bytes.

    If each side has exactly one, they are compared in any case.
    """
    ours, theirs = _retrievals(left), _retrievals(right)
    if len(ours) == len(theirs) == 1:
        places: Sequence[Pair] = [(0, 0)]
    else:
        places = align([_page(row) for row in ours], [_page(row) for row in theirs])
    return _retrieval_rows(ours, theirs, sorted(places, key=lambda place: None in place))


def pairs_of_retrievals(left: Analysis, right: Analysis, pairs: Sequence[tuple[int, int]]) -> pl.DataFrame:
    """Return these pairs of retrievals, without an alignment."""
    ours, theirs = _retrievals(left), _retrievals(right)
    lefts, rights = _numbers(ours), _numbers(theirs)
    return _retrieval_rows(ours, theirs, [(lefts.index(one), rights.index(other)) for one, other in pairs])


def _numbers(rows: Sequence[dict[str, Any]]) -> list[int]:
    return [row["retrieval"] for row in rows]


def _retrieval_rows(
    ours: Sequence[dict[str, Any]], theirs: Sequence[dict[str, Any]], places: Sequence[Pair]
) -> pl.DataFrame:
    rows = [
        {"pair": number} | _side("left", ours, one) | _side("right", theirs, other)
        for number, (one, other) in enumerate(places)
    ]
    return _with_difference(pl.DataFrame(rows, schema=_without_difference(RETRIEVALS)))


def _retrievals(analysis: Analysis) -> list[dict[str, Any]]:
    columns = ("retrieval", "url", "transactions", "bytes", pl.col("elapsed").to_physical())
    return analysis.retrievals.select(columns).to_dicts()


def _page(row: dict[str, Any]) -> Item:
    parts = urlsplit(row["url"] or "")
    return Item("retrieval", f"{parts.path}?{parts.query}" if row["url"] else "", row["bytes"])


def _side(side: str, rows: Sequence[dict[str, Any]], place: int | None) -> dict[str, Any]:
    row = {} if place is None else rows[place]
    names = ("retrieval", "url", "transactions", "elapsed")
    return {f"{side}_{name}": row.get(name) for name in names}


def paired_transactions(
    left: Analysis, right: Analysis, retrievals: pl.DataFrame, *, is_selection: bool = False
) -> pl.DataFrame:
    """Return the transactions of both sides: first those of aligned retrievals, then the rest.

    For a selection of retrievals, only their own transactions are included.
    """
    has_opaque = any(is_opaque(analysis) for analysis in (left, right))
    ours, theirs = (_transactions(analysis, with_heads=has_opaque) for analysis in (left, right))
    partners: dict[int, int] = {}
    if is_selection:
        ours, theirs = _of(ours, retrievals["left_retrieval"]), _of(theirs, retrievals["right_retrieval"])
    together = retrievals.select("left_retrieval", "right_retrieval").drop_nulls().rows()
    of_ours, of_theirs = _by_retrieval(ours), _by_retrieval(theirs)
    for one, other in together:
        partners |= _partners(ours, theirs, of_ours.get(one, ()), of_theirs.get(other, ()))
    lefts = [index for index in range(len(ours)) if index not in partners]
    taken = set(partners.values())
    rights = [index for index in range(len(theirs)) if index not in taken]
    partners |= _partners(ours, theirs, lefts, rights)
    taken = set(partners.values())
    alone = [(None, index) for index in range(len(theirs)) if index not in taken]
    places = [*((index, partners.get(index)) for index in range(len(ours))), *alone]
    rows = [
        _row(number, None if one is None else ours[one].row, None if other is None else theirs[other].row)
        for number, (one, other) in enumerate(places)
    ]
    return _with_difference(pl.DataFrame(rows, schema=_without_difference(TRANSACTIONS)))


def _of(transactions: Sequence[_Transaction], retrievals: pl.Series) -> list[_Transaction]:
    wanted = set(retrievals.drop_nulls().to_list())
    return [it for it in transactions if it.row["retrieval"] in wanted]


def _by_retrieval(transactions: Sequence[_Transaction]) -> dict[int | None, list[int]]:
    places: dict[int | None, list[int]] = {}
    for index, it in enumerate(transactions):
        places.setdefault(it.row["retrieval"], []).append(index)
    return places


def _partners(
    ours: Sequence[_Transaction], theirs: Sequence[_Transaction], lefts: Sequence[int], rights: Sequence[int]
) -> dict[int, int]:
    places = align([ours[index].item for index in lefts], [theirs[index].item for index in rights])
    return {lefts[one]: rights[other] for one, other in places if one is not None and other is not None}


def is_opaque(analysis: Analysis) -> bool:
    """Return whether the retrievals use TLS without keys."""
    return analysis.retrievals["url"].has_nulls()


def _transactions(analysis: Analysis, *, with_heads: bool) -> list[_Transaction]:
    """Return the transactions in start order, with their retrieval.

    Under TLS heads and bodies are one: both sides then use the same combined size.
    """
    of_pages = analysis.retrieval_transactions.select("flow", pl.col("transaction").alias("index"), "retrieval")
    elapsed = (pl.col("end_time") - pl.col("start_time")).to_physical().alias("elapsed")
    size = pl.sum_horizontal("response_body_bytes", *(["response_header_bytes"] if with_heads else []))
    rows = (
        analysis.transactions.sort("start_time", "flow", "index")
        .join(of_pages, on=["flow", "index"], how="left", maintain_order="left")
        .select("flow", "index", "retrieval", "method", "target", "response_body_bytes", elapsed, size=size)
        .rename({"index": "transaction", "response_body_bytes": "body_bytes"})
    )
    return [
        _Transaction(Item(row["method"] or "", row["target"] or "", row["size"] or 0), row)
        for row in rows.iter_rows(named=True)
    ]


def _row(number: int, left: dict[str, Any] | None, right: dict[str, Any] | None) -> dict[str, Any]:
    known = left or right or {}
    names = ("flow", "transaction", "retrieval", "target", "body_bytes", "elapsed")
    sides = {
        f"{side}_{name}": None if row is None else row[name]
        for name in names
        for side, row in (("left", left), ("right", right))
    }
    return {"pair": number, "how": _how(left, right), "method": known["method"]} | sides


def _how(left: dict[str, Any] | None, right: dict[str, Any] | None) -> str:
    if left is None:
        return "only_right"
    if right is None:
        return "only_left"
    if left["target"] is None or right["target"] is None:
        return "unnamed"
    return "same" if left["target"] == right["target"] else "renamed"


def _without_difference(schema: dict[str, Any]) -> dict[str, Any]:
    return {name: dtype for name, dtype in schema.items() if name != "difference"}


def _with_difference(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the frame with the left minus right time; a side without the row counts as zero."""
    zero = pl.lit(0, dtype=_TIME)
    return frame.with_columns(
        difference=pl.col("left_elapsed").fill_null(zero) - pl.col("right_elapsed").fill_null(zero)
    )
