"""Self-contained HTML page of an analysis: the verdict, then findings, charts, tables, and capture quality.

The page fetches nothing: charts, scripts and styles are inside. Charts need the extra ``charts``.
"""

from __future__ import annotations

from tcptrace_http.report.html.page import page, write

__all__ = ["page", "write"]
