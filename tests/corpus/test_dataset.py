"""Datasets: the same bytes in every run, and the fate of failed units."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import tcptrace_http
from tcptrace_http.corpus import add_captures, corpus, plan, retry, seal, unit
from tcptrace_http.corpus.dataset import read_state
from tcptrace_http.errors import CaptureError, DatasetError, TcptraceError
from tests.corpus.captures import content, shifted, small_captures
from tests.corpus.inline import Deadly, Inline

if TYPE_CHECKING:
    from pathlib import Path

COUNT = 8


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "BATCH_CAPTURES", 2)


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("captures")
    small_captures(folder, COUNT)
    return folder


@pytest.fixture(scope="module")
def whole(captures: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a dataset that was made in one run."""
    dataset = tmp_path_factory.mktemp("whole") / "dataset"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "BATCH_CAPTURES", 2)
        added = add_captures([captures], into=dataset, executor=Inline())
    assert (added.captures, added.failed, added.strange) == (COUNT, {}, {})
    return dataset


def statuses(dataset: Path) -> list[str]:
    state = read_state(str(dataset))
    return sorted(map(state.status_of, state.units.values()))


@pytest.mark.parametrize("table", ["flows", "transactions", "waits", "findings", "retrievals", "anomalies"])
def test_the_rows_are_those_of_each_capture(whole: Path, captures: Path, table: str) -> None:
    of_dataset = corpus(whole).table(table).collect()
    for path in sorted(captures.iterdir()):
        alone = tcptrace_http.analyze(path, statistics=False).table(table)
        ours = of_dataset.filter(capture=str(path)).select(alone.columns)
        assert_frame_equal(ours, alone, check_row_order=False)


def test_ids_of_flows_are_unique_and_join_tables(whole: Path) -> None:
    dataset = corpus(whole)
    flows = dataset.flows.collect()
    assert flows["flow_id"].n_unique() == flows.height
    joined = dataset.transactions.join(dataset.flows, on="flow_id", validate="m:1").collect()
    assert joined.height == dataset.transactions.select(pl.len()).collect().item()
    assert joined.filter(pl.col("capture") != pl.col("capture_right")).is_empty()


def test_existing_work_is_not_repeated(whole: Path, captures: Path) -> None:
    before = content(whole)
    assert add_captures([captures], into=whole, executor=Inline()).units == 0
    assert content(whole) == before


KILLED = """
import os, signal, sys
from tcptrace_http.corpus import add_captures, plan, store
from tests.corpus.inline import Inline
captures, dataset, left = sys.argv[1], sys.argv[2], int(sys.argv[3])
plan.BATCH_CAPTURES = 2
write, replace = store.LocalStore.write, os.replace
def dies(self, key, content):
    global left
    left -= 1
    if left == 0:
        # Half of the object is there, under the name that it is written by.
        (self._path("_writing") / f"{os.getpid()}.0.host").write_bytes(content[: len(content) // 2])
        os.kill(os.getpid(), signal.SIGKILL)
    write(self, key, content)
store.LocalStore.write = dies
add_captures([captures], into=dataset, executor=Inline())
"""


def test_killed_at_random_moments_and_resumed_it_is_that_of_one_run(
    whole: Path, captures: Path, tmp_path: Path
) -> None:
    dataset = tmp_path / "dataset"
    draw = random.Random(62)
    for _ in range(4):
        arguments = [str(captures), str(dataset), str(draw.randint(3, 25))]
        ended = subprocess.run([sys.executable, "-c", KILLED, *arguments], check=False)
        assert ended.returncode == -signal.SIGKILL
    add_captures([captures], into=dataset, executor=Inline())
    assert content(dataset) == content(whole)


def test_the_shards_together_are_the_whole(whole: Path, captures: Path, tmp_path: Path) -> None:
    done = [
        add_captures([captures], into=tmp_path / "dataset", shard=(part, 3), executor=Inline()).units
        for part in (2, 0, 1)
    ]
    assert sum(done) == len(statuses(whole))
    assert content(tmp_path / "dataset") == content(whole)
    with pytest.raises(TcptraceError, match="no shard 3 of 3"):
        add_captures([captures], into=tmp_path / "dataset", shard=(3, 3))


def test_processes_make_the_same_bytes(whole: Path, captures: Path, tmp_path: Path) -> None:
    seen = []
    add_captures([captures], into=tmp_path / "dataset", jobs=2, progress=lambda one: seen.append(one.done))
    assert sorted(seen) == list(range(1, len(statuses(whole)) + 1))
    # The processes receive the batches planned here.
    assert content(tmp_path / "dataset") == content(whole)


def test_a_capture_that_ends_its_worker_twice_is_set_aside_and_named(captures: Path, tmp_path: Path) -> None:
    dataset = tmp_path / "dataset"
    executor = Deadly(str(captures / "run-3.pcap"))
    added = add_captures([captures], into=dataset, executor=executor)
    assert executor.killed == 4, "its batch twice, and then it alone"
    assert list(added.poisonous) == [executor.path]
    assert "SIGKILL" in added.poisonous[executor.path]
    assert added.captures == COUNT - 1
    assert statuses(dataset) == [*["ok"] * 4, "poisonous"]
    assert corpus(dataset).captures.collect().height == COUNT - 1
    assert add_captures([captures], into=dataset, executor=Inline()).units == 0
    assert retry(dataset, executor=Inline()).captures == 1
    assert statuses(dataset) == ["ok"] * 5


def test_a_capture_that_cannot_be_read_is_named_and_stops_nothing(captures: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.pcap"
    bad.write_bytes(b"no capture at all, but a text")
    cut = shifted("lan_hdrsep_small.pcap", tmp_path / "cut.pcap", 0)
    cut.write_bytes(cut.read_bytes()[:-7])
    dataset = tmp_path / "dataset"
    added = add_captures([captures, bad, cut], into=dataset, executor=Inline())
    assert "it begins with 6e 6f 20 63" in (added.failed | added.strange)[str(bad)]
    assert added.strange[str(cut)] == "cut_short"
    assert set(statuses(dataset)) <= {"ok", "partial", "failed"}
    files = corpus(dataset).captures.select("path", "status").collect()
    assert dict(files.rows())[str(cut)] == "cut_short"
    assert files.filter(status="ok").height == COUNT


def test_a_unit_whose_analysis_fails_is_reported_and_done_by_retry(
    captures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = tmp_path / "dataset"

    def broken(*_: object, **__: object) -> None:
        raise ValueError("a bug")

    with monkeypatch.context() as patch:
        patch.setattr(unit, "rotated_batches", broken)
        added = add_captures([captures / "run-1.pcap"], into=dataset, executor=Inline())
    assert list(added.failed.values()) == ["ValueError: a bug"]
    assert statuses(dataset) == ["failed"]
    assert corpus(dataset).flows.collect().is_empty()
    assert retry(dataset, executor=Inline()).captures == 1


def test_a_stale_unit_is_read_until_it_is_done_again(
    captures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = tmp_path / "dataset"
    sources = [captures / "run-0.pcap", captures / "run-1.pcap"]
    add_captures(sources, into=dataset, executor=Inline())
    before = corpus(dataset).transactions.collect()
    monkeypatch.setattr(plan, "__version__", "99.0")
    monkeypatch.setattr(unit, "__version__", "99.0")
    assert statuses(dataset) == ["stale"]
    assert_frame_equal(corpus(dataset).transactions.collect(), before)
    assert retry(dataset, executor=Inline()).units == 1
    assert statuses(dataset) == ["ok"]
    after = corpus(dataset).transactions.collect()
    assert_frame_equal(after.drop("unit"), before.drop("unit"))
    seal(dataset)
    assert len(list((dataset / "_units").iterdir())) == 1


def test_sealed_it_has_the_same_rows_in_fewer_objects(whole: Path, captures: Path, tmp_path: Path) -> None:
    dataset = tmp_path / "dataset"
    add_captures([captures], into=dataset, executor=Inline())
    before = {name: corpus(dataset).table(name).collect() for name in ("transactions", "findings", "captures")}
    files = len(content(dataset))
    seal(dataset)
    assert len(content(dataset)) < files
    for name, frame in before.items():
        assert_frame_equal(corpus(dataset).table(name).collect(), frame, check_row_order=False)
    once = content(dataset)
    seal(dataset)
    assert content(dataset) == once
    assert add_captures([captures], into=dataset, executor=Inline()).units == 0
    more = shifted("lan_hdrsep_small.pcap", tmp_path / "more.pcap", 1)
    assert add_captures([captures, more], into=dataset, executor=Inline()).units == 1
    assert corpus(dataset).captures.collect().height == COUNT + 1


def test_a_part_of_the_time_has_the_units_that_overlap_it(whole: Path) -> None:
    dataset = corpus(whole)
    days = dataset.flows.select("day").unique().collect()["day"].sort()
    assert days.len() > 1
    start = dataset.flows.select(pl.col("start").min()).collect().item()
    part = dataset.between(start, start.replace(hour=23, minute=59))
    assert 0 < len(part.units) < len(dataset.units)
    assert part.flows.collect().height < dataset.flows.collect().height


def test_places_and_sources_that_will_not_do_are_refused(captures: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(DatasetError, match="has other files"):
        add_captures([captures], into=tmp_path)
    with pytest.raises(DatasetError, match="is no dataset"):
        corpus(tmp_path)
    with pytest.raises(CaptureError, match="no file called"):
        add_captures([tmp_path], into=tmp_path / "dataset")
    with pytest.raises(TcptraceError, match="no regular expression"):
        add_captures([captures], into=tmp_path / "dataset", series="(")
