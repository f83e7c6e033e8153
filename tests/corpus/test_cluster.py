"""Datasets in an object store, made by a cluster with a killed worker: the same bytes as in a folder."""

from concurrent.futures import Executor

import pytest

from tcptrace_http.corpus import add_captures, corpus
from tcptrace_http.corpus.executors import open_executor
from tcptrace_http.corpus.store import open_store
from tests.corpus import work

NAMES = ("heidemann_1996_figure2.pcap", "lan_hdrsep_small.pcap", "lan_hdrsep_small_nodelay.pcap")


def contents(location):
    store = open_store(location)
    return {one.key: store.read(one.key) for one in store.list()}


@pytest.fixture(scope="module")
def sources(sample_traces):
    return [sample_traces / name for name in NAMES]


@pytest.fixture(scope="module")
def in_folder(sources, tmp_path_factory):
    """Return the dataset as made by one process, with one unit per capture."""
    location = str(tmp_path_factory.mktemp("whole") / "dataset")
    for source in sources:
        add_captures([source], into=location, jobs=1)
    return location


def test_a_dataset_in_a_bucket_has_the_bytes_of_one_in_a_folder(sources, in_folder, bucket):
    for source in sources:
        add_captures([source], into=f"{bucket}/dataset", jobs=1)
    assert contents(f"{bucket}/dataset") == contents(in_folder)


def test_a_query_of_a_dataset_in_a_bucket_has_the_same_rows(sources, in_folder, bucket):
    for source in sources:
        add_captures([source], into=f"{bucket}/dataset", jobs=1)
    remote, local = (
        corpus(location).transactions.select("capture", "target", "start_time").collect()
        for location in (f"{bucket}/dataset", in_folder)
    )
    assert remote.equals(local)


class Killing(Executor):
    """Executor whose first process with two written objects of a unit is killed."""

    def __init__(self, inner, trace):
        self._inner = inner
        self._trace = str(trace)

    def submit(self, fn, /, *args, **_):
        return self._inner.submit(work.killed_after_two_objects, self._trace, fn, *args)


@pytest.mark.parametrize("which", ["processes", "cluster"])
def test_a_worker_that_is_killed_while_it_works_changes_no_byte(which, request, sources, in_folder, tmp_path):
    executor = request.getfixturevalue("cluster") if which == "cluster" else None
    location, trace = str(tmp_path / "dataset"), tmp_path / "trace"
    with open_executor(executor, jobs=2) as inner:
        for source in sources:
            add_captures([source], into=location, executor=Killing(inner, trace))
    assert trace.exists()
    assert contents(location) == contents(in_folder)
