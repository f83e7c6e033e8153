"""Judgement by the field captures' sidecars, and the output on the half that is set aside."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from truth.calibration import reliability
from truth.field.judge import Claim, judge, main

HOLD = {
    "client_port": 40000,
    "server_port": 8080,
    "start_ns": 1_000_000_000,
    "end_ns": 1_040_000_000,
    "by": "Nagle",
}
HELD = Claim("nagle-hold", 0.9, 40000, 8080, 1_000_000_000, 40_000_000, "error", "900 bytes were held")


def sidecar(**changes: Any) -> dict[str, Any]:
    return {"kind": "servers", "rtt_ms": 10.0, "must": [], "holds": [], "gaps": [], "never": [], **changes}


def claim(**changes: Any) -> Claim:
    return dataclasses.replace(HELD, **changes)


def test_a_nagle_finding_is_right_if_the_kernel_held_data():
    verdict = judge(sidecar(holds=[HOLD]), [HELD])
    assert verdict.decided == [(HELD, True)]
    assert not verdict.false_nagle


@pytest.mark.parametrize("changes", [{"client_port": 40001}, {"server_port": 8000}, {"start_ns": 2_000_000_000}])
def test_a_claim_of_nagles_algorithm_elsewhere_is_false(changes):
    assert judge(sidecar(holds=[HOLD]), [claim(**changes)]).false_nagle == [claim(**changes)]


def test_a_claim_that_is_unsure_is_decided_but_not_counted_as_false():
    unsure = claim(confidence=0.5)
    verdict = judge(sidecar(), [unsure])
    assert verdict.decided == [(unsure, False)]
    assert not verdict.false_nagle


def test_a_cork_like_it_and_a_hold_too_short_to_be_seen_decide_nothing():
    assert not judge(sidecar(holds=[{**HOLD, "by": "MSG_MORE"}]), [HELD]).decided
    assert not judge(sidecar(gaps=[[1_000_000_000, 1_040_000_000]]), [HELD]).decided
    assert judge(sidecar(gaps=[[1_000_000_000, 1_030_000_000]]), [HELD]).decided


def test_a_required_finding_is_missed_if_another_name_is_reported():
    place = {"any_of": ["zero-window"], "client_port": 40000, "server_port": 8080}
    assert judge(sidecar(must=[place]), [HELD]).missed == [place]
    right = claim(detector="zero-window")
    verdict = judge(sidecar(must=[place]), [right])
    assert (verdict.named, verdict.missed, verdict.decided) == (1, [], [(right, True)])


def test_findings_ruled_out_by_the_kernel_are_wrong_and_unknowns_are_not_judged():
    lost = claim(detector="tail-loss")
    assert judge(sidecar(never=["tail-loss"]), [lost]).other_wrong == [lost]
    assert not judge(sidecar(), [lost]).decided
    assert not judge(
        sidecar(never=["tail-loss"]), [claim(detector="tail-loss", severity="info", lost_ns=0)]
    ).decided


def test_details_of_the_half_that_is_set_aside_are_refused(tmp_path, capsys):
    with pytest.raises(SystemExit) as refused:
        main([str(tmp_path), "--set", "aside", "--details"])
    assert refused.value.code == 2
    assert "set aside" in capsys.readouterr().err


def test_a_reliability_table_compares_the_mean_confidence_with_the_share_that_is_right():
    rows = [("nagle-hold", 0.98, True)] * 3 + [("nagle-hold", 0.98, False)] + [("tail-loss", 0.55, True)]
    low, high = reliability(rows)
    assert (low.findings, low.share_right, low.is_calibrated) == (1, 1.0, False)
    assert (high.findings, high.share_right, high.is_calibrated) == (4, 0.75, False)
    assert reliability([("tail-loss", 0.97, True)])[0].is_calibrated
