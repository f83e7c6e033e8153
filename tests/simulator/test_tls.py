"""TLS in simulations: our analysis and tshark read the scenario's exchanges."""

from __future__ import annotations

from dataclasses import replace

import pytest

import tcptrace_http
from reference_sim.page import Page, objects_of
from reference_sim.scenario import Record
from reference_sim.scenario_file import parse
from reference_sim.scenario_writer import toml_of
from reference_sim.simulation import simulate
from reference_sim.stack import Nagle
from reference_sim.stacks import stack
from reference_sim.tls import PRESETS, Tls, TlsVersion, tls
from reference_sim.true_waits import true_waits
from reference_sim.workloads import retrieval
from tcptrace_http.errors import ScenarioError
from tests.differential.tshark_handshakes import handshakes
from tests.simulator.wireshark import complaints, dissect

CHOICES = {
    **{name: preset.tls for name, preset in PRESETS.items()},
    "large-chain": Tls(version=TlsVersion.TLS12, chain_bytes=20_000),
    "large-chain-13": Tls(chain_bytes=40_000, hello_bytes=0),
    "no-tickets": Tls(version=TlsVersion.TLS12, tickets=0),
    "small-records": Tls(record_bytes=1300, tickets_with_response=True, processing=5_000_000),
}
ROUND_TRIPS = {"tls-1.2": 2, "large-chain": 2, "no-tickets": 2, "tls-1.3-early-data": 0}
HOST = "www.example.com"
NAMES = {"TLS 1.2": 0x0303, "TLS 1.3": 0x0304}


def secured(choice, **choices):
    quiet = replace(stack("linux-6"), nagle=Nagle.OFF)
    common = {"strategy": "http11", "page": "heidemann", "network": "wan", "client_stack": quiet}
    return retrieval(**{**common, **choices}, tls=choice, record=Record.everything())


@pytest.fixture(params=CHOICES)
def named(request):
    return request.param


def test_handshake_is_read_as_the_scenario_has_it(named):
    choice = CHOICES[named]
    simulation = simulate(secured(choice))
    (row,) = tcptrace_http.analyze(simulation.pcap()).tls_handshakes.iter_rows(named=True)
    has_chain_in_clear = choice.version is TlsVersion.TLS12 and not choice.resumed
    assert row["version"] == f"TLS {choice.version}"
    assert row["resumed"] is choice.resumed
    assert row["early_data"] is choice.early_data
    assert row["server_name"] == HOST
    assert row["alpn_offered"] == "http/1.1"
    assert row["certificate_bytes"] == (choice.chain_bytes if has_chain_in_clear else None)
    assert row["round_trips"] == ROUND_TRIPS.get(named, 1)
    # A ChangeCipherSpec precedes early data.
    padded = 517 + 6 * choice.early_data
    assert row["client_hello_bytes"] == (padded if choice.hello_bytes else row["client_hello_bytes"])
    assert row["hello_retry"] is False
    assert row["alert"] is None


def test_tshark_reads_the_same_handshake_and_has_nothing_to_complain_of(named, tmp_path):
    choice = CHOICES[named]
    simulation = simulate(secured(choice))
    frames = dissect(simulation, tmp_path)
    assert list(complaints(frames)) == []
    (row,) = handshakes(tmp_path / "x.pcap").values()
    (ours,) = tcptrace_http.analyze(simulation.pcap()).tls_handshakes.iter_rows(named=True)
    assert row.version == NAMES[ours["version"]]
    assert row.server_name == ours["server_name"]
    assert row.alpn_offered == ours["alpn_offered"]
    assert row.cipher == ours["cipher"]
    if choice.version is TlsVersion.TLS12:
        assert row.is_resumed is choice.resumed


def test_exchanges_are_the_transactions_of_the_truth(named):
    # With early data, tickets follow the first response, and look like part of it or of the next.
    choice = replace(CHOICES[named], tickets=0) if CHOICES[named].early_data else CHOICES[named]
    simulation = simulate(secured(choice))
    found = tcptrace_http.analyze(simulation.pcap()).transactions
    true = simulation.truth.transactions
    assert found.height == true.height
    assert set(found["protocol"]) == {"tls"}
    for column, truth in (
        ("request_time", "request_first_sent"),
        ("response_first_time", "response_first_received"),
        ("response_last_time", "response_last_received"),
    ):
        assert found[column].to_physical().to_list() == true[truth].to_physical().to_list(), column


def test_waits_are_those_of_the_truth(named):
    simulation = simulate(secured(CHOICES[named]))
    found = tcptrace_http.analyze(simulation.pcap()).waits
    true = true_waits(_tables(simulation), _document(CHOICES[named]))
    of_setup = ("setup.handshake", "setup.tls_handshake")
    ours, theirs = (
        {
            cause: sum(end - start for name, start, end in rows if name == cause)
            for cause in (*of_setup, "server.think")
        }
        for rows in (
            [(cause, start, end) for cause, start, end in _rows(found, "cause", "start", "end")],
            [(cause, start, end) for cause, start, end in _rows(true, "cause", "start_ns", "end_ns")],
        )
    )
    assert [ours[cause] for cause in of_setup] == [theirs[cause] for cause in of_setup]
    assert (ours["setup.tls_handshake"] > 0) == (not CHOICES[named].early_data)


def _rows(frame, *columns):
    import polars as pl

    return frame.select(
        pl.col(columns[0]).cast(pl.String), *(pl.col(it).to_physical() for it in columns[1:])
    ).rows()


def _tables(simulation):
    truth = simulation.truth
    return {name: getattr(truth, name) for name in truth.__dataclass_fields__}


def _document(choice):
    return secured(choice).document()


def test_the_same_seed_gives_the_same_bytes_and_another_one_others():
    scenario = secured(Tls())
    first = simulate(scenario).pcap()
    assert simulate(scenario).pcap() == first
    assert simulate(scenario, seed=2).pcap() != first


@pytest.mark.parametrize("client_stack", ["reno", "sunos-4.1.3", "linux-6", "netbsd-1.2.1"])
@pytest.mark.parametrize("strategy", ["http10-parallel", "http11-pipelined", "http10-ttcp", "http10-etcp-fair"])
def test_every_kind_of_strategy_gets_its_page_over_tls(strategy, client_stack):
    scenario = secured(Tls(record_bytes=1000), strategy=strategy, client_stack=client_stack)
    truth = simulate(scenario).truth
    plain = simulate(
        retrieval(strategy=strategy, page="heidemann", network="wan", client_stack=client_stack)
    ).truth
    assert truth.transactions.height == plain.transactions.height
    assert truth.transactions["response_last_received"].null_count() == 0
    assert truth.connections["closed"].null_count() == 0


def test_tickets_before_the_response_hold_it_by_nagles_algorithm():
    """Check that the response waits for the client's delayed ACK of the tickets, unless sent with them."""
    nagle = replace(stack("linux-6"), nagle=Nagle.BSD)
    quiet = replace(stack("linux-6"), nagle=Nagle.OFF, acks=replace(stack("linux-6").acks, quick_acks=None))
    page = Page(name="small", objects=objects_of(500))
    small = {"page": page, "client_stack": quiet, "server_stack": nagle, "network": "lan"}

    def first(choice):
        rows = simulate(secured(choice, **small)).truth.transactions
        return rows["response_last_received"].to_physical()[0] - rows["written"].to_physical()[0]

    alone, together = (first(Tls(tickets_with_response=it)) for it in (False, True))
    assert alone - together > 30_000_000


SHORT = """
strategy = "http11"
page = "heidemann"
network = "wan"
tls = { based_on = "tls-1.2", chain_bytes = "16 kB", tickets = 0 }
"""


def test_a_file_says_how_connections_are_secured_and_is_written_back():
    scenario = parse(SHORT)
    assert scenario.servers[0].tls == replace(tls("tls-1.2"), chain_bytes=16_000, tickets=0)
    assert scenario.servers[0].port == 443
    assert parse(toml_of(scenario)) == scenario
    assert parse(SHORT.replace("tls = {", 'tls = "tls-1.3" #')).servers[0].tls == Tls()


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ('"tls-1.4"', "did you mean"),
        ("{ tikets = 2 }", "tls.tikets: unknown"),
        ('{ version = "1.1" }', "tls.version"),
    ],
)
def test_a_wrong_choice_is_named(table, message):
    with pytest.raises(ScenarioError, match=message):
        parse(SHORT.replace('{ based_on = "tls-1.2", chain_bytes = "16 kB", tickets = 0 }', table))


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        (Tls(early_data=True), r"servers\[0\].tls.early_data: early data needs version 1.3 and resumption"),
        (Tls(record_bytes=20_000), r"servers\[0\].tls.record_bytes: 20000 is above the maximum of 16384"),
        (Tls(chain_bytes=5), r"servers\[0\].tls.chain_bytes: 5 is below the minimum"),
    ],
)
def test_an_impossible_choice_is_refused(choice, message):
    with pytest.raises(ScenarioError, match=message):
        simulate(secured(choice))


@pytest.mark.parametrize("strategy", ["ftp", "optimized-browser", "cumulative-cache"])
def test_files_and_proxies_are_in_cleartext(strategy):
    with pytest.raises(ScenarioError, match="not simulated over TLS"):
        retrieval(strategy=strategy, page="heidemann", network="satellite-hub", tls="tls-1.3")
