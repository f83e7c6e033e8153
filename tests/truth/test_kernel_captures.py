"""Stalls of the ground truth: each is found with name, cause and loss, and nothing else is."""

import fnmatch
import tomllib
from pathlib import Path

from truth.compare import compare, findings_by_api
from truth.kernel_truth import captures_of, runs_nagle, truth_of

#: Missed and wrong findings with the reason, of 686 stalls.
FAULTS = tomllib.loads(Path(__file__).with_name("kernel_faults.toml").read_text())
SAMPLES = Path(__file__).parents[2] / "sample_traces"

# Names of captures without stalls, or with deceptive patterns.
CLEAN = (
    *("neg_*", "*_nodelay", "*_one", "*cork*", "req_*", "*_default", "page_*"),
    *("ssr_small_invisible", "ssr_*_off"),
)


def test_findings_of_the_samples_agree_with_the_ground_truth():
    captures = captures_of(SAMPLES)
    assert len(captures) == 13
    _agree(captures)


def test_findings_of_the_kernel_captures_agree_with_the_ground_truth(captures):
    _agree(captures_of(captures / "kernel"))


def test_every_named_pathology_is_in_the_truth_of_the_samples():
    stalls = [stall for capture in captures_of(SAMPLES) for stall in truth_of(capture) if stall.required]
    assert {stall.detector for stall in stalls} == {
        "short-initial-segment",
        "odd-short-final-segment",
        "slow-start-restart",
    }


def _agree(captures):
    faults = {}
    for capture in captures:
        comparison = compare(truth_of(capture), findings_by_api(capture.path), nagle=runs_nagle(capture))
        for stall in comparison.missed:
            faults[f"{capture.name}: misses {stall.detector} at frame {stall.first_frame}"] = stall
        for finding, why in comparison.wrong:
            faults[f"{capture.name}: {finding.detector} at frame {finding.first_frame} is wrong"] = (finding, why)
    new = {fault: faults[fault] for fault in faults.keys() - FAULTS.keys()}
    assert not new, new
    names = {capture.name for capture in captures}
    stale = [fault for fault in FAULTS.keys() - faults.keys() if fault.partition(":")[0] in names]
    assert not stale, stale


def test_truth_of_captures_that_were_built_to_be_clean_is_none(captures):
    for capture in captures_of(captures / "kernel"):
        if any(fnmatch.fnmatch(capture.sidecar["name"], pattern) for pattern in CLEAN):
            assert not [stall for stall in truth_of(capture) if stall.required], capture.name
