"""Predictions as one JSON object; times are integer nanoseconds and end in ``_ns``.

=========================  =================================================================================
``schema_version``         1; it grows when a field changes its meaning
``capture``                name of the capture; ``retrievals``: how many of it the times are of, of
                           ``captured_retrievals``
``measured_ns``            what they took in the capture
``modelled_ns``, ``off``   what the inferred scenario takes, and how far that is off, as a part
``retells``                whether that is near enough (10 %)
``rtt_ns``, ``rate_bps``   the path that was asked for; null: as captured
``baseline_ns``            what changes are compared with: the model on that path; ``baseline_range`` and
                           ``baseline_causes`` (these sum to it)
``part``                   how much of the retrievals the times are of; null: all of it
``left_open``              what hosts the capture does not tell apart, by figure; ranges take all of them
``headline``               the change that matters most, in words
``rows``                   one object a fix or strategy, what saves most first: ``kind``, ``name``, ``about``,
                           ``source``, ``elapsed_ns``, ``saved_ns``, ``elapsed_range`` and ``saved_range``
                           (``low_ns``, ``median_ns``, ``high_ns`` over the draws), ``share`` of the baseline,
                           ``side`` (who has to make a fix), ``mends`` (detectors whose findings it mends),
                           ``is_practical`` (false: a bound), ``is_second_access`` (the time is of that, after
                           a first one that filled a cache or taught the hosts something), ``note``; ``causes``:
                           ``cause``, ``before_ns``, ``after_ns``, ``saved_ns``, which sum to the row's
                           ``saved_ns``
``skipped``                what has no row: ``kind``, ``name``, ``reason``
=========================  =================================================================================
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from tcptrace_http.what_if.text import headline

if TYPE_CHECKING:
    from tcptrace_http.what_if.result import Row, WhatIf

__all__ = ["SCHEMA_VERSION", "rendered"]

#: Counts the JSON contract of ``whatif --format json``; it grows when a field changes its meaning.
SCHEMA_VERSION: Final = 1


def rendered(prediction: WhatIf) -> str:
    """The document, ending in a newline."""
    document = {
        "schema_version": SCHEMA_VERSION,
        "capture": prediction.capture,
        "retrievals": prediction.retrievals,
        "captured_retrievals": prediction.captured_retrievals,
        "measured_ns": prediction.measured_ns,
        "modelled_ns": prediction.modelled_ns,
        "off": prediction.off,
        "retells": prediction.retells,
        "rtt_ns": prediction.rtt_ns,
        "rate_bps": prediction.rate,
        "baseline_ns": prediction.baseline_ns,
        "baseline_range": asdict(prediction.baseline),
        "baseline_causes": [
            {"cause": cause, "time_ns": time} for cause, time in sorted(prediction.baseline_causes.items())
        ],
        "part": None if prediction.part is None else asdict(prediction.part),
        "left_open": {name: list(values) for name, values in prediction.left_open.items()},
        "headline": headline(prediction),
        "rows": [_row(row) for row in prediction.rows],
        "skipped": [asdict(one) for one in prediction.skipped],
    }
    return json.dumps(document, indent=1) + "\n"


def _row(row: Row) -> dict[str, Any]:
    return {
        "kind": row.kind,
        "name": row.name,
        "about": row.about,
        "source": row.source,
        "elapsed_ns": row.elapsed_ns,
        "saved_ns": row.saved_ns,
        "elapsed_range": asdict(row.elapsed),
        "saved_range": asdict(row.saved),
        "share": row.share,
        "side": row.side,
        "mends": list(row.mends),
        "is_practical": row.is_practical,
        "is_second_access": row.is_second_access,
        "note": row.note,
        "causes": [{**asdict(cause), "saved_ns": cause.saved_ns} for cause in row.causes],
    }
