"""Difference as one JSON object. Times are integer nanoseconds, with names ending in ``_ns``.

========================  ==================================================================================
``schema_version``        1; incremented when a field changes its meaning
``left``, ``right``       ``name``, ``is_simulated``, ``truncated`` (the capture is incomplete) and ``elapsed_ns``
                          of the aligned retrievals together; for a side inferred from the other one also
                          ``inferred_ns``, the time of the inferred scenario, and ``assumptions``, figures the
                          capture does not show (else null)
``difference_ns``         left minus right: the sum of ``causes``
``headline``              first sentences of the text: amount and reason
``model``                 sentences about the basis of a model; empty without an inferred side
``causes``                ``cause``, ``left_ns``, ``right_ns``, ``difference_ns``: time on critical paths of
                          the aligned retrievals; ``unaligned`` is the time of one-sided transactions
``retrievals``            one object per retrieval of either side: ``pair``; for both sides (``left_…``,
                          ``right_…``) ``retrieval`` (null: the side lacks it), ``url``, ``transactions`` and
                          ``elapsed_ns``; ``difference_ns``, and its ``causes``
``transactions``          one object per transaction of either side: ``pair``, its alignment ``how`` (``same``,
                          ``renamed``, ``unnamed``, ``only_left``, ``only_right``), ``method``; for both sides
                          ``flow``, ``transaction``, ``retrieval``, ``target``, ``body_bytes`` and ``elapsed_ns``;
                          ``difference_ns``, and its ``causes``
``stalls``                ``cause`` and ``detector``; for both sides ``count`` and ``lost_ns``; ``difference_ns``
``residuals``             one object per aligned retrieval (``pair``), ``side`` and analytic ``model`` of its kind:
                          the failed assumption ``fails`` (null: none), ``elapsed_ns``, ``predicted_ns``,
                          ``residual_ns``: the unexplained time
``flows``                 compared flows, left and right, or null
``divergences``           ``kind`` (see ``KINDS``); for both sides ``transaction``, ``frame`` and ``wait_ns``; the
                          ``cause`` of the longer wait, ``words``
========================  ==================================================================================
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from tcptrace_http.difference.words import explanation, headline, model_words

if TYPE_CHECKING:
    from tcptrace_http.difference.compared import Compared
    from tcptrace_http.difference.side import Side

__all__ = ["SCHEMA_VERSION", "rendered"]

#: Version of the JSON of ``diff --format json``; incremented when a field changes its meaning.
SCHEMA_VERSION: Final = 1


def rendered(difference: Compared) -> str:
    """Return the document with a final newline."""
    document = {
        "schema_version": SCHEMA_VERSION,
        "left": _side(difference.left, difference.left_ns),
        "right": _side(difference.right, difference.right_ns),
        "difference_ns": difference.difference_ns,
        "headline": " ".join(filter(None, [headline(difference), explanation(difference)])),
        "model": model_words(difference),
        "causes": _rows(difference.causes),
        "retrievals": _with_causes(difference.retrievals, difference.retrieval_causes),
        "transactions": _with_causes(difference.transactions, difference.transaction_causes),
        "stalls": _rows(difference.stalls),
        "residuals": _rows(difference.residuals),
        "flows": None if difference.flows is None else list(difference.flows),
        "divergences": [asdict(it) for it in difference.divergences],
    }
    return json.dumps(document, indent=1) + "\n"


def _side(side: Side, elapsed_ns: int) -> dict[str, Any]:
    model = side.model
    return {
        "name": side.name,
        "is_simulated": side.is_simulated,
        "truncated": side.analysis.capture.truncated,
        "elapsed_ns": elapsed_ns,
        "inferred_ns": side.inferred_ns,
        "assumptions": None if model is None else [figure.name for figure in model.assumptions],
    }


def _with_causes(frame: pl.DataFrame, causes: pl.DataFrame) -> list[dict[str, Any]]:
    by_pair: dict[int, list[dict[str, Any]]] = {}
    for row in _rows(causes):
        by_pair.setdefault(row.pop("pair"), []).append(row)
    return [row | {"causes": by_pair.get(row["pair"], [])} for row in _rows(frame)]


def _rows(frame: pl.DataFrame) -> list[dict[str, Any]]:
    durations = [name for name, dtype in frame.schema.items() if isinstance(dtype, pl.Duration)]
    plain = frame.with_columns(pl.col(durations).to_physical()) if durations else frame
    return plain.rename({name: f"{name}_ns" for name in durations}).to_dicts()
