"""Rotated captures: one stream, independent of the split."""

from __future__ import annotations

import random
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import tcptrace_http
from tcptrace_http.analysis import in_parts
from tcptrace_http.corpus import add_captures, corpus, plan
from tcptrace_http.corpus.dataset import read_state
from tcptrace_http.corpus.rows import tables_of
from tcptrace_http.corpus.series import series_of
from tcptrace_http.corpus.sources import find_captures
from tcptrace_http.rotated import FileRead, rotated_batches
from tests.corpus.captures import SAMPLES, records, rotated, shifted, written
from tests.corpus.inline import Inline

#: Flows of keep-alive connections, and many short flows with losses.
STREAMS = ("objects_nginx_curl.pcap", "lan_4k_chunks.pcap", "bsd_phttp_orig.pcap")
COMPARED = ("flows", "transactions", "waits", "findings", "retrievals", "anomalies")


def tables(paths: list[Path], **windows: list[str]) -> dict[str, pl.DataFrame]:
    files: list[FileRead] = []
    parts = rotated_batches(list(map(str, paths)), files.append, label="eth0", **windows)
    (made,) = tables_of(in_parts(parts))
    assert [one.error for one in files] == [None] * len(paths)
    return made


@pytest.mark.parametrize("files", [1, 2, 7, 100])
@pytest.mark.parametrize("sample", STREAMS)
def test_however_many_files_a_capture_is_cut_into_its_rows_are_the_same(
    sample: str, files: int, tmp_path: Path
) -> None:
    count = len(records(SAMPLES / sample)[1])
    draw = random.Random(f"{sample} {files}")
    cut = rotated(SAMPLES / sample, tmp_path, [draw.randint(0, count) for _ in range(files - 1)])
    assert len(cut) == files
    whole = tcptrace_http.analyze(SAMPLES / sample, statistics=False)
    made = tables(cut)
    for name in COMPARED:
        assert_frame_equal(made[name], whole.table(name))


@settings(deadline=None, max_examples=8, derandomize=True)
@given(st.data())
def test_windows_show_each_flow_once(data: st.DataObject) -> None:
    """Check that a window identifies flows by their SYN: flows that end in the next window are complete."""
    import tempfile

    sample = SAMPLES / "objects_nginx_curl.pcap"
    count = len(records(sample)[1])
    edges = sorted(data.draw(st.lists(st.integers(1, count - 1), min_size=1, max_size=3, unique=True)))
    with tempfile.TemporaryDirectory() as folder:
        files = rotated(sample, Path(folder), edges)
        told = []
        for at, own in enumerate(files):
            before = [str(files[at - 1])] if at else []
            after = [str(files[at + 1])] if at + 1 < len(files) else []
            told.append(tables([own], before=before, after=after))
    whole = tcptrace_http.analyze(sample, statistics=False)
    starts = whole.flows.filter("has_syn")["first_frame"]
    ours = [made["flows"].filter("has_syn") for made in told]
    assert sum(frame.height for frame in ours) == starts.len()
    # Flows that end in the next window have the same transactions as in the whole capture.
    bounds = [0, *edges, count]
    for at, made in enumerate(told):
        last = bounds[min(at + 2, len(bounds) - 1)]
        ended = whole.flows.filter(
            pl.col("has_syn"), pl.col("first_frame").is_between(bounds[at] + 1, bounds[at + 1])
        )
        for flow in ended.iter_rows(named=True):
            rows = whole.transactions.filter(flow=flow["flow"])
            if rows.is_empty() or rows["last_ack_frame"].max() is None or rows["last_ack_frame"].max() > last:
                continue
            mine = made["flows"].filter(start=flow["start"], client_port=flow["client_port"])
            theirs = made["transactions"].filter(flow=mine["flow"][0])
            same = ["target", "status", "request_time", "response_last_time"]
            assert_frame_equal(theirs.select(same), rows.select(same))


def test_an_unreadable_and_an_empty_file_leave_the_rest_of_the_stream(tmp_path: Path) -> None:
    sample = SAMPLES / "objects_nginx_curl.pcap"
    first, second = rotated(sample, tmp_path, [40])
    header, _ = records(sample)
    empty = written(tmp_path / "empty.pcap", header, [])
    text = tmp_path / "text.pcap"
    text.write_text("this is no capture")
    files: list[FileRead] = []
    paths = [str(path) for path in (first, text, empty, second)]
    (made,) = tables_of(in_parts(rotated_batches(paths, files.append, label="eth0")))
    assert_frame_equal(made["transactions"], tcptrace_http.analyze(sample).transactions)
    assert [one.packets for one in files[:3]] == [40, 0, 0]
    assert [one.error is None for one in files] == [True, False, True, True]
    assert files[3].first_frame == 41


def test_a_file_that_is_cut_inside_a_record_is_reported(tmp_path: Path) -> None:
    first, second = rotated(SAMPLES / "lan_hdrsep_small.pcap", tmp_path, [50])
    first.write_bytes(first.read_bytes()[:-3])
    files: list[FileRead] = []
    list(rotated_batches([str(first), str(second)], files.append, label="eth0"))
    assert [one.is_cut_short for one in files] == [True, False]
    assert files[1].first_frame == 50


def names(folder: Path, how: str = "auto") -> list[list[str]]:
    found = series_of(find_captures([folder]), how)
    return sorted([Path(file.path).name for file in one.files] for one in found)


def test_rotated_names_are_one_series_if_their_times_abut(tmp_path: Path) -> None:
    rotated(SAMPLES / "lan_4k_chunks.pcap", tmp_path / "a", [50, 90])
    assert names(tmp_path / "a") == [["eth0.pcap0", "eth0.pcap1", "eth0.pcap2"]]
    assert names(tmp_path / "a", "file") == [["eth0.pcap0"], ["eth0.pcap1"], ["eth0.pcap2"]]
    for number in (1, 2):
        shifted(
            "lan_hdrsep_small.pcap", tmp_path / f"b/run_0000{number}_2026112{number}000000.pcap", 86400 * number
        )
    assert len(names(tmp_path / "b")) == 2, "a day lies between them"
    assert len(names(tmp_path / "b", r"run_\d+")) == 1
    for number in (1, 2):
        shifted("lan_hdrsep_small.pcap", tmp_path / f"c/run-{number}.pcap", number)
    assert len(names(tmp_path / "c")) == 2, "names of runs are none of rotation"


def test_a_series_is_one_stream_of_a_dataset_and_continues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "BATCH_CAPTURES", 2)
    sample = SAMPLES / "objects_nginx_curl.pcap"
    files = rotated(sample, tmp_path / "captures", [40, 80, 130])
    dataset = tmp_path / "dataset"
    whole = tcptrace_http.analyze(sample)
    options = {"into": dataset, "executor": Inline()}
    assert add_captures(files[:1], **options).units == 1, "a lone capture"
    assert add_captures(files[:3], **options).units == 1, "found to be a series: its batch is dropped"
    assert corpus(dataset).captures.collect().height == 3
    assert add_captures(files, **options).units == 1
    same = ["flow", "target", "status", "request_time", "response_last_time"]
    ours = corpus(dataset).transactions.sort("flow", "index").select(same).collect()
    assert_frame_equal(ours, whole.transactions.sort("flow", "index").select(same))
    of_files = corpus(dataset).captures.sort("path").collect()
    assert of_files["first_frame"].to_list() == [1, 41, 81, 131]


def test_an_extended_series_changes_only_its_last_windows(tmp_path: Path) -> None:
    sample = SAMPLES / "objects_nginx_curl.pcap"
    files = rotated(sample, tmp_path / "captures", [40, 80, 120, 160])
    dataset = tmp_path / "dataset"
    options = {"into": dataset, "executor": Inline(), "window_bytes": 1}
    assert add_captures(files[:4], **options).units == 4
    before = read_state(str(dataset)).live().keys()
    assert add_captures(files, **options).units == 2, "the last one reads on into the new one"
    assert len(before & read_state(str(dataset)).live().keys()) == 3
    starts = corpus(dataset).flows.filter("has_syn").select("start").collect().sort("start")
    whole = tcptrace_http.analyze(sample).flows.filter("has_syn").select("start").sort("start")
    assert_frame_equal(starts, whole)
