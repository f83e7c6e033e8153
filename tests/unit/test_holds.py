"""Detector of a held segment, by its place in the message, and the finding's sentence."""

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
OWNERS = (
    *("short-initial-segment", "odd-short-final-segment", "nagle-delayed-ack", "nagle-hold"),
    *("tls-ticket-nagle", "tls-handshake-nagle"),
)
#: TLS 1.3, complete when the response's wait began; tickets arrived in frames 4 and 5.
SECURED = {
    "client_hello_time": -20 * MS,
    "client_hello_last_time": -20 * MS,
    "client_hello_frame": 1,
    "client_finished_frame": 3,
    "done_time": 0,
    "unasked_first_frame": 4,
    "unasked_last_frame": 5,
}
#: The wait was within the handshake.
WITHIN = SECURED | {"done_time": 50 * MS}


def table(name: str, *rows: dict[str, Any]) -> pl.DataFrame:
    schema = polars_schema(TABLES[name], statistics=False)
    return pl.DataFrame([dict.fromkeys(schema) | row for row in rows], schema=schema)


def told(
    *, expects_continue: bool = False, handshake: dict[str, Any] | None = None, **wait: Any
) -> list[dict[str, Any]]:
    place = {"flow": 0, "transaction": 0, "first_frame": 5, "last_frame": 7, "start": 0, "end": 40 * MS}
    transaction = {"flow": 0, "index": 0, "response_header_wire_bytes": 200, "response_wire_bytes": 1660}
    tables = {
        "waits": table("waits", place | BEHIND_HEAD | wait),
        "transactions": table(
            "transactions", transaction | {"expects_continue": expects_continue, "interim_responses": 0}
        ),
        "tls_handshakes": table("tls_handshakes", *([{"flow": 0} | handshake] if handshake else [])),
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


@pytest.mark.parametrize(
    ("handshake", "wait", "owner"),
    [
        (SECURED, {"behind_offset": -400, "offset": 0}, "tls-ticket-nagle"),
        # The response's first segment contains a ticket.
        (SECURED, {"behind_offset": -400, "offset": None}, "tls-ticket-nagle"),
        (SECURED, {"behind_offset": -100}, "short-initial-segment"),
        (SECURED, {"behind_offset": -400, "behind_frame": 9, "offset": 0}, "nagle-delayed-ack"),
        (
            SECURED,
            {"direction": "client_to_server", "behind_frame": 3, "behind_offset": -200, "offset": 0},
            "tls-ticket-nagle",
        ),
        (SECURED, {"direction": "client_to_server", "behind_frame": 5}, "nagle-delayed-ack"),
        # The segment with Finished also has the beginning of the request.
        (SECURED, {"direction": "client_to_server", "behind_frame": 3, "behind_offset": -50}, "nagle-delayed-ack"),
        # Early data arrives before the handshake is complete.
        (WITHIN, {"behind_frame": 2, "behind_offset": -900, "offset": 0}, "nagle-delayed-ack"),
        (WITHIN, {"behind_offset": -900, "offset": None}, "tls-handshake-nagle"),
        (WITHIN, {"direction": "client_to_server", "behind_offset": -900, "offset": None}, "tls-handshake-nagle"),
    ],
)
def test_a_hold_in_a_tls_handshake_or_behind_it_has_one_owner(handshake, wait, owner):
    (found,) = told(handshake=handshake, **wait)
    assert found["detector"] == owner
    assert found["summary"]
    assert found["evidence"]
    assert "TCP_NODELAY" in found["remedy"]


def test_a_held_part_of_the_clienthello_is_no_other_hold():
    within_hello = WITHIN | {"client_hello_last_time": 45 * MS}
    assert told(handshake=within_hello, direction="client_to_server", offset=None) == []


def test_a_hold_of_a_request_is_reported_as_the_clients():
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
