"""Derived captures: the edits' truth equals the rules' reading of the packets."""

from pathlib import Path

import pytest

from truth.derived import EDITS, write_derived
from truth.exchanges import exchanges_of
from truth.kernel_truth import captures_of
from truth.rules import RULES, truth_by_detector
from truth.scene import Scene
from truth.wire import read_flows

SAMPLES = Path(__file__).parents[2] / "sample_traces"

# A rule identifies a slow server by its command line, which an edit does not change.
BY_PACKETS = RULES.keys() - {"slow-server"}
# The samples have no pipelining, and never three segments without an ACK between them.
NOT_OF_SAMPLES = {"pipeline_lost", "overtaken"}


@pytest.fixture(scope="module")
def derived(tmp_path_factory):
    folder = tmp_path_factory.mktemp("derived")
    write_derived([SAMPLES], folder)
    return captures_of(folder)


def test_every_edit_finds_originals(derived):
    assert {capture.name.split("_of_")[0] for capture in derived} == EDITS.keys() - NOT_OF_SAMPLES


def test_rules_agree_with_the_edits_truth(derived):
    _agree(derived)


def test_rules_agree_with_the_edits_of_the_kernel_captures(captures, tmp_path):
    write_derived([captures / "kernel"], tmp_path)
    made = captures_of(tmp_path)
    assert {capture.name.split("_of_")[0] for capture in made} == EDITS.keys()
    _agree(made)


def _agree(made):
    faults = []
    for capture in made:
        scene = Scene(capture)
        said = truth_by_detector(scene)
        faults += [
            f"{capture.name}: {name}: {said[name]} is not {RULES[name].judge(scene)}"
            for name in BY_PACKETS.intersection(capture.sidecar["judged"])
            if said[name].must != RULES[name].judge(scene).must and not said[name].may
        ]
    assert not faults, "\n".join(faults)


def test_unedited_capture_has_none_of_the_edits_pathologies():
    structural = {
        "capture-gap",
        "one-sided-capture",
        "truncated-payload",
        "mid-stream-start",
        "refused-connection",
    }
    structural |= {"syn-retransmission", "reset-in-response", "truncated-response", "zero-window", "reordering"}
    for capture in captures_of(SAMPLES):
        for name in structural:
            truth = RULES[name].judge(Scene(capture))
            assert not truth.must, (capture.name, name)


def test_exchanges_are_those_that_the_client_of_the_capture_counted(captures):
    for capture in captures_of(captures / "kernel"):
        read = [exchange for flow in read_flows(capture.path) for exchange in exchanges_of(flow)]
        assert len(read) == capture.sidecar["workload"]["n_requests"], capture.name
        assert all(each.request and each.response and each.response.is_complete for each in read), capture.name
