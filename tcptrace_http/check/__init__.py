"""Check of captures against a policy, for ``tcptrace-http check``, ``probe`` and test suites.

::

    from tcptrace_http import analyze
    from tcptrace_http.check import check, preset

    report = check([analyze("api.pcapng")], policy=preset("recommended"))
    assert report.verdict is Verdict.PASSED

A policy (:mod:`~tcptrace_http.check.policy`) defines the allowed findings and the thresholds of metrics. The
report (:mod:`~tcptrace_http.check.report`) gives the status of each rule and threshold: passed, failed, or
inconclusive. A property that a capture cannot show is ``inconclusive``, never passed.
"""

from __future__ import annotations

from tcptrace_http.check.evaluation import check
from tcptrace_http.check.gathered import Gathered, gathered
from tcptrace_http.check.policy import Level, Match, Policy, Rule, Threshold
from tcptrace_http.check.policy_file import load_policy, parse_policy, preset
from tcptrace_http.check.report import CheckReport, Outcome, Status, Verdict, Violation

__all__ = [
    "CheckReport",
    "Gathered",
    "Level",
    "Match",
    "Outcome",
    "Policy",
    "Rule",
    "Status",
    "Threshold",
    "Verdict",
    "Violation",
    "check",
    "gathered",
    "load_policy",
    "parse_policy",
    "preset",
]
