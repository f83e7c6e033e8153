"""Modelled traces: what a connection sends when its rules are known, in place of a capture.

Shares only the trace model with ``tcptrace_http`` (its ``trace``, ``schema`` and ``errors``),
never an estimator or a classifier: otherwise one bug would hide in both.

- :mod:`reference_sim.papers`: traces that papers print, as captures.
"""
