"""One self-contained HTML page of an analysis: the verdict first, then findings, charts, tables, capture quality.

Nothing is fetched from anywhere: charts, scripts and styles are in the page. Charts need the extra ``charts``.
"""

from __future__ import annotations

from tcptrace_http.report.html.page import page, write

__all__ = ["page", "write"]
