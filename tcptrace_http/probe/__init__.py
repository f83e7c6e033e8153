"""Check of live servers: a workload that reveals bad configurations, with a capture if permitted.

::

    from tcptrace_http.check import preset
    from tcptrace_http.probe import probe

    report = probe("http://localhost:8080/index.html", policy=preset("recommended"))

The workload is in :mod:`~tcptrace_http.probe.workload`. If packet capture is permitted, the capture of the
probe's connections is analysed as usual. Otherwise the arrival times at the sockets show the server's habits
(:mod:`~tcptrace_http.probe.habits`).
"""

from __future__ import annotations

from tcptrace_http.probe.budget import Limits
from tcptrace_http.probe.judgement import probe

__all__ = ["Limits", "probe"]
