"""Registry of fixes: the change of each fix, and the common laws."""

import re

import pytest

from reference_sim.page import Constant
from tcptrace_http.detectors import DETECTORS
from tcptrace_http.errors import UnknownName
from tcptrace_http.what_if import FIXES, Side, fix_named
from tcptrace_http.what_if.outcome import elapsed_of, outcome_of
from tcptrace_http.what_if.strategies import unmodified
from tests.whatif.retrievals import RETRIEVALS


def time_of(scenario):
    return elapsed_of(unmodified(scenario))


@pytest.mark.parametrize("fix", FIXES.values(), ids=lambda fix: fix.name)
def test_fix_has_a_description_and_names_existing_detectors(fix):
    assert re.fullmatch(r"[a-z0-9]+([-.][a-z0-9]+)*", fix.name)
    assert fix.about
    assert fix.source
    assert fix.unneeded
    assert set(fix.fixed_findings) <= DETECTORS.keys()


@pytest.mark.parametrize("name", RETRIEVALS)
@pytest.mark.parametrize("fix", FIXES.values(), ids=lambda fix: fix.name)
def test_fix_applied_twice_is_the_same_as_once(fix, name):
    once = fix.apply(RETRIEVALS[name])
    assert once != RETRIEVALS[name]
    if once is not None:
        assert fix.apply(once) is None


@pytest.mark.parametrize("fix", FIXES.values(), ids=lambda fix: fix.name)
def test_fix_changes_something_and_the_retrieval_still_ends(fix):
    fixed = [made for scenario in RETRIEVALS.values() if (made := fix.apply(scenario)) is not None]
    assert fixed
    assert all(time_of(scenario) > 0 for scenario in fixed)


@pytest.mark.parametrize(
    ("fix", "name", "cause"),
    [
        ("no-nagle", "flushed", "stall.nagle_delayed_ack"),
        ("one-write", "apache", "stall.nagle_delayed_ack"),
        ("head-with-body", "apache", "stall.nagle_delayed_ack"),
        ("whole-writes", "chunked", "stall.nagle_hold"),
        ("no-delayed-acks", "apache", "stall.nagle_delayed_ack"),
        ("initial-window-10", "split", "send_limited.slow_start"),
        ("no-idle-restart", "twice", "send_limited.slow_start"),
        ("bigger-send-buffer", "small", "send_limited.send_buffer"),
        ("keep-alive", "netscape", "setup.handshake"),
        ("compression", "small", "send_limited.bottleneck"),
        ("faster-server", "netscape", "server.think"),
        ("pipelining", "split", None),
        ("parallel-6", "flushed", None),
        ("whole-request", "split", "stall.nagle_hold"),
        ("cache", "netscape", "send_limited.bottleneck"),
        ("no-loss", "lossy", None),
        ("all-fixes", "apache", "stall.nagle_delayed_ack"),
        ("t-tcp", "netscape", "setup.handshake"),
        ("tls-1.3", "secured", "setup.tls_handshake"),
        ("tls-resumption", "secured", "setup.tls_handshake"),
        ("smaller-chain", "secured", "setup.tls_handshake"),
        ("tickets-with-response", "tickets", "stall.nagle_delayed_ack"),
        ("wider-h2-windows", "streams", "send_limited.h2_connection_window"),
        ("h2-requests-at-once", "streams", "setup.h2_settings"),
    ],
)
def test_fix_removes_its_pathology(fix, name, cause):
    before = outcome_of(unmodified(RETRIEVALS[name]))
    after = outcome_of(unmodified(FIXES[fix].apply(RETRIEVALS[name])))
    assert after.elapsed_ns < before.elapsed_ns
    assert cause is None or after.causes.get(cause, 0) < before.causes[cause]


@pytest.mark.parametrize("fix", ["one-write", "head-with-body", "whole-writes"])
def test_time_of_the_program_between_writes_is_not_saved_by_fewer_writes(fix):
    """Check a body that is not ready: its head waits for it."""
    before = outcome_of(unmodified(RETRIEVALS["computed"]))
    after = outcome_of(unmodified(FIXES[fix].apply(RETRIEVALS["computed"])))
    program = {"server.think", "server.data_unavailable"}
    spent = [sum(outcome.causes.get(cause, 0) for cause in program) for outcome in (before, after)]
    assert spent[1] == pytest.approx(spent[0], rel=0.01)
    assert spent[0] > 0.5 * before.elapsed_ns


def test_compression_changes_only_text():
    page = RETRIEVALS["netscape"].browsers[0].visits[0].page
    made = FIXES["compression"].apply(RETRIEVALS["netscape"]).browsers[0].visits[0].page
    pairs = list(zip(page.objects, made.objects, strict=True))
    assert [after.size == before.size for before, after in pairs] == [not before.is_text for before, _ in pairs]
    assert page.name == made.name


def test_links_in_compressed_data_are_found_at_their_compressed_place():
    """Check that the browser ends: it must not wait for bytes that never arrive."""
    before, after = (
        scenario.browsers[0].visits[0]
        for scenario in (RETRIEVALS["pipelined"], FIXES["compression"].apply(RETRIEVALS["pipelined"]))
    )
    assert isinstance(before.page.objects[0].size, Constant)
    for fetch, fixed in zip(before.plan.fetches[1:], after.plan.fetches[1:], strict=True):
        share = fetch.after.bytes / before.page.objects[0].size.value
        assert fixed.after.bytes == pytest.approx(share * after.page.objects[0].size.value, abs=1)


def test_names_with_a_plus_are_both():
    both = fix_named("no-nagle+one-write")
    apache = RETRIEVALS["apache"]
    assert both.apply(apache) == FIXES["one-write"].apply(FIXES["no-nagle"].apply(apache))
    assert both.side is Side.SERVER
    assert set(both.fixed_findings) == {*FIXES["no-nagle"].fixed_findings, *FIXES["one-write"].fixed_findings}


@pytest.mark.parametrize("name", ["no-nagel", "no-nagle+initial-windw-10", ""])
def test_unknown_fix_is_reported_with_the_nearest_name(name):
    with pytest.raises(UnknownName, match=r"no fix .*(did you mean|there are)"):
        fix_named(name)
