"""TLS without keys: against each other, against cleartext, against a model."""

import json
from dataclasses import replace

import pytest

import reference_sim
import tcptrace_http
from difference.laws import assert_everything_is_there_once, assert_split_is_exact, nanoseconds
from reference_sim import Page, retrieval
from reference_sim.page import objects_of
from reference_sim.stack import Nagle
from reference_sim.stacks import stack

#: The last two objects are shorter than their heads, which TLS does not separate from bodies.
PAGE = Page(name="short", objects=objects_of(30_000, 9000, 60, 20))
TARGETS = [part.target for part in PAGE.objects]
#: With Nagle's algorithm, the request waits behind TLS 1.3's ticket as long as the handshake saves.
STACK = replace(stack("linux-6"), nagle=Nagle.OFF)


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    """Return the page in cleartext, by TLS 1.2 and by TLS 1.3, captured at its client."""
    folder = tmp_path_factory.mktemp("opaque")
    paths = {}
    for name in (None, "tls-1.2", "tls-1.3"):
        path = paths[name] = folder / f"{name}.pcap"
        scenario = retrieval(strategy="http11", page=PAGE, network="wan", client_stack=STACK, tls=name)
        reference_sim.simulate(scenario).write_pcap(path, at="client")
    return paths


@pytest.fixture(scope="module")
def versions(paths):
    return tcptrace_http.diff(paths["tls-1.2"], paths["tls-1.3"])


def test_exchanges_without_names_are_aligned_by_order_and_size(versions):
    assert_split_is_exact(versions)
    assert_everything_is_there_once(versions)
    assert versions.aligned_retrievals.select("left_url", "right_url").row(0) == (None, None)
    numbers = versions.transactions.select("how", "left_transaction", "right_transaction", "method").rows()
    assert numbers == [("unnamed", each, each, None) for each in range(len(TARGETS))]


def test_version_is_a_rtt_of_the_handshake(versions):
    (handshake,) = versions.causes.filter(cause="setup.tls_handshake").iter_rows(named=True)
    rtt = nanoseconds(versions.left.analysis.flows["initial_rtt"])
    assert handshake["difference"].total_seconds() * 1e9 == pytest.approx(rtt, rel=0.1)
    assert versions.difference_ns == pytest.approx(rtt, rel=0.1)
    assert "tls" in {it.kind for it in versions.divergences}


def test_clear_text_of_the_same_page_gives_the_exchanges_their_targets(paths):
    for left, right in (("tls-1.3", None), (None, "tls-1.3")):
        difference = tcptrace_http.diff(paths[left], paths[right])
        assert_split_is_exact(difference)
        assert set(difference.transactions["how"]) == {"unnamed"}
        named = "right" if right is None else "left"
        numbers = difference.transactions.sort("left_transaction")
        assert numbers[f"{named}_target"].to_list() == TARGETS
        assert numbers["right_transaction"].to_list() == list(range(len(TARGETS)))
        assert difference.difference_ns * (1 if right is None else -1) > 0


def test_model_of_a_capture_without_keys_takes_the_captured_time(paths):
    difference = tcptrace_http.diff(paths["tls-1.3"], "inferred")
    assert_split_is_exact(difference)
    assert difference.left_ns == pytest.approx(difference.right_ns, rel=0.01)
    assert set(difference.transactions["how"]) == {"unnamed"}


def test_other_version_is_modelled_on_the_capture(paths, versions):
    difference = tcptrace_http.diff(paths["tls-1.2"], "tls-1.3")
    assert difference.difference_ns == pytest.approx(versions.difference_ns, rel=0.1)


def test_pipelined_requests_are_one_exchange(tmp_path):
    """Check two requests in one TLS exchange: one is aligned with it, the other is only on its own side."""
    path = tmp_path / "pipelined.pcap"
    scenario = retrieval(strategy="http11-pipelined", page="heidemann", network="wan", tls="tls-1.3")
    reference_sim.simulate(scenario).write_pcap(path, at="client")
    difference = tcptrace_http.diff(path, retrieval(strategy="http11", page="heidemann", network="wan"))
    assert_split_is_exact(difference)
    assert difference.transactions["how"].to_list() == ["unnamed", "unnamed", "only_right"]


def test_no_model_has_a_tls_handshake(versions):
    assert set(versions.residuals["fails"]) == {"no model has a TLS handshake"}


def test_every_format_states_the_limits(paths, versions):
    words = "are TLS without keys, where exchanges have no method and no target"
    assert words in " ".join(versions.text().split())
    assert words in versions.html()
    half = tcptrace_http.diff(paths["tls-1.2"], paths[None])
    assert "The left side is TLS without keys" in " ".join(half.text().split())
    assert f" {TARGETS[1]} " in half.text()
    document = json.loads(versions.json())
    assert {row["how"] for row in document["transactions"]} == {"unnamed"}
    assert document["retrievals"][0]["left_url"] is None


@pytest.mark.parametrize("chart", ["causes", "transactions", "sequence"])
def test_every_chart_is_drawn(versions, chart):
    assert versions.plot.chart(chart).to_dict()["layer"]
