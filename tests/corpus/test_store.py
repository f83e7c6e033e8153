"""Stores: a folder and a bucket behave alike, and a killed writer leaves no partial object."""

import os
import pickle
import signal
import subprocess
import sys

import polars as pl
import pytest

from tcptrace_http.corpus.store import LocalStore, Object, open_store
from tcptrace_http.errors import StoreError


def test_written_frames_are_read_back(location):
    store = open_store(location)
    store.write("flows/day=2026-11-30/a.parquet", b"first")
    store.write("flows/day=2026-11-30/a.parquet", b"second")
    assert store.read("flows/day=2026-11-30/a.parquet") == b"second"


def test_an_object_that_is_absent_is_not_found(location):
    store = open_store(location)
    with pytest.raises(FileNotFoundError, match="_units/none"):
        store.read("_units/none")


def test_a_listing_has_all_objects_of_a_folder_in_the_order_of_their_keys(location):
    store = open_store(location)
    keys = ["_units/b", "_units/a/z", "_units/a.json", "_unitsother/x", "flows/x"]
    for key in keys:
        store.write(key, key.encode())
    inside = sorted(key for key in keys if key.startswith("_units/"))
    assert list(store.list("_units/")) == [Object(key, len(key)) for key in inside]
    assert [one.key for one in store.list()] == sorted(keys)


def test_a_store_that_is_empty_lists_nothing(location):
    assert list(open_store(location).list("_units/")) == []


def test_an_object_is_deleted_once_and_again(location):
    store = open_store(location)
    store.write("a", b"")
    store.delete("a")
    store.delete("a")
    assert list(store.list()) == []


def test_polars_reads_an_object_by_its_uri(location):
    store = open_store(location)
    frame = pl.DataFrame({"flow": [1, 2]})
    store.write("flows/a.parquet", _parquet(frame))
    assert pl.scan_parquet([store.uri("flows/a.parquet")]).collect().equals(frame)


def test_a_store_goes_to_another_process(location):
    store = open_store(location)
    store.write("a", b"content")
    assert pickle.loads(pickle.dumps(store)).read("a") == b"content"


def test_a_store_that_does_not_answer_is_reported_with_its_url(s3_endpoint, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_ALLOW_HTTP", "false")
    store = open_store("s3://unreachable/dataset")
    with pytest.raises(StoreError, match=r"s3://unreachable/dataset/a: .*127.0.0.1:9"):
        store.read("a")


def test_a_bucket_that_is_not_there_is_reported_with_its_url(s3_endpoint):
    with pytest.raises(StoreError, match="s3://absent/a: there is no such bucket"):
        open_store("s3://absent").write("a", b"")


_KILLED_WRITER = """
import os, signal, sys
from pathlib import Path
from tcptrace_http.corpus.store import open_store
# The temporary file is whole by then, and not yet in its place.
Path.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
open_store(sys.argv[1]).write("a/b", b"new")
"""


def test_a_writer_that_is_killed_leaves_the_old_object_and_nothing_in_the_listing(tmp_path):
    store = LocalStore(str(tmp_path))
    store.write("a/b", b"old")
    killed = subprocess.run([sys.executable, "-c", _KILLED_WRITER, str(tmp_path)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert store.read("a/b") == b"old"
    assert [one.key for one in store.list()] == ["a/b"]
    assert len(list((tmp_path / "_writing").iterdir())) == 1
    store.sweep()
    assert list((tmp_path / "_writing").iterdir()) == []


def test_sweeping_leaves_the_files_of_processes_that_live(tmp_path):
    store = LocalStore(str(tmp_path))
    store.write("a", b"")
    mine = tmp_path / "_writing" / f"{os.getpid()}.9.{os.uname().nodename}"
    mine.write_bytes(b"half")
    store.sweep()
    assert mine.exists()


def _parquet(frame: pl.DataFrame) -> bytes:
    from io import BytesIO

    buffer = BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()
