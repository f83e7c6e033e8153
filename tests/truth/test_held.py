"""Held data in kernel captures: one owner per hold, equal time at both ends, no other findings."""

import fnmatch
from collections import Counter

import pytest

import tcptrace_http
from truth.compare import compare, findings_by_api
from truth.kernel_truth import RESTART, TOLERANCE_MS, captures_of, runs_nagle, truth_of

HOLDS = {
    "short-initial-segment",
    "odd-short-final-segment",
    "nagle-delayed-ack",
    "nagle-hold",
    "delayed-ack-first-segment",
}
OTHERS = {"cork-timeout", "small-send-buffer", "stretch-ack", "split-request"}

#: Number of right findings with lost time, per capture; at both ends if no end is named. Captures that are
#: not listed have none.
EXPECTED = {
    "req_split_nagle_lan": {"nagle-delayed-ack": 7},
    "req_split_nagle_rtt100": {"nagle-delayed-ack": 7, "nagle-hold": 1},
    "req_post_sep_rtt100": {"nagle-delayed-ack": 7, "nagle-hold": 1},
    "req_split_app_gap_nodelay": {"split-request": 6},
    "lan_cork_forgotten": {"cork-timeout": 10},
    "buf_sndbuf4k_4kwrites_rtt100": {"small-send-buffer": 2},
    "buf_sndbuf16k_4kwrites_rtt100": {"small-send-buffer": 1},
    # The client once acknowledged three segments at once, 6 ms late: too soon for a delayed ACK. At its own
    # end, the delay is that of the link.
    "mix_bsdsrv_linuxcli_odd.srv": {"nagle-hold": 1},
}
NAMED_ELSEWHERE = {"short-initial-segment", "odd-short-final-segment"}

#: First response of a flow, before the server's capture shows the link's pace.
FIRST_ON_A_LONG_PATH_MS = 3.0


pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def kernel(captures):
    """Return the kernel captures with their findings."""
    return [
        (capture, tcptrace_http.analyze(capture.path).findings) for capture in captures_of(captures / "kernel")
    ]


def test_every_hold_and_limit_of_a_sender_is_found_only_in_its_place(kernel):
    for capture, found in kernel:
        rows = found.filter(found["severity"] != "info").iter_rows(named=True)
        counts = Counter(row["detector"] for row in rows)
        mine = {name: n for name, n in counts.items() if name in (HOLDS | OTHERS) - NAMED_ELSEWHERE}
        at_both_ends = EXPECTED.get(capture.name.removesuffix(".srv"), {})
        assert mine == EXPECTED.get(capture.name, at_both_ends), capture.name


def test_a_hold_has_one_owner(kernel):
    for capture, found in kernel:
        held = [
            (row["flow"], row["last_frame"]) for row in found.iter_rows(named=True) if row["detector"] in HOLDS
        ]
        assert len(held) == len(set(held)), capture.name


def test_split_requests_without_cost_are_reported_as_structure(kernel):
    for capture, found in kernel:
        told = found.filter(detector="split-request", severity="info")
        assert told.height == fnmatch.fnmatch(capture.sidecar["name"], "req_split_nodelay_*"), capture.name


def test_client_and_server_show_the_same_loss(kernel):
    lost = {capture.name: _lost_ms(capture) for capture, _ in kernel}
    for name, at_server in lost.items():
        at_client = lost.get(name.removesuffix(".srv"))
        if at_client is None or not name.endswith(".srv"):
            continue
        for stall in at_client.keys() & at_server.keys():
            difference = abs(at_client[stall] - at_server[stall])
            assert difference <= (FIRST_ON_A_LONG_PATH_MS if stall[1] == 0 else TOLERANCE_MS), (name, stall)
        told_by_one = at_client.keys() ^ at_server.keys()
        assert all((at_client | at_server)[stall] <= TOLERANCE_MS + 0.1 for stall in told_by_one), name


def _lost_ms(capture):
    """Return the lost time found for each true stall; both ends have the same order."""
    truth = [stall for stall in truth_of(capture) if stall.detector != RESTART]
    found = compare(truth, findings_by_api(capture.path), nagle=runs_nagle(capture)).found
    return {
        (stall.client_port, number): finding.lost_ms
        for number, stall in enumerate(truth)
        for told, finding in found
        if told is stall
    }
