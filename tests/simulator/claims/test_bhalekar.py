"""Claim B1 of Bhalekar, "Content Delivery Acceleration" (2003): Figure 1.2."""

from dataclasses import replace

import polars as pl
import pytest

from reference_sim.models import Service, round_trips_before_data
from reference_sim.networks import path
from reference_sim.pages import sized
from reference_sim.simulation import simulate
from reference_sim.workloads import retrieval

MS = 10**6
RTT_S = 0.1
#: Nothing takes time but the way: what is counted are round trips.
ENDLESS = path("endless", rate=None, delay=50 * MS)
TWO_FILES = sized("two-files", 1000, 1000)


def simulated(strategy, **of_transfer):
    scenario = retrieval(strategy=strategy, page=TWO_FILES, network=ENDLESS)
    files = tuple(replace(transfer, **of_transfer) for transfer in scenario.transfers)
    return simulate(replace(scenario, transfers=files)).truth


def round_trips(start, data):
    return (data - start).total_seconds() / RTT_S


def of_ftp(truth):
    """Round trips from each file's first packet to its first data."""
    data = truth.packets.filter(pl.col("connection") > 0, pl.col("payload_bytes") > 0)
    firsts = data.group_by("connection", maintain_order=True).agg(pl.col("received").min())["received"]
    return [round_trips(start, first) for start, first in zip(truth.retrievals["start"], firsts, strict=True)]


def of_http(truth):
    rows = truth.transactions
    ends = zip(rows["wanted"], rows["response_first_received"], strict=True)
    return [round_trips(start, first) for start, first in ends]


def test_b1_round_trips_before_the_first_data_as_figure_1_2_counts_them():
    assert [round_trips_before_data(service) for service in Service] == [3, 2, 2, 1]


def test_b1_ftp_takes_three_round_trips_to_the_first_file_and_two_to_the_next():
    assert of_ftp(simulated("ftp")) == pytest.approx([3, 2])


def test_b1_http10_takes_two_round_trips_to_every_file():
    assert of_http(simulated("http10-serial")) == pytest.approx([2, 2])


def test_b1_a_connection_that_is_open_gives_the_ideal_of_one_round_trip():
    assert of_http(simulated("http11")) == pytest.approx([2, 1])


def test_b1_an_ftp_client_that_awaits_each_reply_takes_a_round_trip_a_command():
    """Greeting, USER, PASS, TYPE and PORT before the first RETR, PORT before the next (RFC 959, section 5.4)."""
    assert of_ftp(simulated("ftp", waits_for_replies=True)) == pytest.approx([3 + 5, 2 + 1])
