"""Tables of an analysis, reduced to the rows for which an expression is true and to their related rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tcptrace_http.where import rows_where

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

    import polars as pl

    from tcptrace_http.analysed import Analysed

__all__ = ["selected"]

#: Columns that assign the rows of a table to a transaction, or to a flow only (one column).
_KEYS: Final = {
    "flows": ("flow",),
    "segments": ("flow",),
    "transactions": ("flow", "index"),
    "links": ("flow", "transaction"),
    "tls_handshakes": ("flow",),
    "tls_records": ("flow",),
    "h2_connections": ("flow",),
    "h2_windows": ("flow",),
    "profiles": ("flow",),
    "bodies": ("flow", "transaction"),
    "redirects": ("flow", "transaction"),
    "expectations": ("flow", "transaction"),
    "endings": ("flow", "transaction"),
    "flaws": ("flow",),
    "segmentation": ("flow", "transaction"),
    "recoveries": ("flow", "transaction"),
    "queues": ("flow", "transaction"),
    "waits": ("flow", "transaction"),
    "hops": ("flow", "transaction"),
    "retrieval_transactions": ("flow", "transaction"),
    "critical_path": ("flow", "transaction"),
    "findings": ("flow", "transaction"),
}


def selected(
    analysed: Analysed,
    expression: str,
    table: str,
    *,
    absent: AbstractSet[str],
    is_cut: bool,
) -> dict[str, pl.DataFrame]:
    """Return the rows of ``table`` for which ``expression`` is true, with the related rows of the other tables.

    Tables in ``absent`` are left out. ``is_cut`` is true if a limit cut the table of flaws.
    """
    chosen = rows_where(analysed.table(table), expression, table)
    if table == "retrievals":
        of_pages = analysed.retrieval_transactions
        table = "retrieval_transactions"
        chosen = of_pages.join(chosen, on="retrieval", how="semi", maintain_order="left")
    made = {table: chosen}
    key = _KEYS.get(table, ())
    for other, other_key in _KEYS.items():
        if not key or other == table or other in absent:
            continue
        width = min(len(key), len(other_key))
        keys = chosen.select(key[:width]).unique()
        made[other] = analysed.table(other).join(
            keys, left_on=other_key[:width], right_on=key[:width], how="semi", maintain_order="left"
        )
    if key:
        made["retrievals"] = analysed.table("retrievals").join(
            made["retrieval_transactions"], on="retrieval", how="semi", maintain_order="left"
        )
    if key:
        made |= _other_findings(table, made, analysed.findings, is_cut=is_cut)
    return made


def _other_findings(
    table: str, selected: Mapping[str, pl.DataFrame], findings: pl.DataFrame, *, is_cut: bool
) -> dict[str, pl.DataFrame]:
    """Return the inconclusive rows of the selected flows, and the related findings unless ``table`` is findings.

    Related findings concern the selected transactions, their flows, several flows, or the capture.
    """
    import polars as pl

    from tcptrace_http.detectors import DETECTORS, findings_of_capture, in_order, inconclusive

    made = {"inconclusive": inconclusive(DETECTORS.values(), selected["flaws"], findings)}
    if table != "findings":
        flows = selected[table]["flow"].unique().implode()
        is_theirs = pl.col("flow").is_null() | pl.col("flow").is_in(flows)
        of_flows = [name for name, it in DETECTORS.items() if not (it.reads_pages or it.reads_flaws)]
        broader = findings.filter(pl.col("transaction").is_null(), is_theirs, pl.col("detector").is_in(of_flows))
        own = selected["findings"].filter(pl.col("transaction").is_not_null())
        made["findings"] = in_order([own, broader, findings_of_capture(selected["flaws"], is_cut=is_cut)])
    return made
