"""Lazy frames: errors, reads of the file, several captures, and other programs as readers."""

import gzip
import inspect
import shutil
import textwrap
from pathlib import Path

import polars as pl
import pytest
from captures import clean_exchange, pcap, stalled_exchange
from polars.testing import assert_frame_equal

import tcptrace_http
from tcptrace_http import capture, lazy_scan
from tcptrace_http.schema import TABLES, polars_schema

FRAME, BYTES = pl.col("frame"), pl.col("payload_bytes")
# Predicates over several rows: applied block by block, they would select other rows.
NOT_BY_ROW = {
    "any": (FRAME > 200).any(),
    "max": FRAME.max() > 200,
    "mean": FRAME.mean() < FRAME,
    "shift": BYTES.shift(1) < BYTES,
    "over": BYTES.max().over("flow") == BYTES,
    "cumulated": BYTES.cum_sum() < 100_000,
    "length": pl.len() > 200,
    "deep inside": (FRAME > 1) & ((BYTES + BYTES.sum()) > 1000),
    "among others": FRAME.is_in(FRAME.top_k(3).implode()),
}
BY_ROW = {
    "comparison": FRAME > 20,
    "algebra": (FRAME > 3) & ~(BYTES < 5) | (FRAME % 7 == 1),
    "null": pl.col("rtt").is_null(),
    "word": pl.col("direction") == "client_to_server",
    "duration": pl.col("rtt") > pl.duration(microseconds=300),
    "choice": pl.when(FRAME > 3).then(BYTES > 1).otherwise(statement=False),
}


@pytest.fixture
def clean(tmp_path):
    path = tmp_path / "clean.pcap"
    path.write_bytes(pcap(clean_exchange(3)))
    return path


@pytest.fixture
def chunks(sample_traces):
    """Return 250 segments: more than the smallest batch, fewer than a block."""
    return sample_traces / "lan_4k_chunks.pcap"


@pytest.fixture
def long_capture(tmp_path):
    """Return several blocks of packets, which take several reads of the file."""
    path = tmp_path / "long.pcap"
    path.write_bytes(pcap(clean_exchange(1000)))
    return path


@pytest.mark.parametrize("table", TABLES)
def test_a_scan_has_the_rows_and_types_of_the_eager_table(chunks, table):
    frame = tcptrace_http.scan(chunks, table)
    assert dict(frame.collect_schema()) == polars_schema(TABLES[table])
    assert_frame_equal(frame.collect(), tcptrace_http.analyze(chunks, tables=[table]).table(table))


def test_the_public_name_is_the_function_also_when_its_module_was_imported_before():
    assert callable(tcptrace_http.scan)
    assert tcptrace_http.scan is lazy_scan.scan


def test_an_unknown_table_is_refused_at_once_with_the_nearest_name(clean):
    with pytest.raises(tcptrace_http.UnknownName, match="did you mean segments"):
        tcptrace_http.scan(clean, "segmets")
    with pytest.raises(tcptrace_http.UnknownName, match="there are: packets, segments"):
        tcptrace_http.scan(clean, "zzz")


def test_standard_input_is_refused_at_once():
    for path in ("-", ["a.pcap", "-"]):
        with pytest.raises(tcptrace_http.CaptureError, match="use analyze"):
            tcptrace_http.scan(path)


@pytest.mark.parametrize("table", ["packets", "segments", "flows", "findings"])
def test_a_capture_that_cannot_be_read_is_an_error_when_it_is_collected(tmp_path, table):
    frame = tcptrace_http.scan(tmp_path / "none.pcap", table)
    with pytest.raises(tcptrace_http.CaptureError, match="no such file"):
        frame.collect()
    (tmp_path / "text.pcap").write_text("this is no capture, but long enough to be told from one")
    with pytest.raises(tcptrace_http.UnknownFormat):
        tcptrace_http.scan(tmp_path / "text.pcap", table).collect()
    with pytest.raises(tcptrace_http.CaptureError, match="no file matches"):
        tcptrace_http.scan(str(tmp_path / "*.none"), table).collect()


def source(path, table: str):
    return lazy_scan._Source.of(path, TABLES[table])


@pytest.mark.parametrize("name", NOT_BY_ROW)
def test_a_predicate_over_many_rows_sees_all_rows(chunks, name):
    eager = tcptrace_http.analyze(chunks, tables=["segments"]).segments
    predicate = NOT_BY_ROW[name]
    for n_rows in (None, 210):
        batches = source(chunks, "segments").batches(None, predicate, n_rows, 7)
        expected = eager.head(n_rows or eager.height).filter(predicate)
        assert_frame_equal(pl.concat([eager.clear(), *batches]), expected)
    assert_frame_equal(tcptrace_http.scan(chunks, "segments").filter(predicate).collect(), eager.filter(predicate))


def test_a_predicate_over_many_rows_sees_those_of_all_blocks(long_capture, monkeypatch):
    monkeypatch.setattr(lazy_scan, "_BLOCK_ROWS_MAX", 1024)
    batches = list(source(long_capture, "packets").batches(["frame"], FRAME.max() == FRAME, None, None))
    assert [batch["frame"].to_list() for batch in batches] == [[len(clean_exchange(1000))]]


def test_predicates_are_distinguished_by_whether_they_need_the_row_alone():
    assert [name for name, predicate in BY_ROW.items() if not lazy_scan._is_by_row(predicate)] == []
    assert [name for name, predicate in NOT_BY_ROW.items() if lazy_scan._is_by_row(predicate)] == []


def test_batches_are_no_larger_than_asked_for_and_rows_are_counted_before_the_predicate(chunks):
    batches = list(source(chunks, "packets").batches(["time"], FRAME > 90, 100, 3))
    assert [batch.height for batch in batches] == [3, 3, 3, 1]
    assert all(batch.columns == ["time"] for batch in batches)
    assert list(source(chunks, "packets").batches(None, None, 0, None)) == []


def test_columns_come_in_the_order_they_are_asked_for(chunks):
    (batch,) = source(chunks, "packets").batches(["time", "frame"], None, None, None)
    assert batch.columns == ["time", "frame"]


#: Tables with one row per packet.
BY_PACKET = ("packets", "segments")


@pytest.mark.parametrize("table", BY_PACKET)
def test_only_the_columns_that_are_used_are_made(chunks, table, monkeypatch):
    requested = []
    make = capture.blocks

    def noted(path, of, columns, **rest):
        requested.append(columns)
        return make(path, of, columns, **rest)

    monkeypatch.setattr(lazy_scan, "blocks", noted)
    tcptrace_http.scan(chunks, table).filter(BYTES > 0).select("time").collect()
    assert requested == [["time", "payload_bytes"]]
    assert tcptrace_http.scan(chunks, table).select(pl.len()).collect().item() == 250


def open_files(path) -> int:
    return sum(link.resolve() == path.resolve() for link in Path("/proc/self/fd").iterdir())


@pytest.mark.parametrize("table", BY_PACKET)
def test_a_closed_source_closes_the_file(long_capture, table):
    batches = source(long_capture, table).batches(["frame"], None, None, 10)
    next(batches)
    assert open_files(long_capture) == 1
    batches.close()
    assert open_files(long_capture) == 0


@pytest.mark.parametrize("table", BY_PACKET)
def test_head_stops_the_reading_and_closes_the_file(long_capture, table, monkeypatch):
    reads = []
    chunks_of = capture.CaptureStream.chunks

    def counted(stream, **options):
        return (reads.append(len(chunk)) or chunk for chunk in chunks_of(stream, **options))

    monkeypatch.setattr(capture.CaptureStream, "chunks", counted)
    assert tcptrace_http.scan(long_capture, table).select("frame").head(5).collect().height == 5
    assert 0 < sum(reads) < long_capture.stat().st_size / 2
    assert open_files(long_capture) == 0


def test_a_glob_and_a_list_say_of_which_capture_a_row_is(tmp_path, clean):
    stalled = tmp_path / "stalled.pcap.gz"
    stalled.write_bytes(gzip.compress(pcap(stalled_exchange())))
    for paths in (str(tmp_path / "*.pcap*"), [clean, str(stalled)]):
        frame = tcptrace_http.scan(paths, "transactions")
        assert frame.collect_schema().names()[:2] == ["capture", "flow"]
        assert frame.collect()["capture"].to_list() == [str(clean)] * 3 + [str(stalled)]
        chosen = frame.filter(pl.col("capture").str.ends_with(".gz")).select("status").collect()
        assert chosen["status"].to_list() == [200]
        assert frame.select("capture").head(4).collect().n_unique() == 2
    assert "capture" not in tcptrace_http.scan(clean).collect_schema()


def test_two_scans_join_and_many_are_collected_together(chunks):
    packets, segments = (tcptrace_http.scan(chunks, table) for table in ("packets", "segments"))
    eager = tcptrace_http.analyze(chunks, tables=["packets", "segments"])
    joined = packets.select("frame", "ttl").join(segments.filter(BYTES > 0).select("frame", "seq"), on="frame")
    expected = eager.packets.select("frame", "ttl").join(
        eager.segments.filter(BYTES > 0).select("frame", "seq"), on="frame"
    )
    assert_frame_equal(joined.sort("frame").collect(), expected.sort("frame"))
    # More frames than threads: none may wait for another (pola-rs/polars#24963).
    collected = pl.collect_all([segments.filter(least < FRAME).select("frame") for least in range(32)])
    assert [frame.height for frame in collected] == [250 - least for least in range(32)]


@pytest.mark.parametrize("engine", ["streaming", "in-memory"])
def test_both_engines_and_a_file_get_the_same_rows(chunks, tmp_path, engine):
    eager = tcptrace_http.analyze(chunks, tables=["segments"]).segments.filter(BYTES > 0)
    frame = tcptrace_http.scan(chunks, "segments").filter(BYTES > 0)
    assert_frame_equal(frame.collect(engine=engine), eager)
    frame.sink_parquet(tmp_path / "rows.parquet", engine=engine)
    assert_frame_equal(pl.read_parquet(tmp_path / "rows.parquet"), eager)


class Capsule:
    """Arrow PyCapsule interface of a frame, which hides that the frame belongs to polars."""

    def __init__(self, frame):
        self._frame = frame

    def __arrow_c_stream__(self, requested_schema=None):
        return self._frame.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize("make", [lambda lazy: lazy, pl.LazyFrame.collect, lambda lazy: Capsule(lazy.collect())])
def test_duckdb_reads_a_scan_a_frame_and_a_capsule_with_their_types(chunks, make):
    import duckdb

    lazy = tcptrace_http.scan(chunks, "segments")
    rows = make(lazy)  # noqa: F841 -- DuckDB finds it by its name
    ((count, types, first),) = duckdb.sql(
        "select count(*), any_value([typeof(time), typeof(rtt), typeof(direction)]), min(epoch_ns(time))"
        " from rows where direction = 'server_to_client' and payload_bytes > 0"
    ).fetchall()
    expected = lazy.filter(BYTES > 0, pl.col("direction") == "server_to_client").collect()
    assert count == expected.height
    assert types == ["TIMESTAMPTZ_NS", "INTERVAL", "VARCHAR"]
    assert first == expected["time"].dt.epoch("ns").min()


@pytest.mark.parametrize("table", TABLES)
def test_pyarrow_and_pandas_read_every_table_without_loss(chunks, table):
    import pandas as pd
    import pyarrow as pa

    frame = tcptrace_http.scan(chunks, table).collect()
    arrow = pa.table(Capsule(frame))
    for name, dtype in polars_schema(TABLES[table]).items():
        if dtype == pl.Datetime("ns", "UTC"):
            assert arrow.schema.field(name).type == pa.timestamp("ns", "UTC")
        if dtype == pl.Duration("ns"):
            assert arrow.schema.field(name).type == pa.duration("ns")
    assert_frame_equal(pl.DataFrame(arrow), frame)
    shown = pd.DataFrame.from_arrow(Capsule(frame))
    assert (list(shown.columns), len(shown)) == (frame.columns, frame.height)


def test_the_example_of_the_docstring_runs(chunks, tmp_path, monkeypatch):
    shutil.copy(chunks, tmp_path / "slow.pcapng")
    monkeypatch.chdir(tmp_path)
    example = inspect.getdoc(tcptrace_http.scan).partition("::\n")[2].partition("``table`` is")[0]
    exec(compile(textwrap.dedent(example), "scan", "exec"), {})
    late = pl.col("rtt") > pl.duration(milliseconds=200)
    assert_frame_equal(
        pl.read_parquet(tmp_path / "late.parquet"), tcptrace_http.scan(chunks, "segments").filter(late).collect()
    )
