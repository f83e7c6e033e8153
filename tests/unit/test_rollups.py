"""Other tools' terms for the time of waits: no time is lost or counted twice."""

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest
from captures import pcap, stalled_exchange
from hypothesis import given
from hypothesis import strategies as st

import tcptrace_http
from tcptrace_http.causes import RULES
from tcptrace_http.rollups import BY_PLACE, HAR_TIMINGS, ROLLUPS
from tcptrace_http.schema import CAUSES, TABLES, polars_schema

MS = timedelta(milliseconds=1)
START = datetime(2026, 1, 1, tzinfo=UTC)
#: Transactions, each a list of causes with their milliseconds.
PARTITIONS = st.lists(
    st.lists(st.tuples(st.sampled_from(list(CAUSES)), st.integers(1, 10**6)), min_size=1, max_size=8),
    min_size=1,
    max_size=4,
)


def waits(partitions):
    schema = polars_schema(TABLES["waits"])
    nulls = [None] * (len(schema) - 8)
    rows = []
    for transaction, partition in enumerate(partitions):
        start = START
        for cause, length in partition:
            end = start + length * MS
            rows.append((7, transaction, cause, start, end, 1, 2, 0.9, *nulls))
            start = end
    return pl.DataFrame(rows, schema=schema, orient="row")


@given(partitions=PARTITIONS)
def test_every_roll_up_keeps_the_time_of_every_transaction(partitions):
    elapsed = [sum(length for _, length in partition) * MS for partition in partitions]
    table = waits(partitions)
    har = tcptrace_http.har_timings(table)
    assert har.select(pl.sum_horizontal(HAR_TIMINGS)).to_series().to_list() == elapsed
    for rolled_up in (tcptrace_http.by_rfc4898(table), tcptrace_http.by_tapo(table)):
        sums = rolled_up.group_by("transaction").agg(pl.col("time").sum()).sort("transaction")
        assert sums["time"].to_list() == elapsed


@given(partitions=PARTITIONS, seed=st.integers(0, 9))
def test_no_roll_up_depends_on_the_order_of_the_waits(partitions, seed):
    table = waits(partitions)
    shuffled = table.sample(fraction=1, shuffle=True, seed=seed)
    for roll_up in (tcptrace_http.har_timings, tcptrace_http.by_rfc4898, tcptrace_http.by_tapo):
        assert roll_up(shuffled).equals(roll_up(table))


def test_the_timings_of_a_capture_are_the_times_of_its_transactions(tmp_path):
    path = tmp_path / "stalled.pcap"
    path.write_bytes(pcap(stalled_exchange()))
    analysis = tcptrace_http.analyze(path)
    (elapsed,) = analysis.transactions.select(pl.col("end_time") - pl.col("start_time")).to_series()
    (timings,) = tcptrace_http.har_timings(analysis.waits).select(HAR_TIMINGS).iter_rows(named=True)
    assert sum((value for value in timings.values() if value is not None), timedelta(0)) == elapsed
    assert timings["receive"] > 175 * MS


def test_data_held_in_a_tls_handshake_is_part_of_the_connection():
    partition = [
        *(("setup.tls_handshake", 10), ("stall.nagle_delayed_ack", 40), ("setup.tls_handshake", 1)),
        *(("network.propagation", 5), ("stall.nagle_delayed_ack", 30)),
    ]
    # A part of a handshake has no place in the message.
    offsets, sizes = [None, None, None, None, 0], [None, 400, None, None, 1000]
    table = waits([partition]).with_columns(
        offset=pl.Series(offsets, dtype=pl.UInt64), bytes=pl.Series(sizes, dtype=pl.UInt32)
    )
    (timings,) = tcptrace_http.har_timings(table).select("connect", "wait", "receive").iter_rows()
    assert timings == (51 * MS, 5 * MS, 30 * MS)


def test_time_by_place_is_received_only_after_received_data():
    partition = [
        ("request.send", 1),
        ("stall.retransmission_timeout", 200),
        ("server.think", 30),
        ("network.propagation", 4),
        ("send_limited.bottleneck", 5),
        ("stall.tail_loss", 300),
    ]
    (timings,) = tcptrace_http.har_timings(waits([partition])).iter_rows(named=True)
    assert timings["send"] == 1 * MS
    assert timings["wait"] == 234 * MS
    assert timings["receive"] == 305 * MS
    assert timings["dns"] is None


def test_a_stall_of_nagle_is_time_of_the_sender_and_a_delayed_packet_to_tapo():
    table = waits([[("stall.nagle_delayed_ack", 40), ("send_limited.slow_start", 50)]])
    assert dict(tcptrace_http.by_rfc4898(table).select("state", "time").rows()) == {
        "SndLimTimeCwnd": 50 * MS,
        "SndLimTimeSnd": 40 * MS,
    }
    assert dict(tcptrace_http.by_tapo(table).select("stall", "time").rows()) == {
        "none": 50 * MS,
        "packet delay": 40 * MS,
    }


def test_no_waits_have_no_roll_ups():
    for roll_up in (tcptrace_http.har_timings, tcptrace_http.by_rfc4898, tcptrace_http.by_tapo):
        assert roll_up(waits([])).is_empty()


def test_every_cause_has_its_rule_and_its_roll_ups():
    assert list(RULES) == list(ROLLUPS) == list(CAUSES)


@pytest.mark.parametrize("name", CAUSES)
def test_a_roll_up_is_a_word_of_its_tool(name):
    assert ROLLUPS[name].har in {*HAR_TIMINGS, BY_PLACE} - {"dns"}
    assert ROLLUPS[name].rfc4898 in {"SndLimTimeCwnd", "SndLimTimeRwin", "SndLimTimeSnd", "none"}


def test_waits_of_an_upload_are_send_time_and_not_the_servers():
    partition = [("request.send", 1), ("send_limited.receive_window", 10), ("network.propagation", 5)]
    table = waits([partition]).with_columns(
        direction=pl.Series(
            ["client_to_server", "client_to_server", None], dtype=polars_schema(TABLES["waits"])["direction"]
        )
    )
    (timings,) = tcptrace_http.har_timings(table).iter_rows(named=True)
    assert (timings["send"], timings["wait"], timings["receive"]) == (11 * MS, 5 * MS, 0 * MS)
    assert dict(tcptrace_http.by_rfc4898(table).select("state", "time").rows()) == {"none": 16 * MS}
