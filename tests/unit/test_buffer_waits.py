"""Waits for a full send buffer that are long by the round trips that they took."""

from __future__ import annotations

import polars as pl
import pytest

from tcptrace_http.candidates import CANDIDATE_TABLES
from tcptrace_http.detectors import small_send_buffer
from tcptrace_http.schema import TABLES, polars_schema

MS = 1_000_000


def tables_with(round_trips_ms: list[int], waited_ms: int) -> dict[str, pl.DataFrame]:
    """Connections of two hosts, each with such a round trip, of which the last waited so long for its buffer."""
    names = (*CANDIDATE_TABLES, "flows", "transactions", "waits")
    tables = {name: pl.DataFrame(schema=polars_schema(TABLES[name], statistics=False)) for name in names}
    flows = [
        {
            "flow": flow,
            "client": "10.0.0.1",
            "server": "10.0.0.2",
            "server_path_rtt": ms * MS,
            "client_path_rtt": 0,
        }
        for flow, ms in enumerate(round_trips_ms)
    ]
    wait = {
        "flow": len(flows) - 1,
        "transaction": 0,
        "cause": "send_limited.send_buffer",
        "first_frame": 5,
        "last_frame": 6,
    }
    wait |= {"start": 0, "end": waited_ms * MS, "confidence": 0.9}
    for name, rows in (("flows", flows), ("waits", [wait])):
        schema = polars_schema(TABLES[name], statistics=False)
        frame = pl.DataFrame(rows)
        missing = [pl.lit(None).alias(column) for column in schema if column not in frame.columns]
        tables[name] = frame.with_columns(*missing).select(
            pl.col(column).cast(schema[column]) for column in schema
        )
    return tables


@pytest.mark.parametrize(
    ("round_trips_ms", "count"),
    [([50], 0), ([10], 1), pytest.param([10, 50], 1, id="opened behind what others had in flight")],
)
def test_round_trips_are_those_of_the_least_way_between_the_two_hosts(round_trips_ms, count):
    tables = tables_with(round_trips_ms, 100)
    assert small_send_buffer.find(tables).collect().height == count
