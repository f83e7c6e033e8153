"""A difference as one self-contained HTML page: how much and why, by cause, side by side, segment by segment.

Nothing is fetched from anywhere. Charts need the extra ``charts``.
"""

from __future__ import annotations

from tcptrace_http.difference.html.page import page
from tcptrace_http.difference.html.sections import overview

__all__ = ["overview", "page"]
