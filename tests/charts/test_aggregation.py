"""Charts of large tables: few marks, with the counts of the whole table."""

import io
import random
from datetime import timedelta
from itertools import pairwise

import polars as pl
import pytest

from charts.flows import long_flow
from charts.specifications import rows, subtitle
from tcptrace_http.charts import difference_transactions, throughput, wait_distribution, waits, waterfall
from tcptrace_http.charts._theme import MARKS_MAX


def of_kind(marks, *kinds):
    return [row for row in marks if row["kind"] in kinds]


def test_time_sequence_graph_counts_every_segment(long):
    _, lines, marks, *_ = rows(long.plot.time_sequence())
    data = long.segments.filter(pl.col("payload_bytes") > 0, pl.col("direction") == "server_to_client")
    assert data.height == 8001 + 8
    assert sum(row["segments"] for row in marks) == data.height
    again = of_kind(marks, "retransmission")
    assert sum(row["segments"] for row in again) == data["is_retransmission"].sum() == 8
    for kind in ("data", "retransmission"):
        assert len(of_kind(marks, kind)) <= MARKS_MAX
    assert max(row["high"] for row in marks) == data.select((pl.col("seq") + pl.col("payload_bytes")).max()).item()
    acks = long.segments.filter(pl.col("direction") == "client_to_server", pl.col("ack").is_not_null())
    assert sum(row["ACKs"] for row in lines if row["line"] == "ACK") == acks.height
    assert "8,009 segments" in subtitle(long.plot.time_sequence())


def test_every_frame_is_within_its_mark(long):
    _, _, marks, *_ = rows(long.plot.time_sequence())
    is_data = (pl.col("payload_bytes") > 0) & (pl.col("direction") == "server_to_client")
    frames = long.segments.filter(is_data, ~pl.col("is_retransmission"))["frame"]
    spans = sorted((row["frame"], row["last_frame"]) for row in of_kind(marks, "data"))
    assert all(before[1] < after[0] for before, after in pairwise(spans))
    assert (spans[0][0], spans[-1][1]) == (frames.min(), frames.max())


def test_window_counts_every_segment(long):
    (points,) = rows(long.plot.window())
    sent = long.segments.filter(pl.col("direction") == "server_to_client", pl.col("flight_bytes").is_not_null())
    flight = [row for row in points if row["line"] == "in flight"]
    assert len(flight) <= MARKS_MAX
    assert sum(row["segments"] for row in flight) == sent.height
    assert max(row["bytes"] for row in flight) == sent["flight_bytes"].max()
    window = [row for row in points if row["line"] == "receive window"]
    assert sum(row["segments"] for row in window) == long.segments.height - sum(
        long.segments["direction"] == "server_to_client"
    )


def test_rtt_counts_every_segment_and_keeps_the_extremes(long):
    bars, _ = rows(long.plot.rtt())
    known = long.segments.filter(pl.col("rtt").is_not_null())["rtt"].dt.total_nanoseconds()
    assert len(bars) <= MARKS_MAX
    assert sum(row["segments"] for row in bars) == known.len()
    assert max(row["greatest"] for row in bars) == known.max() / 1e6
    assert min(row["least"] for row in bars) == known.min() / 1e6


def test_throughput_counts_every_byte(long):
    (bars,) = rows(long.plot.throughput())
    assert sum(row["bytes"] for row in bars) == long.segments["payload_bytes"].sum()
    assert sum(row["segments"] for row in bars) == (long.segments["payload_bytes"] > 0).sum()
    assert len(bars) <= 2 * 200
    carried = sum(row["rate"] * (row["until"] - row["time"]) for row in bars) * 1e6 / 8
    assert carried == pytest.approx(long.segments["payload_bytes"].sum())


def test_one_segment_is_no_rate_of_gigabits(with_sack):
    one = with_sack.segments.filter(pl.col("payload_bytes") > 0).head(1)
    ((bar,),) = rows(throughput.draw(one, flow=0))
    assert bar["until"] - bar["time"] == pytest.approx(1e-3)


def test_sack_blocks_are_drawn_at_their_report(with_sack):
    _, _, marks, *_ = rows(with_sack.plot.time_sequence())
    blocks = of_kind(marks, "SACK")
    assert len(blocks) == 7
    start = 1 + 3 * 1460
    assert [(row["low"], row["high"]) for row in blocks] == [(start, start + n * 1460) for n in range(1, 8)]
    (again,) = of_kind(marks, "retransmission")
    assert (again["low"], again["high"]) == (start - 1460, start)


COUNT = 10_000
#: HTTP/1.1 transactions.
NO_STREAM = {"protocol": pl.lit("http"), "stream": pl.lit(None, pl.UInt32)}


@pytest.fixture(scope="module")
def many() -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return ten thousand transactions of mostly similar duration, and their waits."""
    chance = random.Random(8)
    base = pl.datetime(2026, 1, 1, time_unit="ns", time_zone="UTC")
    lengths = [chance.choice([100, 100, 100, 250, 4000]) for _ in range(COUNT)]
    number = pl.int_range(COUNT, dtype=pl.UInt32)
    transactions = pl.select(
        flow=number // 10, index=number % 10, method=pl.lit("GET"), target=pl.format("/{}", number), **NO_STREAM
    ).with_columns(request_time=base + pl.duration(milliseconds=pl.int_range(COUNT)))
    of_each = transactions.select("flow", pl.col("index").alias("transaction"), start="request_time").with_columns(
        length=pl.Series(lengths), first_frame=pl.int_range(1, COUNT + 1, dtype=pl.UInt64)
    )
    spans = [
        of_each.with_columns(
            cause=pl.lit(cause),
            start=pl.col("start") + pl.duration(microseconds=pl.col("length") * at),
            end=pl.col("start") + pl.duration(microseconds=pl.col("length") * (at + 1)),
            last_frame=pl.col("first_frame") + 1,
            behind_stream=pl.lit(None, pl.UInt32),
        )
        for at, cause in enumerate(("server.think", "stall.nagle_delayed_ack"))
    ]
    return transactions, pl.concat(spans).sort("flow", "transaction", "start")


def total(table: pl.DataFrame) -> float:
    return table.select((pl.col("end") - pl.col("start")).sum()).item() / timedelta(milliseconds=1)


def test_bars_of_ten_thousand_transactions_sum_to_all_their_time(many):
    transactions, spent = many
    (bars,) = rows(waits.draw(transactions, spent))
    names = {row["name"]: row["transactions"] for row in bars}
    assert len(names) == 60
    assert sum(names.values()) == COUNT
    assert sum(row["length"] * row["transactions"] for row in bars) == pytest.approx(total(spent))
    assert "10,000 transactions" in subtitle(waits.draw(transactions, spent))


def test_transactions_without_time_are_reported(many):
    transactions, spent = many
    chart = waits.draw(transactions, spent.filter(pl.col("flow") < 3))
    assert len({row["name"] for row in rows(chart)[0]}) == 30
    assert "9,970 more took no visible time" in subtitle(chart)


def test_waterfall_of_ten_thousand_sums_to_all_their_time(many):
    transactions, spent = many
    members = transactions.select("flow", pl.col("index").alias("transaction"), retrieval=pl.lit(0))
    path = spent.head(2).with_columns(retrieval=pl.lit(0))
    chart = waterfall.draw(members, transactions, spent, path)
    bars, marked, _ = rows(chart)
    names = {row["name"]: row["transactions"] for row in bars}
    assert len(names) == 150
    assert sum(names.values()) == COUNT
    assert sum(row["milliseconds"] * row["transactions"] for row in bars) == pytest.approx(total(spent))
    assert len(marked) == 1
    assert chart.to_dict()["height"] <= 150 * 18
    assert "10,000 transactions" in subtitle(chart)


def test_distribution_of_ten_thousand_has_a_point_a_percent(many):
    _, spent = many
    (points,) = rows(wait_distribution.draw(spent))
    stalls = [row for row in points if row["group"] == "stall"]
    assert len(stalls) <= 102
    assert (stalls[0]["share"], stalls[0]["length"]) == (0.0, pytest.approx(0.1))
    assert {row["transactions"] for row in stalls} == {COUNT}
    assert (stalls[-1]["share"], stalls[-1]["length"]) == (1.0, 4.0)


@pytest.mark.slow
def test_flow_of_a_hundred_thousand_segments_is_drawn(analysed, capsys):
    import time

    analysis = analysed(long_flow(100_000), "hundred_thousand.pcap")
    data = analysis.segments.filter(pl.col("payload_bytes") > 0, pl.col("direction") == "server_to_client")
    assert data.height == 100_101
    for name in ("time-sequence", "window", "rtt", "throughput"):
        started = time.process_time()
        picture = io.BytesIO()
        chart = analysis.plot.chart(name)
        chart.save(picture, format="png", scale_factor=2)
        with capsys.disabled():
            print(f"\n{name}: {time.process_time() - started:.2f} s of processor time")
        assert picture.getvalue().startswith(b"\x89PNG")
    _, _, marks, *_ = rows(analysis.plot.time_sequence())
    assert len(of_kind(marks, "data")) <= MARKS_MAX
    assert sum(row["segments"] for row in of_kind(marks, "data", "retransmission", "out of order")) == data.height


def few(count):
    """Return this many transactions of one flow, each with two consecutive waits."""
    base = pl.datetime(2026, 1, 1, time_unit="ns", time_zone="UTC")
    number = pl.int_range(count, dtype=pl.UInt32)
    transactions = pl.select(
        flow=pl.lit(0, pl.UInt32),
        index=number,
        method=pl.lit("GET"),
        target=pl.format("/{}", number),
        request_time=base,
        **NO_STREAM,
    )
    causes = [
        transactions.select(
            "flow",
            pl.col("index").alias("transaction"),
            cause=pl.lit(cause),
            start=(base + pl.duration(seconds=at)).dt.cast_time_unit("ns"),
            end=(base + pl.duration(seconds=at + 1)).dt.cast_time_unit("ns"),
            first_frame=pl.lit(at + 1, pl.UInt64),
            last_frame=pl.lit(at + 2, pl.UInt64),
            behind_stream=pl.lit(None, pl.UInt32),
        )
        for at, cause in enumerate(("server.think", "stall.nagle_delayed_ack"))
    ]
    return transactions, pl.concat(causes)


def in_pieces(spent, count):
    """Return the waits, each cut into consecutive pieces."""
    piece = (pl.col("end") - pl.col("start")) / count
    pieces = spent.with_columns(number=pl.lit(list(range(count)))).explode("number")
    return pieces.with_columns(
        start=pl.col("start") + piece * pl.col("number"), end=pl.col("start") + piece * (pl.col("number") + 1)
    ).drop("number")


def test_waterfall_of_one_transaction_with_thousands_of_waits_keeps_their_time():
    path = pl.DataFrame({"retrieval": [0], "flow": [0], "transaction": [0]}).cast(pl.UInt32)
    transactions, spent = few(1)
    many_waits = in_pieces(spent, 4000)
    steps = many_waits.join(path, on=["flow", "transaction"])
    chart = waterfall.draw(path, transactions, many_waits, steps)
    bars = rows(chart)[0]
    assert len(bars) == 2
    assert sum(row["milliseconds"] for row in bars) == pytest.approx(total(spent))
    assert "8,000 waits" in subtitle(chart)


def test_critical_path_of_thousands_of_turns_shows_the_longest_and_says_so():
    transactions, spent = few(2)
    pages = transactions.select("flow", pl.col("index").alias("transaction"), retrieval=pl.lit(0, pl.UInt32))
    turns = (
        in_pieces(spent, 4000).sort("start").with_columns(transaction=pl.int_range(pl.len(), dtype=pl.UInt32) % 2)
    )
    chart = waterfall.draw(pages, transactions, turns, turns.join(pages, on=["flow", "transaction"]))
    assert len(rows(chart)[1]) == MARKS_MAX
    assert f"{MARKS_MAX:,} longest" in subtitle(chart)


def test_transactions_side_by_side_with_thousands_of_waits_keep_their_time():
    _, spent = few(1)
    pairs = pl.DataFrame(
        {"pair": [0], "how": ["same"], "difference": [0], "left_target": ["/"], "right_target": ["/"]}
        | {f"{side}_{name}": [0] for side in ("left", "right") for name in ("flow", "transaction")}
    ).with_columns(pl.col("^.*_(flow|transaction)$").cast(pl.UInt32))
    chart = difference_transactions.draw(pairs, in_pieces(spent, 4000), spent)
    bars = rows(chart)[0]
    assert len(bars) == 4
    assert sum(row["milliseconds"] for row in bars) == pytest.approx(2 * total(spent))
    assert "8,002 waits" in subtitle(chart)
