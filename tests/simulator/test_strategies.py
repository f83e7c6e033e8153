"""Strategies: every row gives valid requests for every page, and a new strategy takes a few lines."""

import re
from dataclasses import replace
from datetime import timedelta

import polars as pl
import pytest

import reference_sim.strategy
from reference_sim.networks import NETWORKS, lossy, network
from reference_sim.page import Page, expected
from reference_sim.pages import KRUSE_SPLITS, PAGES, kruse, page
from reference_sim.plan import Bytes, Complete, Fetch, HttpVersion, Plan
from reference_sim.simulation import simulate
from reference_sim.strategies import STRATEGIES, named_strategy
from reference_sim.strategy import REGISTERED, Protocol, Strategy, register, strategy
from reference_sim.topology import PacketLoss
from reference_sim.workloads import THESIS_STRATEGIES, retrieval, thesis
from tcptrace_http.errors import ScenarioError


@pytest.fixture
def own_names(monkeypatch):
    """Remove a test's registrations afterwards."""
    monkeypatch.setattr(reference_sim.strategy, "REGISTERED", REGISTERED)
    before = dict(REGISTERED)
    yield
    REGISTERED.clear()
    REGISTERED.update(before)


def end_to_end(**choices):
    return simulate(retrieval(**choices)).truth


def times(truth):
    return [(end - start).total_seconds() for start, end in truth.retrievals.select("start", "end").iter_rows()]


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_page_has_a_valid_plan(name):
    for what in PAGES.values():
        document = retrieval(strategy=name, page=what, network="satellite-hub").document()
        assert document["browsers"] or document["transfers"]


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_strategy_retrieves_every_object_of_its_pages(name):
    truth = end_to_end(strategy=name, page="eggert-graphics", network="satellite-hub")
    assert truth.retrievals.height > 0
    assert truth.retrievals["end"].null_count() == 0
    assert truth.transactions["response_last_received"].null_count() == 0
    chosen = named_strategy(name)
    if chosen.protocol is Protocol.FTP:
        assert truth.retrievals["bytes"].to_list() == [part.size.value for part in page("eggert-graphics").objects]
    else:
        fetches = sum(len(visit.plan.fetches) for visit in chosen.visits(page("eggert-graphics")))
        assert truth.transactions.filter(truth.transactions["browser"] == 0).height >= fetches


@pytest.mark.parametrize("name", NETWORKS)
def test_every_network_carries_a_page(name):
    truth = end_to_end(strategy="http10-parallel-4", page="heidemann", network=name)
    assert truth.transactions["response_last_received"].null_count() == 0


@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize("name", NETWORKS)
def test_every_network_carries_all_files_of_ftp(name, waits):
    truth = simulate(ftp(waits, page="heidemann", network=name)).truth
    assert truth.retrievals["bytes"].to_list() == [6651, 3883, 1866]
    assert truth.retrievals["end"].null_count() == 0


def ftp(waits, **choices):
    scenario = retrieval(strategy="ftp", **choices)
    return replace(scenario, transfers=(replace(scenario.transfers[0], waits_for_replies=waits),))


@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize("stack", ["reno", "sunos-4.1.3", "linux-6"])
def test_ftp_says_that_a_file_is_there_when_it_is(stack, waits):
    """Check RFC 959, section 4.2: "226 Closing data connection. Requested file action successful"."""
    scenario = ftp(waits, page="one-large", network="wan", client_stack=stack)
    packets = simulate(scenario).truth.packets.filter(pl.col("payload_bytes") > 0)
    came = packets.filter(connection=1)["received"].max()
    replies = packets.filter((pl.col("connection") == 0) & (pl.col("side") == "server") & (pl.col("sent") >= came))
    text = "226 Closing data connection.\r\n221 Service closing control connection.\r\n"
    assert replies["payload_bytes"].sum() == len(text)


def test_ftp_continues_with_the_next_file_after_a_broken_data_connection():
    """Check RFC 959, section 4.2: "426 Connection closed; transfer aborted"."""
    path = lossy(network("wan"), PacketLoss(rate=0.7), link="server-client")
    made = simulate(retrieval(strategy="ftp", page="heidemann", network=path, seed=3))
    assert made.truth.retrievals["end"].is_null().to_list() == [True, False, False]
    assert made.truth.retrievals["bytes"].to_list() == [0, 3883, 1866]
    assert b"426 Connection closed" in made.pcap("client")


def test_serial_opens_a_connection_an_object_and_persistent_one():
    serial = end_to_end(strategy="http10-serial", page="eggert-graphics", network="wan")
    assert serial.connections.height == 14
    assert end_to_end(strategy="http11", page="eggert-graphics", network="wan").connections.height == 1


def test_at_most_four_connections_are_open_with_netscape():
    rows = end_to_end(strategy="http10-parallel-4", page="eggert-graphics", network="wan").transactions
    spans = list(rows.select("written", "response_last_received").iter_rows())
    assert max(sum(start <= at < end for start, end in spans) for at, _ in spans) == 4


def test_a_bundle_is_one_response():
    rows = end_to_end(strategy="segment-filled", page="golden", network="thesis").transactions
    assert rows.height == 2
    assert (rows["response_head_bytes"][0] + rows["response_body_bytes"][0]) % 1460 == 0
    assert end_to_end(strategy="getall", page="golden", network="thesis").transactions.height == 1


def test_a_second_visit_with_a_cache_brings_no_bodies():
    rows = end_to_end(strategy="conditional-get", page="heidemann", network="wan").transactions
    again = rows.filter(rows["visit"] == 1)
    assert again["status"].to_list() == [304] * 3
    assert again["response_body_bytes"].sum() == 0


def test_deltas_save_the_share_in_their_paper():
    rows = end_to_end(strategy="delta-encoding", page="one-large", network="wan").transactions
    whole, difference = rows["response_body_bytes"]
    assert difference / whole == pytest.approx(0.17, abs=0.001)


def test_text_is_compressed_and_images_are_not():
    (visit,) = named_strategy("compression").visits(page("heidemann"))
    sizes = [round(expected(part.size)) for part in visit.page.objects]
    assert sizes == [round(6651 * 11 / 42), 3883, 1866]


def test_the_hub_pushes_the_page_sooner_than_one_connection_brings_it():
    (through_hub,) = times(end_to_end(strategy="optimized-browser", page="espn", network="satellite-hub"))
    (direct,) = times(end_to_end(strategy="http11-pipelined", page="espn", network="satellite-hub"))
    assert through_hub < direct


def test_the_hub_asks_for_an_object_when_it_has_found_it():
    rows = end_to_end(strategy="optimized-browser", page="one-large", network="satellite-hub")
    assert rows.transactions.height == 2
    rows = end_to_end(strategy="optimized-browser", page="espn", network="satellite-hub").transactions
    at_hub = rows.filter(~pl.col("target").str.starts_with("http:"))
    base, objects = at_hub.filter(pl.col("fetch") == 0), at_hub.filter(pl.col("fetch") > 0)
    assert objects.height == 50
    assert objects["written"].min() > base["response_first_received"].item()
    assert objects["written"].max() >= base["response_last_received"].item() - timedelta(milliseconds=60)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_page_arrives_through_the_hub_despite_losses(seed):
    lost = network("satellite-hub")
    for link in ("satellite-client", "client-satellite", "server-hub"):
        lost = lossy(lost, PacketLoss(rate=0.2), link=link)
    (time,) = times(end_to_end(strategy="optimized-browser", page="bhalekar-5-medium", network=lost, seed=seed))
    assert time > 2


def test_a_hub_needs_a_place_for_it():
    with pytest.raises(ScenarioError, match="'optimized-browser' needs a network with a hub"):
        retrieval(strategy="optimized-browser", page="espn", network="lan")


def test_the_cache_on_the_lan_spares_the_satellite():
    cached = times(end_to_end(strategy="cumulative-cache", page="espn", network="satellite-hub"))[0]
    assert cached < 0.1


def test_links_are_found_at_their_place():
    (visit,) = named_strategy("http11-pipelined").visits(page("heidemann"))
    afters = [fetch.after for fetch in visit.plan.fetches[1:]]
    assert afters == [Bytes(fetch=0, bytes=6651 // 3), Bytes(fetch=0, bytes=2 * 6651 // 3)]


def test_a_row_of_ones_own_is_one_call(own_names):
    register(Strategy(name="parallel-2", about="Two connections", connections=2))
    truth = end_to_end(strategy="parallel-2", page="eggert-graphics", network="wan")
    assert truth.connections.height == 14


def test_a_plan_of_ones_own_is_a_function(own_names):
    @strategy("halves", about="Images on two persistent connections, odd and even", version=HttpVersion.HTTP11)
    def halves(what: Page) -> Plan:
        images = range(1, len(what.objects))
        base = Fetch(objects=(0,), lane=0)
        rest = (Fetch(objects=(n,), after=Complete(fetch=0), lane=n % 2) for n in images)
        return Plan(connections=2, persistent=True, fetches=(base, *rest))

    rows = end_to_end(strategy="halves", page="eggert-graphics", network="wan").transactions
    assert rows.height == 14
    assert sorted(rows["connection"].value_counts()["count"]) == [7, 7]


def test_the_docstring_shows_a_strategy_in_less_than_twenty_lines():
    text = reference_sim.strategy.__doc__ or ""
    example = re.search(r"::\n\n(.*)", text, re.DOTALL)[1]
    lines = [line for line in example.splitlines() if line.strip()]
    assert len(lines) <= 20


def test_the_docstrings_example_runs(own_names):
    text = reference_sim.strategy.__doc__ or ""
    example = re.search(r"::\n\n(.*)", text, re.DOTALL)[1]
    code = "\n".join(line[4:] for line in example.splitlines())
    exec(code, {})  # the example of the docstring
    assert {"parallel-8", "halves"} <= STRATEGIES.keys()


def test_a_name_is_taken_once(own_names):
    with pytest.raises(ScenarioError, match="strategy 'http11' exists already"):
        register(Strategy(name="http11", about="Something else"))


def test_a_miss_names_the_nearest_name():
    with pytest.raises(ScenarioError, match="no strategy 'http10-paralel'; did you mean 'http10-parallel'"):
        named_strategy("http10-paralel")


@pytest.mark.parametrize("name", THESIS_STRATEGIES)
def test_the_thesis_workload_runs(name):
    made = simulate(thesis(strategy=name, web_clients=4, ftp_clients=1, duration=20 * 10**9))
    web = made.truth.retrievals.filter(~made.truth.retrievals["is_transfer"])
    assert web["end"].drop_nulls().len() >= 8


def test_the_thesis_serial_client_thinks_before_every_file():
    rows = simulate(thesis(strategy="http10-serial", web_clients=1, duration=60 * 10**9)).truth.transactions
    pauses = (rows["written"].shift(-1) - rows["response_last_received"]).drop_nulls().dt.total_milliseconds()
    assert pauses.min() >= 1000
    # The next connection's handshake, and the check of the last connection's close, add to it.
    assert pauses.max() <= 2000 + 110 + 100


def test_the_thesis_draws_sizes_with_its_caps():
    made = simulate(thesis(strategy="http10-serial", web_clients=8, duration=200 * 10**9)).truth.transactions
    sizes = made.drop_nulls("response_last_received")
    totals = sizes["response_head_bytes"] + sizes["response_body_bytes"]
    assert 1000 <= totals.min() < 1010  # the Pareto law's least value
    assert 15_000 in totals.to_list()
    assert totals.max() <= 25_000


@pytest.mark.parametrize("split", KRUSE_SPLITS)
@pytest.mark.parametrize(
    ("name", "elements", "kbytes"), [("lerc", 4, 48), ("acts", 9, 99), ("oufr", 10, 491), ("test", 28, 28)]
)
def test_kruses_pages_have_their_published_totals(split, name, elements, kbytes):
    made = kruse(name, split=split)
    assert (len(made.objects), made.bytes) == (elements, kbytes * 1024)


def test_a_page_changes_only_in_its_replaced_parts():
    what = page("heidemann")
    assert replace(what, host="other.example").objects == what.objects
