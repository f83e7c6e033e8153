"""Predictions as one JSON object. Times are integer nanoseconds, with names ending in ``_ns``.

=========================  =================================================================================
``schema_version``         1; incremented when a field changes its meaning
``capture``                name of the capture; ``retrievals``: number of retrievals in the times, of
                           ``captured_retrievals``
``measured_ns``            their time in the capture
``modelled_ns``, ``off``   time of the inferred scenario, and its relative deviation
``retells``                true for a deviation of at most 10 %
``rtt_ns``, ``rate_bps``   requested path; null: as captured
``baseline_ns``            reference of the changes: the model on that path; ``baseline_range`` and
                           ``baseline_causes`` (these sum to it)
``part``                   part of the retrievals in the times; null: all
``left_open``              hosts that the capture does not distinguish, by figure; ranges cover all
``headline``               most important change, in words
``rows``                   one object per fix or strategy, largest saving first: ``kind``, ``name``, ``about``,
                           ``source``, ``elapsed_ns``, ``saved_ns``, ``elapsed_range`` and ``saved_range``
                           (``low_ns``, ``median_ns``, ``high_ns`` over the draws), ``share`` of the baseline,
                           ``side`` (party that makes a fix), ``mends`` (detectors whose findings it removes),
                           ``is_practical`` (false: a bound), ``is_second_access`` (time of a second access, after
                           a first one that filled a cache or shared path state), ``note``; ``causes``:
                           ``cause``, ``before_ns``, ``after_ns``, ``saved_ns``, which sum to the row's
                           ``saved_ns``
``skipped``                changes without a row: ``kind``, ``name``, ``reason``
=========================  =================================================================================
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from tcptrace_http.what_if.text import headline

if TYPE_CHECKING:
    from tcptrace_http.what_if.prediction import Prediction, Row

__all__ = ["SCHEMA_VERSION", "rendered"]

#: Version of the JSON of ``whatif --format json``; incremented when a field changes its meaning.
SCHEMA_VERSION: Final = 1


def rendered(prediction: Prediction) -> str:
    """Return the document with a final newline."""
    document = {
        "schema_version": SCHEMA_VERSION,
        "capture": prediction.capture,
        "retrievals": prediction.retrievals,
        "captured_retrievals": prediction.captured_retrievals,
        "measured_ns": prediction.measured_ns,
        "modelled_ns": prediction.modelled_ns,
        "off": prediction.off,
        "retells": prediction.is_reproduced,
        "rtt_ns": prediction.rtt_ns,
        "rate_bps": prediction.rate,
        "baseline_ns": prediction.baseline_ns,
        "baseline_range": asdict(prediction.baseline),
        "baseline_causes": [
            {"cause": cause, "time_ns": time} for cause, time in sorted(prediction.baseline_causes.items())
        ],
        "part": None if prediction.part is None else asdict(prediction.part),
        "left_open": {name: list(values) for name, values in prediction.undetermined.items()},
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
        "mends": list(row.fixed_findings),
        "is_practical": row.is_practical,
        "is_second_access": row.is_second_access,
        "note": row.note,
        "causes": [{**asdict(cause), "saved_ns": cause.saved_ns} for cause in row.causes],
    }
