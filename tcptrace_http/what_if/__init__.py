"""What a capture would have cost otherwise: with the server fixed, and under every other strategy.

::

    prediction = tcptrace_http.whatif("slow.pcapng")
    prediction.table               # a row a fix or strategy, what saves most first
    prediction.row("no-nagle").causes  # the difference, cause by cause
    print(prediction.text())

A scenario that retells the capture is inferred (:mod:`tcptrace_http.inference`), changed and simulated.
"""

from __future__ import annotations

from tcptrace_http.what_if.fix import Fix, Side
from tcptrace_http.what_if.fixes import FIXES, fix_named
from tcptrace_http.what_if.predict import whatif
from tcptrace_http.what_if.result import Cause, Range, Row, Skipped, WhatIf

__all__ = ["FIXES", "Cause", "Fix", "Range", "Row", "Side", "Skipped", "WhatIf", "fix_named", "whatif"]
