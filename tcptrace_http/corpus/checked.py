"""A dataset judged by a policy: one unit after the other, as so many captures."""

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
    """What a policy judges of each unit; a finding names its capture, and the number of its flow there."""
    from tcptrace_http.check.gathered import of_whole

    for one in part.by_unit():
        analysis = merged(one)
        found = analysis.findings.with_columns(capture=analysis.captures_of_findings)
        yield replace(of_whole(analysis, policy), found=found, streams=analysis.streams)
