"""The critical path of any retrieval covers it exactly, whatever its transactions and waits are."""

from __future__ import annotations

from itertools import pairwise

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from tcptrace_http.critical_path import Member, critical_path, stretches
from tcptrace_http.schema import TABLES, polars_schema

CAUSES = ("server.think", "network.propagation", "send_limited.slow_start")


@st.composite
def members(draw: st.DrawFn, retrieval: int = 0) -> list[Member]:
    """Transactions on a few connections, with initiators among those before them; times are small."""
    made: list[Member] = []
    next_on_flow: dict[int, int] = {}
    first = draw(st.integers(0, 20))
    for number in range(draw(st.integers(1, 12))):
        flow = draw(st.integers(0, 3)) + 10 * retrieval
        transaction = next_on_flow.get(flow, 0)
        next_on_flow[flow] = transaction + 1
        request = first if number == 0 else draw(st.integers(first, first + 60))
        start = request - (draw(st.integers(0, 10)) if transaction == 0 else 0)
        end = request + draw(st.integers(0, 40))
        causes = [it for it in made if it.request <= request]
        initiator = draw(st.sampled_from([None, *causes]))
        known = None if initiator is None else draw(st.integers(min(initiator.request, request), request))
        place = None if initiator is None else initiator.place
        made.append(Member(retrieval, flow, transaction, place, known, start, request, end))
    return made


@st.composite
def waits_of(draw: st.DrawFn, member: Member) -> list[tuple[int, int, str, int, int]]:
    """A partition of the transaction from its start to some time after its end; or nothing is known."""
    if draw(st.booleans()) and draw(st.booleans()):
        return []
    last = member.end + draw(st.integers(0, 5))
    cuts = sorted({member.start, last, *draw(st.lists(st.integers(member.start, last), max_size=4))})
    return [
        (member.flow, member.transaction, draw(st.sampled_from(CAUSES)), start, end)
        for start, end in pairwise(cuts)
    ]


def frame(name: str, columns: dict[str, list[object]]) -> pl.DataFrame:
    schema = polars_schema(TABLES[name])
    rows = pl.DataFrame(columns, strict=False)
    missing = [pl.lit(None).alias(column) for column in schema if column not in columns]
    return rows.with_columns(missing).select(pl.col(column).cast(dtype) for column, dtype in schema.items())


def page_frames(pages: list[list[Member]]) -> tuple[pl.DataFrame, pl.DataFrame]:
    every = [member for page in pages for member in page]
    transactions = frame(
        "retrieval_transactions",
        {
            "retrieval": [it.retrieval for it in every],
            "flow": [it.flow for it in every],
            "transaction": [it.transaction for it in every],
            "initiator_flow": [it.initiator and it.initiator[0] for it in every],
            "initiator_transaction": [it.initiator and it.initiator[1] for it in every],
            "known": [it.known for it in every],
            "start": [it.start for it in every],
            "request_time": [it.request for it in every],
            "end": [it.end for it in every],
        },
    )
    starts = [_base(page).start for page in pages]
    ends = [max(it.end for it in page) for page in pages]
    retrievals = frame(
        "retrievals",
        {
            "retrieval": [page[0].retrieval for page in pages],
            "start": starts,
            "end": ends,
            "elapsed": [end - start for start, end in zip(starts, ends, strict=True)],
        },
    )
    return retrievals, transactions


def _base(page: list[Member]) -> Member:
    return min(page, key=lambda it: (it.request, it.flow, it.transaction))


@given(members())
def test_the_stretches_cover_the_retrieval_without_a_gap(page: list[Member]) -> None:
    path = stretches(page)[::-1]
    start, end = _base(page).start, max(it.end for it in page)
    edges = [start, *(stretch.end for stretch in path)]
    assert [stretch.start for stretch in path] == edges[:-1]
    assert edges[-1] == (end if path else start)
    assert all(stretch.start < stretch.end for stretch in path)
    assert len({(stretch.flow, stretch.transaction) for stretch in path}) == len(path)


@given(st.data())
def test_the_waits_of_the_path_partition_each_retrieval(data: st.DataObject) -> None:
    pages = [data.draw(members(retrieval)) for retrieval in range(data.draw(st.integers(1, 3)))]
    waits = [wait for page in pages for member in page for wait in data.draw(waits_of(member))]
    retrievals, transactions = page_frames(pages)
    columns = dict(zip(("flow", "transaction", "cause", "start", "end"), zip(*waits, strict=True), strict=False))
    of_waits = frame("waits", {name: list(values) for name, values in columns.items()}) if waits else _no_waits()
    path = critical_path(retrievals, transactions, of_waits)
    for row in retrievals.with_columns(pl.col("start", "end").to_physical()).iter_rows(named=True):
        of_page = path.filter(pl.col("retrieval") == row["retrieval"])
        starts, ends = of_page["start"].to_physical().to_list(), of_page["end"].to_physical().to_list()
        assert of_page["step"].to_list() == list(range(of_page.height))
        if row["start"] == row["end"]:
            assert not starts
            continue
        assert [row["start"], *ends] == [*starts, row["end"]]
        assert all(start < end for start, end in zip(starts, ends, strict=True))
    known = {(flow, transaction, cause) for flow, transaction, cause, *_ in waits}
    causes = path.select("flow", "transaction", pl.col("cause").cast(pl.String)).rows()
    assert {it for it in causes if it[2] not in {"client.think", "unexplained"}} <= known


def _no_waits() -> pl.DataFrame:
    return pl.DataFrame(schema=polars_schema(TABLES["waits"]))


def test_a_request_is_released_by_the_link_that_names_it_and_not_by_the_end_of_its_document() -> None:
    document = Member(0, 0, 0, None, None, 0, 10, 200)
    image = Member(0, 1, 0, (0, 0), 50, 50, 60, 300)
    path = [(it.flow, it.start, it.end) for it in stretches([document, image])]
    assert path == [(1, 50, 300), (0, 0, 50)]


def test_with_all_connections_in_use_a_request_waits_for_the_one_that_ends() -> None:
    document = Member(0, 0, 0, None, None, 0, 0, 100)
    first = Member(0, 1, 0, (0, 0), 100, 100, 100, 180)
    second = Member(0, 2, 0, (0, 0), 100, 100, 100, 240)
    third = Member(0, 3, 0, (0, 0), 100, 181, 182, 300)
    path = [(it.flow, it.start, it.end) for it in stretches([document, first, second, third])]
    assert path == [(3, 180, 300), (1, 100, 180), (0, 0, 100)]


def test_a_pipelined_response_waits_for_the_one_before_it() -> None:
    document = Member(0, 0, 0, None, None, 0, 0, 100)
    slow = Member(0, 0, 1, None, None, 101, 101, 300)
    queued = Member(0, 0, 2, None, None, 101, 101, 310)
    path = [(it.transaction, it.start, it.end) for it in stretches([document, slow, queued])]
    assert path == [(2, 300, 310), (1, 100, 300), (0, 0, 100)]
