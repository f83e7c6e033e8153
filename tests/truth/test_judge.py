"""Judgement of findings by places: a judge that passes everything would prove nothing."""

import dataclasses

from truth.judge import Claim, judge
from truth.scene import ANYWHERE, NOWHERE, Place, Truth

TAIL = Place(40000, 3)


def claim(**changes) -> Claim:
    plain = Claim("tail-loss", "error", 40000, 3, 10, 12, 210.0, "The last segment was lost")
    return dataclasses.replace(plain, **changes)


def test_finding_in_the_transaction_of_the_truth_is_right():
    judged = judge(Truth.at([TAIL]), [claim()])
    assert (judged.has_case, len(judged.right), len(judged.wrong), judged.missed) == (True, 1, 0, [])


def test_finding_in_another_transaction_is_wrong_and_the_place_missed():
    judged = judge(Truth.at([TAIL]), [claim(transaction=2)])
    assert (len(judged.right), len(judged.wrong), judged.missed) == (0, 1, [(TAIL,)])


def test_finding_about_the_whole_flow_is_at_its_transactions_but_not_at_another_flows():
    assert judge(Truth.at([TAIL]), [claim(transaction=None)]).right
    assert judge(Truth.at([TAIL]), [claim(transaction=None, client_port=40001)]).wrong


def test_finding_at_frames_that_do_not_meet_the_place_is_wrong():
    place = Place(40000, None, 20, 22)
    assert judge(Truth.at([place]), [claim(transaction=None)]).wrong
    assert judge(Truth.at([place]), [claim(transaction=None, last_frame=20)]).right


def test_one_of_several_places_will_do():
    alternatives = Truth(must=((Place(40000, 2), TAIL),))
    judged = judge(alternatives, [claim()])
    assert (judged.found, judged.missed) == (1, [])


def test_where_it_may_be_a_finding_is_neither_right_nor_wrong():
    judged = judge(ANYWHERE, [claim()])
    assert (judged.has_case, judged.right, judged.wrong) == (False, [], [])


def test_where_nothing_is_a_finding_is_wrong():
    assert judge(NOWHERE, [claim()]).wrong


def test_structure_that_cost_nothing_counts_only_for_detectors_of_structure():
    structure = claim(severity="info", lost_ms=0.0)
    assert not judge(NOWHERE, [structure]).wrong
    assert judge(Truth.at([TAIL]), [structure]).missed
    assert judge(NOWHERE, [structure], costs=False).wrong
    assert judge(Truth.at([TAIL]), [structure], costs=False).right
