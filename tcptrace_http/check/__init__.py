"""Captures judged by a policy: what ``tcptrace-http check`` and ``probe`` decide, and a test suite may.

::

    from tcptrace_http import analyze
    from tcptrace_http.check import check, preset

    report = check([analyze("api.pcapng")], policy=preset("recommended"))
    assert report.verdict is Verdict.PASSED

A policy (:mod:`~tcptrace_http.check.policy`) says which findings may be there and what the metrics may
reach; the report (:mod:`~tcptrace_http.check.report`) says of each rule and threshold whether it passed,
failed, or could not be judged. What a capture cannot show is ``inconclusive``, never passed.
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
