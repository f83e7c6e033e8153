"""Which detector tells a held segment, by its place in the message, and what its sentence says."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from tcptrace_http.detectors import DETECTORS
from tcptrace_http.schema import TABLES, polars_schema

MS = 1_000_000
#: The body of a response of 200 and 1460 bytes waits for the delayed ACK of its head.
BEHIND_HEAD = {
    "cause": "stall.nagle_delayed_ack",
    "confidence": 0.8,
    "direction": "server_to_client",
    "constraint": "nagle",
    "released_by": 6,
    "offset": 200,
    "bytes": 700,
    "behind_frame": 5,
    "behind_offset": 0,
    "behind_bytes": 200,
}
OWNERS = ("short-initial-segment", "odd-short-final-segment", "nagle-delayed-ack", "nagle-hold")


def table(name: str, *rows: dict[str, Any]) -> pl.DataFrame:
    schema = polars_schema(TABLES[name], statistics=False)
    return pl.DataFrame([dict.fromkeys(schema) | row for row in rows], schema=schema)


def told(*, expects_continue: bool = False, **wait: Any) -> list[dict[str, Any]]:
    place = {"flow": 0, "transaction": 0, "first_frame": 5, "last_frame": 7, "start": 0, "end": 40 * MS}
    transaction = {"flow": 0, "index": 0, "response_header_bytes": 200, "response_wire_bytes": 1660}
    tables = {
        "waits": table("waits", place | BEHIND_HEAD | wait),
        "transactions": table(
            "transactions", transaction | {"expects_continue": expects_continue, "interim_responses": 0}
        ),
    }
    return [
        row | {"detector": name}
        for name in OWNERS
        for row in DETECTORS[name].find(tables).collect().iter_rows(named=True)
    ]


@pytest.mark.parametrize(
    ("wait", "owner"),
    [
        ({}, "short-initial-segment"),
        ({"bytes": 1460}, "short-initial-segment"),
        ({"behind_bytes": 300}, "short-initial-segment"),
        ({"behind_bytes": 300, "offset": 300, "bytes": 1360}, "odd-short-final-segment"),
        ({"behind_frame": None, "behind_offset": None, "offset": 960}, "odd-short-final-segment"),
        ({"behind_offset": 500, "offset": 960}, "odd-short-final-segment"),
        ({"behind_offset": 500, "offset": 700}, "nagle-delayed-ack"),
        ({"behind_offset": -400, "offset": 0}, "nagle-delayed-ack"),
        ({"cause": "stall.nagle_hold", "behind_offset": -400, "offset": 0, "bytes": 1660}, "nagle-hold"),
        ({"cause": "stall.nagle_hold", "behind_frame": None, "behind_offset": None, "offset": 960}, "nagle-hold"),
        (
            {"cause": "stall.nagle_hold", "released_by": None, "behind_frame": None, "behind_offset": None},
            "nagle-hold",
        ),
        ({"direction": "client_to_server"}, "nagle-delayed-ack"),
    ],
)
def test_a_hold_has_one_owner_by_its_place_in_the_message(wait, owner):
    (found,) = told(**wait)
    assert found["detector"] == owner
    assert found["lost"].total_seconds() == pytest.approx(0.04)
    assert found["summary"]
    assert found["evidence"]
    assert found["remedy"]


def test_a_hold_of_a_request_is_told_as_the_clients():
    (found,) = told(direction="client_to_server")
    assert "of the request" in found["summary"]
    assert "the server delayed" in found["summary"]
    assert "client's socket" in found["remedy"]


def test_a_body_that_waits_for_100_continue_is_no_hold():
    assert told(direction="client_to_server", expects_continue=True) == []


@pytest.mark.parametrize(("confidence", "is_doubtful"), [(0.5, True), (0.8, False)])
def test_a_hold_that_may_be_think_time_says_so(confidence, is_doubtful):
    (found,) = told(confidence=confidence)
    assert ("or the application wrote the data only then" in found["summary"]) == is_doubtful
    assert found["confidence"] == confidence
