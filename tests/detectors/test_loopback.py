"""Connections that fail their client, made by real sockets and captured by tcpdump."""

from __future__ import annotations

import select
import threading
from typing import TYPE_CHECKING

import pytest

import tcptrace_http

from .loopback import (
    TIMEOUT_SECONDS,
    Server,
    ask,
    captured,
    connect,
    free_port,
    read_response,
    resets_on_close,
    respond,
)

if TYPE_CHECKING:
    import socket
    from pathlib import Path
    from typing import Any

#: Above the detector's idle threshold.
IDLE_SECONDS = 0.3
#: More than the server sends.
BEYOND_ALL = 1 << 20
#: Correct findings on a server of a busy machine, which are no fault of the connection.
OF_A_BUSY_MACHINE = "head-of-line-blocking"


def findings_of(path: Path) -> list[dict[str, Any]]:
    found = tcptrace_http.analyze(path).findings
    return [finding for finding in found.iter_rows(named=True) if finding["detector"] != OF_A_BUSY_MACHINE]


def get(port: int, target: str) -> None:
    with connect(port) as connection:
        ask(connection, target)
        read_response(connection)


def test_a_request_on_a_connection_that_the_server_just_closed_is_an_idle_timeout_race(tmp_path):
    def closes_when_idle(connection: socket.socket) -> None:
        respond(connection)
        select.select([connection], [], [], IDLE_SECONDS)

    path, port = tmp_path / "race.pcap", free_port()
    with captured(port, path), Server(port, closes_when_idle, respond):
        with connect(port) as connection:
            ask(connection, "/a")
            read_response(connection)
            # The FIN has arrived, and this client ignores it.
            select.select([connection], [], [], TIMEOUT_SECONDS)
            ask(connection, "/b")
            connection.recv(1)
            select.select([], [], [connection], 0)
        get(port, "/b")
    (found,) = findings_of(path)
    assert found["detector"] == "idle-timeout-race"
    assert found["transaction"] == 1
    assert found["lost"].total_seconds() > 0
    assert "1 of 1 sent again" in found["evidence"]


def test_pipelined_requests_behind_the_last_response_are_lost(tmp_path):
    def answers_two(connection: socket.socket) -> None:
        respond(connection)
        respond(connection, field="Connection: close\r\n")

    path, port = tmp_path / "pipelined.pcap", free_port()
    with captured(port, path), Server(port, answers_two, respond):
        with connect(port) as connection:
            ask(connection, "/0", "/1", "/2", "/3")
            with pytest.raises(ConnectionResetError):
                read_response(connection, BEYOND_ALL)
        get(port, "/2")
    (found,) = findings_of(path)
    assert found["detector"] == "lost-pipelined-requests"
    assert "after 2 responses and left 2 pipelined requests unanswered, from GET /2 on" in found["summary"]
    assert "1 of 1 sent again" in found["evidence"]


def test_connections_are_refused_until_somebody_listens(tmp_path):
    path, port = tmp_path / "refused.pcap", free_port()
    with captured(port, path):
        for _ in range(2):
            with pytest.raises(ConnectionRefusedError):
                connect(port)
        with Server(port, respond):
            get(port, "/")
    (found,) = findings_of(path)
    assert found["detector"] == "refused-connection"
    assert found["lost"].total_seconds() > 0
    assert "refused 2 connections" in found["summary"]


@pytest.mark.parametrize("detector", ["reset-in-response", "truncated-response"])
def test_a_response_that_breaks_off_is_reported_by_how_it_does(tmp_path, detector):
    read = threading.Event()

    def breaks_off(connection: socket.socket) -> None:
        respond(connection, announced=9000, sent=1000)
        read.wait(TIMEOUT_SECONDS)
        if detector == "reset-in-response":
            resets_on_close(connection)

    path, port = tmp_path / "cut.pcap", free_port()
    with captured(port, path), Server(port, breaks_off, respond):
        with connect(port) as connection:
            ask(connection, "/big")
            read_response(connection, 1000)
            read.set()
            select.select([connection], [], [], TIMEOUT_SECONDS)
        get(port, "/big")
    (found,) = findings_of(path)
    assert found["detector"] == detector
    assert "1000 of 9000" in found["summary"]
    assert found["lost"].total_seconds() > 0


def test_a_response_that_ends_with_a_reset_is_whole(tmp_path):
    def resets_behind(connection: socket.socket) -> None:
        respond(connection)
        connection.recv(1)
        resets_on_close(connection)

    path, port = tmp_path / "whole.pcap", free_port()
    with captured(port, path), Server(port, resets_behind), connect(port) as connection:
        ask(connection, "/")
        read_response(connection)
        connection.sendall(b"x")
        with pytest.raises(ConnectionResetError):
            connection.recv(1)
    assert findings_of(path) == []
