"""Savings of TLS fixes: predicted from a capture, and simulated in its scenario."""

from __future__ import annotations

import statistics
import subprocess
from dataclasses import replace

import pytest

import tcptrace_http
from reference_sim.scenario import NodeTap
from reference_sim.simulation import simulate
from reference_sim.stack import Nagle
from reference_sim.strategies import STRATEGIES
from reference_sim.tls import PORT, Tls, TlsVersion, flight_bytes
from tcptrace_http.inference import NEEDED_TABLES, infer
from tcptrace_http.inference.observe import observe
from tcptrace_http.what_if import FIXES
from tcptrace_http.what_if.outcome import elapsed_of
from tcptrace_http.what_if.strategies import under, unmodified
from tests.detectors.loopback import captured
from tests.probe.link import delayed_link
from tests.probe.servers import LARGE, nginx_within, readable_folder
from tests.probe.tls_servers import certified
from tests.simulator.test_tls import CHOICES, secured
from tests.whatif.kernel_pairs import NOISE_NS, WITHIN
from tests.whatif.retrievals import RETRIEVALS

MS = 1_000_000
OF_TLS = ("tls-1.3", "tls-resumption", "smaller-chain", "tickets-with-response")


def analysed(scenario):
    scenario = replace(scenario, taps=(NodeTap(name="client"),))
    return tcptrace_http.analyze(simulate(scenario).pcap())


@pytest.mark.parametrize("name", CHOICES)
def test_flight_has_the_bytes_that_its_choices_make(name):
    (row,) = analysed(secured(CHOICES[name])).tls_handshakes.iter_rows(named=True)
    assert row["server_flight_bytes"] == flight_bytes(CHOICES[name])


@pytest.mark.parametrize("name", CHOICES)
def test_choices_are_inferred_from_the_capture(name):
    """Return the scenario without invisible settings: a resumed chain, a full record, tickets in a response."""
    true, told = CHOICES[name], infer(analysed(secured(CHOICES[name]))).scenario.servers[0].tls
    hidden = {"record_bytes": told.record_bytes, "tickets_with_response": False, "processing": told.processing}
    if true.resumed:
        hidden["chain_bytes"] = told.chain_bytes
    # With early data, tickets follow the response.
    if true.tickets_with_response or true.early_data:
        hidden |= {"tickets": told.tickets, "ticket_bytes": told.ticket_bytes}
    if not true.tickets:
        hidden["ticket_bytes"] = told.ticket_bytes
    elif true.version is TlsVersion.TLS12:
        # There is at most one ticket.
        hidden["tickets"] = 1
    if not true.hello_bytes:
        hidden["hello_bytes"] = told.hello_bytes
    assert told == replace(true, **hidden)
    assert told.processing == pytest.approx(true.processing, abs=MS)


@pytest.mark.parametrize("fix", OF_TLS)
@pytest.mark.parametrize("name", ["secured", "tickets"])
def test_the_prediction_is_the_saving_of_the_scenario_with_the_fix(name, fix):
    scenario = RETRIEVALS[name]
    fixed = FIXES[fix].apply(scenario)
    true = 0 if fixed is None else elapsed_of(unmodified(scenario)) - elapsed_of(unmodified(fixed))
    told = tcptrace_http.whatif(analysed(scenario), fixes=[fix], draws=0)
    assert told.is_reproduced
    assert told.row(fix).saved_ns == pytest.approx(true, abs=max(WITHIN * abs(true), NOISE_NS))


def test_price_of_a_rtt_is_a_rtt():
    """Check TLS 1.2 to 1.3, with a chain that fits the first window in both."""
    scenario = secured(Tls(version=TlsVersion.TLS12, tickets=0))
    row = tcptrace_http.whatif(analysed(scenario), fixes=["tls-1.3"], draws=0).row("tls-1.3")
    (round_trip,) = analysed(scenario).flows["initial_rtt"].dt.total_nanoseconds()
    assert row.saved_ns == pytest.approx(round_trip, rel=0.1)
    assert row.causes[0].cause == "setup.tls_handshake"


def test_the_range_has_the_saving_that_a_capture_of_tls12_leaves_open():
    """Check the server's hold after a ticket, which is visible only in TLS 1.3."""
    holding = RETRIEVALS["secured"]
    quick = replace(holding.servers[0], stack=replace(holding.servers[0].stack, nagle=Nagle.OFF))
    scenario = replace(holding, servers=(quick,))
    true = elapsed_of(unmodified(scenario)) - elapsed_of(unmodified(FIXES["tls-1.3"].apply(scenario)))
    told = tcptrace_http.whatif(analysed(scenario), fixes=["tls-1.3"], draws=4)
    assert told.undetermined["server.nagle"] == ("minshall", "off")
    assert told.row("tls-1.3").saved.low_ns < true <= told.row("tls-1.3").saved.high_ns + NOISE_NS


def test_a_capture_in_cleartext_is_offered_no_fix_of_tls():
    prediction = tcptrace_http.whatif(analysed(RETRIEVALS["nodelay"]), draws=0)
    assert not {row.name for row in prediction.rows} & set(OF_TLS)
    assert {one.name for one in prediction.skipped} >= set(OF_TLS)


def test_strategies_stay_secured():
    told = tcptrace_http.whatif(analysed(RETRIEVALS["secured"]), strategies=["http10-serial", "ftp"], draws=0)
    connections = len(RETRIEVALS["secured"].browsers[0].visits[0].page.objects)
    causes = {cause.cause: cause.after_ns for cause in told.row("http10-serial").causes}
    before = told.baseline_causes["setup.tls_handshake"]
    assert causes["setup.tls_handshake"] == pytest.approx(connections * before, rel=0.2)
    assert [one.name for one in told.skipped] == ["ftp"]


def test_strategy_that_says_how_is_secured_that_way():
    resumed = Tls(resumed=True)
    strategy = STRATEGIES["http11"].but("resumed", "as before, resumed", tls=resumed)
    for name in ("secured", "nodelay"):
        assert under(RETRIEVALS[name], strategy).scenario.servers[0].tls == resumed


@pytest.mark.slow
def test_tls13_saves_the_time_predicted_from_a_real_tls12_capture(tmp_path):
    """Check the fastest of five retrievals each, over 60 ms: the link is milliseconds late."""
    found = {}
    for version in ("TLSv1.2", "TLSv1.3"):
        with readable_folder() as folder, delayed_link(round_trip_seconds=0.06) as link:
            server = f"listen {link.address}:{PORT} ssl; {certified(folder).directives()} ssl_protocols {version};"
            within = ["ip", "netns", "exec", link.client]
            fetch = [*within, "curl", "-sk", "--http1.1", "-o", "/dev/null"]
            where = ["--resolve", f"www.example.com:{PORT}:{link.address}", f"https://www.example.com{LARGE}"]
            with nginx_within(folder, link.server, link.address, server=server):
                paths = [tmp_path / f"{version}-{number}.pcap" for number in range(5)]
                for path in paths:
                    with captured(PORT, path, within=within, device=link.device, address=link.address):
                        subprocess.run([*fetch, *where], check=True)
        found[version] = [tcptrace_http.analyze(path, tables=NEEDED_TABLES) for path in paths]
    old, new = (min(observe(each).elapsed for each in analyses) for analyses in found.values())
    rows = [tcptrace_http.whatif(each, fixes=["tls-1.3"], draws=0).row("tls-1.3") for each in found["TLSv1.2"]]
    told = statistics.median(row.saved_ns for row in rows)
    assert told == pytest.approx(old - new, abs=15 * MS)
    assert told == pytest.approx(60 * MS, abs=10 * MS)
