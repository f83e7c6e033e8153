"""Critical path of a retrieval: covers it exactly, for any transactions and waits."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from tcptrace_http.pages import Pages
from tcptrace_http.trace import native

CAUSES = ("server.think", "network.propagation", "send_limited.slow_start")
#: Times are small, except for a silence before another page.
SILENCE = 1_000_000_000

Row = dict[str, Any]


@st.composite
def transactions(draw: st.DrawFn) -> list[Row]:
    """Return transactions on a few connections, several with a Referer to an earlier transaction."""
    made: list[Row] = []
    next_on_flow: dict[int, int] = {}
    for number in range(draw(st.integers(1, 12))):
        flow = draw(st.integers(0, 3))
        index = next_on_flow.get(flow, 0)
        next_on_flow[flow] = index + 1
        request = draw(st.integers(20, 80)) + SILENCE * draw(st.sampled_from([0, 0, 0, 2]))
        end = request + draw(st.integers(0, 40))
        first = draw(st.integers(request, end))
        times = {"request_time": request, "response_first_time": first, "response_last_time": end}
        referer = draw(st.sampled_from([None, *(f"http://h{it['target']}" for it in made)]))
        kind = draw(st.sampled_from(["text/html", "image/png"]))
        of_request = {"method": "GET", "host": "h", "target": f"/{number}", "referer": referer}
        made.append({"flow": flow, "index": index, "status": 200, "content_type": kind} | of_request | times)
    return made


def flows_of(rows: list[Row]) -> list[Row]:
    """Return the connections, each opened for its first transaction if that has number 0."""
    return [
        {
            "flow": flow,
            "client": "c",
            "server": "s",
            "server_port": 80,
            "has_syn": True,
            "initial_rtt": 5,
            "start": min(it["request_time"] for it in rows if it["flow"] == flow) - 7,
        }
        for flow in {it["flow"] for it in rows}
    ]


@st.composite
def waits_of(draw: st.DrawFn, row: Row) -> list[Row]:
    """Return a partition of the transaction, from before its request to after its end; or nothing."""
    if draw(st.booleans()) and draw(st.booleans()):
        return []
    begin = row["request_time"] - draw(st.sampled_from([0, 7]))
    last = row["response_last_time"] + draw(st.integers(0, 5))
    cuts = sorted({begin, last, *draw(st.lists(st.integers(begin, last), max_size=4))})
    fixed = {"flow": row["flow"], "transaction": row["index"]}
    causes = st.sampled_from(CAUSES)
    return [fixed | {"cause": draw(causes), "start": start, "end": end} for start, end in pairwise(cuts)]


def rows_of(tables: dict[str, list[Row]]) -> native.Rows:
    return native.Rows.by_hand(
        {
            name: {column: [row[column] for row in rows] for column in rows[0]}
            for name, rows in tables.items()
            if rows
        }
    )


@given(st.data())
def test_the_waits_of_the_path_partition_each_retrieval(data: st.DataObject) -> None:
    rows = data.draw(transactions())
    waits = [wait for row in rows for wait in data.draw(waits_of(row))]
    stalled = data.draw(st.booleans())
    given_waits = [(it["flow"], it["transaction"], it["cause"], it["start"], it["end"]) for it in waits]
    pages = Pages()
    pages.add(
        rows_of({"transactions": rows, "flows": flows_of(rows), "waits": [] if stalled else waits}),
        given_waits if stalled else (),
    )
    path, retrievals = pages.table("critical_path"), pages.table("retrievals")
    assert retrievals["transactions"].sum() == len(rows)
    for row in retrievals.with_columns(pl.col("start", "end").to_physical()).iter_rows(named=True):
        of_page = path.filter(pl.col("retrieval") == row["retrieval"])
        starts, ends = of_page["start"].to_physical().to_list(), of_page["end"].to_physical().to_list()
        assert of_page["step"].to_list() == list(range(of_page.height))
        if row["start"] == row["end"]:
            assert not starts
            continue
        assert [row["start"], *ends] == [*starts, row["end"]]
        assert all(start < end for start, end in zip(starts, ends, strict=True))
    known = {(flow, transaction, cause) for flow, transaction, cause, *_ in given_waits}
    causes = path.select("flow", "transaction", pl.col("cause").cast(pl.String)).rows()
    assert {it for it in causes if it[2] not in {"client.think", "unexplained"}} <= known
