"""Live servers judged: a workload that brings out bad configurations, captured where that is allowed.

::

    from tcptrace_http.check import preset
    from tcptrace_http.probe import probe

    report = probe("http://localhost:8080/index.html", policy=preset("recommended"))

The workload is in :mod:`~tcptrace_http.probe.workload`. Where packets may be captured, the capture of the
probe's own connections is analysed as any other is; else the server's habits are told from when its
responses came to the sockets (:mod:`~tcptrace_http.probe.habits`).
"""

from __future__ import annotations

from tcptrace_http.probe.budget import Limits
from tcptrace_http.probe.judgement import probe

__all__ = ["Limits", "probe"]
