"""A difference as one JSON object; times are integer nanoseconds and end in ``_ns``.

========================  ==================================================================================
``schema_version``        1; it grows when a field changes its meaning
``left``, ``right``       ``name``, ``is_simulated``, ``truncated`` (the capture is cut short) and ``elapsed_ns``
                          of the aligned retrievals together; where the side was inferred from the other one
                          ``inferred_ns``, what it takes as it was inferred, and ``assumptions``, what the capture
                          did not show (else null)
``difference_ns``         left less right: how much longer the left side took; the sum of ``causes``
``headline``              the first sentences of the text: how much, and why
``model``                 sentences about what a model rests on; empty where no side was inferred
``causes``                ``cause``, ``left_ns``, ``right_ns``, ``difference_ns``: what the critical paths of the
                          aligned retrievals spent; ``unaligned`` is the time of transactions of one side
``retrievals``            one object a retrieval of either side: ``pair``; of both sides (``left_…``, ``right_…``)
                          ``retrieval`` (null: the side does not have it), ``url``, ``transactions`` and
                          ``elapsed_ns``; ``difference_ns``, and its ``causes``
``transactions``          one object a transaction of either side: ``pair``, ``how`` it was aligned (``same``,
                          ``renamed``, ``unnamed``, ``only_left``, ``only_right``), ``method``; of both sides
                          ``flow``, ``transaction``, ``retrieval``, ``target``, ``body_bytes`` and ``elapsed_ns``;
                          ``difference_ns``, and its ``causes``
``stalls``                ``cause`` and ``detector``; of both sides ``count`` and ``lost_ns``; ``difference_ns``
``residuals``             one object an aligned retrieval (``pair``), ``side`` and analytic ``model`` of its kind:
                          which assumption ``fails`` (null: all hold), ``elapsed_ns``, ``predicted_ns``,
                          ``residual_ns``: what the model leaves out
``flows``                 the flows that were walked side by side, left and right, or null
``divergences``           ``kind`` (see ``KINDS``); of both sides ``transaction``, ``frame`` and ``wait_ns``; the
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
    from tcptrace_http.difference import Difference, Side

__all__ = ["SCHEMA_VERSION", "rendered"]

#: Counts the JSON contract of ``diff --format json``; it grows when a field changes its meaning.
SCHEMA_VERSION: Final = 1


def rendered(difference: Difference) -> str:
    """The document, ending in a newline."""
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
