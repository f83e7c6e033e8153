"""Check of a dataset against a policy: each unit counts as a group of captures."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tcptrace_http.corpus.merged import merged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tcptrace_http.check.gathered import Gathered
    from tcptrace_http.check.policy import Policy
    from tcptrace_http.corpus.part import Part

__all__ = ["gathered_of"]


def gathered_of(part: Part, policy: Policy) -> Iterator[Gathered]:
    """Yield the policy input of each unit; a finding names its capture, and its flow number there."""
    from tcptrace_http.check.gathered import of_whole

    for one in part.by_unit():
        analysis = merged(one)
        found = analysis.findings.with_columns(capture=analysis.captures_of_findings)
        yield replace(of_whole(analysis, policy), found=found, streams=analysis.streams)
