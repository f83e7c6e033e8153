"""Joint judgement from packets and socket observations."""

from __future__ import annotations

from dataclasses import replace

from tcptrace_http.check import Level, Outcome, Status
from tcptrace_http.check.report import Subject
from tcptrace_http.probe.judgement import with_habits

SEEN = Outcome(subject=Subject.RULE, name="cork-timeout", level=Level.ERROR, status=Status.FAILED, message="habit")
UNSEEN = replace(SEEN, status=Status.PASSED, message="no finding")


def test_a_habit_that_packets_do_not_prove_is_reported_by_the_sockets():
    assert with_habits([UNSEEN], [SEEN]) == [SEEN]


def test_packets_take_precedence_over_sockets():
    proved = replace(SEEN, message="three findings")
    assert with_habits([proved], [SEEN]) == [proved]
    assert with_habits([proved], [UNSEEN]) == [proved]


def test_an_inconclusive_rule_stays_so_and_controls_are_no_rules():
    unjudged = replace(UNSEEN, status=Status.INCONCLUSIVE)
    control = replace(UNSEEN, subject=Subject.CONTROL)
    assert with_habits([unjudged, control], [SEEN]) == [unjudged, control]
