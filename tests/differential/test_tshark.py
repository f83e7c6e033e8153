"""Segments and transactions against tshark: equal, or explained."""

from __future__ import annotations

import io
from collections import Counter

import pytest

import tcptrace_http
from differential.comparison import Tally, merged, reasons
from differential.random_flows import random_capture
from differential.report import compare_all
from differential.tshark import marks
from differential.tshark_peer import PEER, compare
from reference_sim.networks import network
from reference_sim.page import Page, objects_of
from reference_sim.simulation import simulate
from reference_sim.workloads import retrieval
from tcptrace_http.report import text

#: Reasons that random segments reach; other reasons need real files.
_RANDOM_REASONS = frozenset(
    (
        "zero-duration",
        "second-initial-number",
        "flight-before-the-first-number",
        "unseen-counted-as-duplicates",
        "packet-captured-twice",
    )
)


def test_samples_agree_with_tshark_without_exception(sample_traces):
    total = merged(compare(path, path.name) for path in sorted(sample_traces.glob("*.pcap*")))[0]
    assert total.examples == ()
    assert total.disagreements == {}
    assert total.compared["segments"] > 2000
    assert total.compared["transactions"] > 200


@pytest.mark.parametrize("seed", range(2))
def test_random_segments_agree_with_tshark(seed, tmp_path):
    path = tmp_path / "random.pcap"
    path.write_bytes(random_capture(seed))
    found = compare(path, path.name)
    assert found.examples == ()
    assert set(found.disagreements) <= _RANDOM_REASONS
    # By chance, a packet equals its predecessor and counts as a copy.
    assert 40 * 60 - 10 < found.compared["segments"] <= 40 * 60


def test_marks_echoes_and_reductions_are_counted_as_by_tshark(tmp_path):
    page = Page(name="page", objects=objects_of(2_000_000))
    where = network("broadband-codel-ecn")
    run = simulate(retrieval(strategy="http11", page=page, network=where, client_stack="linux-6-ecn"))
    path = tmp_path / "marked.pcap"
    path.write_bytes(run.pcap(at=run.taps[0]))
    analysis = tcptrace_http.analyze(path)
    flows = analysis.flows
    assert flows["ecn_negotiated"].to_list() == [True]
    ours = {
        (row["flow"], str(row[f"{side}_port"]), name): row[f"{side}_{name}"]
        for row in flows.iter_rows(named=True)
        for side in ("client", "server")
        for name in ("ce_packets", "ece_acks", "cwr_segments")
    }
    assert {key: count for key, count in ours.items() if count} == marks(path)
    assert {name for _, _, name in marks(path)} == {"ce_packets", "ece_acks", "cwr_segments"}
    report = io.BytesIO()
    text.write([analysis], report, width=None, colour=False)
    words = " ".join(report.getvalue().decode().split())
    assert f"{ours[0, '80', 'ce_packets']} marked packets (CE)" in words


def test_a_cell_that_differs_without_a_reason_is_unexplained():
    tally = Tally(PEER, "of_no_case.pcap")
    tally.note("is_out_of_order", "frame 1", ours=True, theirs=False)
    assert tally.finish().unexplained == 1


def test_a_reason_without_a_difference_is_unexplained():
    (path, _), _ = next(case for reason in reasons(PEER) for case in reason.cases.items())
    assert Tally(PEER, path).finish().unexplained > 0


def test_reasons_have_one_entry_with_an_explanation():
    names = Counter(reason.reason for reason in reasons(PEER))
    assert set(names.values()) == {1}
    assert all(reason.explanation.strip() for reason in reasons(PEER))


@pytest.mark.slow
def test_captures_agree_with_tshark_or_differ_for_a_reason(captures):
    total = compare_all(captures, (PEER,))[0]
    assert total.examples == ()
    assert total.unexplained == 0
    # Every reason has an entry, and every entry has a case.
    assert set(total.disagreements) == {reason.reason for reason in reasons(PEER)}
    assert sum(total.disagreements.values()) < 0.002 * total.compared["cells"]
