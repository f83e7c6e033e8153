"""Comparison with the truth: a judge that passes everything would prove nothing."""

from truth.compare import Finding, compare, findings_of
from truth.kernel_truth import Stall


def stall(**changes) -> Stall:
    template = {
        "detector": "short-initial-segment",
        "cause": "stall.nagle_delayed_ack",
        "client_port": 40000,
        "first_frame": 11,
        "released_frame": 13,
        "low_ms": 41.0,
        "high_ms": 43.0,
        "required": True,
        "why": "delack-stall",
    }
    return Stall(**(template | changes))


def finding(**changes) -> Finding:
    template = {
        "detector": "short-initial-segment",
        "cause": "stall.nagle_delayed_ack",
        "severity": "error",
        "first_frame": 11,
        "last_frame": 13,
        "lost_ms": 42.0,
    }
    return Finding(**(template | changes))


def test_finding_with_the_frames_name_cause_and_loss_is_right():
    comparison = compare([stall()], [finding()])
    assert comparison.is_right
    assert len(comparison.found) == 1


def test_stall_without_a_finding_is_missed():
    assert compare([stall()], []).missed == [stall()]


def test_stall_that_cost_nothing_need_not_be_found():
    assert compare([stall(required=False)], []).is_right


def test_finding_without_a_hold_is_wrong():
    assert compare([], [finding()]).wrong


def test_short_hold_is_wrong_only_with_nagles_algorithm_off():
    short = finding(lost_ms=1.5)
    assert compare([], [short]).wrong
    assert compare([], [short], nagle=True).is_right
    assert compare([], [finding(lost_ms=3.5)], nagle=True).wrong


def test_structure_alone_is_never_wrong():
    assert compare([], [finding(severity="info", lost_ms=0.0)]).is_right


def test_finding_of_another_frame_is_wrong_and_the_stall_missed():
    comparison = compare([stall()], [finding(first_frame=14, last_frame=16)])
    assert comparison.wrong
    assert comparison.missed


def test_other_name_other_cause_and_other_loss_are_wrong():
    for change in (
        {"detector": "odd-short-final-segment"},
        {"cause": "stall.nagle_hold"},
        {"lost_ms": 45.1},
        {"lost_ms": 38.9},
    ):
        comparison = compare([stall()], [finding(**change)])
        assert comparison.wrong, change
        assert comparison.missed, change


def test_two_findings_of_one_stall_count_once():
    comparison = compare([stall()], [finding(), finding()])
    assert len(comparison.found) == 1
    assert len(comparison.wrong) == 1


def test_findings_are_read_from_the_json_contract():
    row = {
        "detector": "slow-start-restart",
        "severity": "error",
        "flow": 0,
        "transaction": 1,
        "first_frame": 4,
        "last_frame": 9,
        "lost_ns": 183_600_000,
        "cause": "stall.slow_start_restart",
    }
    (read,) = findings_of({"findings": [row]})
    assert read.lost_ms == 183.6
