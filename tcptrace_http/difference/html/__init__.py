"""Difference as one self-contained HTML page: the amount, the causes, and the segments.

The page fetches nothing. Charts need the extra ``charts``.
"""

from __future__ import annotations

from tcptrace_http.difference.html.page import page
from tcptrace_http.difference.html.sections import overview

__all__ = ["overview", "page"]
