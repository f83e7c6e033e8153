"""Predictions for a capture: with fixes, and with every other strategy.

::

    prediction = tcptrace_http.whatif("slow.pcapng")
    prediction.table               # one row per fix or strategy, largest saving first
    prediction.row("no-nagle").causes  # the difference, cause by cause
    print(prediction.text())

The inference (:mod:`tcptrace_http.inference`) makes a scenario that reproduces the capture. The scenario is
then changed and simulated.
"""

from __future__ import annotations

from tcptrace_http.what_if.fix import Fix, Side
from tcptrace_http.what_if.fixes import FIXES, fix_named
from tcptrace_http.what_if.predict import whatif
from tcptrace_http.what_if.prediction import Cause, Range, Row, Skipped
from tcptrace_http.what_if.result import WhatIf

__all__ = ["FIXES", "Cause", "Fix", "Range", "Row", "Side", "Skipped", "WhatIf", "fix_named", "whatif"]
