"""JSON of a difference: its documented keys are a contract."""

import json
import os
from pathlib import Path

import pytest

import tcptrace_http
from tcptrace_http.difference import json as module

SPLIT = {"cause", "left_ns", "right_ns", "difference_ns"}
SIDE = {"name", "is_simulated", "truncated", "elapsed_ns", "inferred_ns", "assumptions"}
KEYS = {
    "schema_version",
    *("left", "right", "difference_ns", "headline", "model"),
    *("causes", "retrievals", "transactions", "stalls", "residuals", "flows", "divergences"),
}
#: Keys of the objects, per list.
OBJECTS = {
    "causes": SPLIT,
    "retrievals": {
        *("pair", "left_retrieval", "right_retrieval", "left_url", "right_url"),
        *("left_transactions", "right_transactions"),
        *("left_elapsed_ns", "right_elapsed_ns", "difference_ns", "causes"),
    },
    "transactions": {
        *("pair", "how", "method"),
        *("left_flow", "right_flow", "left_transaction", "right_transaction", "left_retrieval", "right_retrieval"),
        *("left_target", "right_target", "left_body_bytes", "right_body_bytes"),
        *("left_elapsed_ns", "right_elapsed_ns", "difference_ns", "causes"),
    },
    "stalls": {
        *("cause", "detector", "left_count", "right_count", "left_lost_ns", "right_lost_ns", "difference_ns"),
    },
    "residuals": {"pair", "side", "model", "fails", "elapsed_ns", "predicted_ns", "residual_ns"},
    "divergences": {
        *("kind", "left_transaction", "right_transaction", "left_frame", "right_frame"),
        *("left_wait_ns", "right_wait_ns", "cause", "words"),
    },
}


@pytest.fixture(scope="module")
def document(sample_traces):
    return json.loads(tcptrace_http.diff(sample_traces / "bsd_phttp_orig.pcap", "p-http-nagle-fix").json())


def test_keys_are_these(document):
    assert document["schema_version"] == 1
    assert set(document) == KEYS
    assert {"left", "right"} <= set(document)
    for side in ("left", "right"):
        assert set(document[side]) == SIDE
    for name, keys in OBJECTS.items():
        assert document[name], name
        for each in document[name]:
            assert set(each) == keys
    for name in ("retrievals", "transactions"):
        for each in document[name]:
            assert all(set(part) == SPLIT for part in each["causes"])


def test_every_key_is_documented(document):
    for name in KEYS:
        assert f"``{name}``" in module.__doc__
    assert all(f"``{key}``" in module.__doc__ for key in SIDE)
    for name, keys in OBJECTS.items():
        # Each side's keys are listed once for both.
        told = {key if key in SPLIT else key.removeprefix("left_").removeprefix("right_") for key in keys}
        lacking = [key for key in told if f"``{key}``" not in module.__doc__]
        assert not lacking, name


def test_capture_has_no_assumptions_and_a_model_has(document):
    assert document["left"]["assumptions"] is None
    assert document["left"]["inferred_ns"] is None
    assert "path.queue" in document["right"]["assumptions"]
    assert document["right"]["inferred_ns"] > 0


def test_sums_are_exact(document):
    assert sum(row["difference_ns"] for row in document["causes"]) == document["difference_ns"]
    for side in ("left", "right"):
        assert sum(row[f"{side}_ns"] for row in document["causes"]) == document[side]["elapsed_ns"]


def test_file_name_that_is_no_text_is_reported_in_ascii(tmp_path, sample_traces):
    name = os.fsdecode(os.fsencode(tmp_path) + b"/page-\xff.pcap")
    Path(name).write_bytes((sample_traces / "lan_hdrsep_small.pcap").read_bytes())
    text = tcptrace_http.diff(name, name).json()
    assert text.isascii()
    assert json.loads(text)["left"]["name"] == name
