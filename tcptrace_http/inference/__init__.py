"""Simulator scenario inferred from a capture: the measured figures in a form that can be run and changed.

>>> inference = infer(tcptrace_http.analyze("page.pcapng", tables=NEEDED_TABLES))
>>> inference.scenario
>>> inference.figure("path.rtt")
"""

from tcptrace_http.inference.figure import Figure
from tcptrace_http.inference.files import infer_files
from tcptrace_http.inference.infer import Inference, infer
from tcptrace_http.inference.observe import NEEDED_TABLES

__all__ = ["NEEDED_TABLES", "Figure", "Inference", "infer", "infer_files"]
