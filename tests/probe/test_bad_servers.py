"""Misbehaving servers: a clear verdict and exit code in time, and never a packet to another host."""

from __future__ import annotations

import socket
import sys
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcptrace_http.errors import ProbeError
from tcptrace_http.probe.target import target_of

from .servers import LARGE, free_port, written

if TYPE_CHECKING:
    from collections.abc import Iterator

LIMIT_SECONDS = 2
#: Additional time on a busy machine for start, capture and judgement.
SLACK_SECONDS = 12
UNUSABLE, INCONCLUSIVE = 2, 3


@contextmanager
def counting(
    respond: dict[str, str], status: int = 200, body: bytes = b"x" * 3000
) -> Iterator[tuple[str, list[float]]]:
    """Serve one response; yield the address, and the arrival time of each request."""
    requested: list[float] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            requested.append(time.monotonic())
            self.send_response(status)
            for name, value in respond.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        do_HEAD = do_OPTIONS = do_GET  # noqa: N815 -- as the library calls them

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}", requested
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def deaf() -> Iterator[str]:
    """Yield an address that answers no SYN, like a dropping firewall: a listener with a full queue."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        place = listener.getsockname()
        waiting = []
        while True:
            trial = socket.socket()
            waiting.append(trial)
            trial.settimeout(0.3)
            try:
                trial.connect(place)
            except TimeoutError:
                break
        try:
            yield f"http://127.0.0.1:{place[1]}/"
        finally:
            for each in waiting:
                each.close()


def timed(probed: Any, *arguments: Any, captures: bool = False) -> Any:
    """Return the verdict, which must arrive in time."""
    started = time.monotonic()
    shown = probed(*arguments, "--time-limit", LIMIT_SECONDS, *["--no-capture"][captures:])
    assert time.monotonic() - started < LIMIT_SECONDS + SLACK_SECONDS
    assert "internal error" not in shown.error
    assert "Traceback" not in shown.error
    return shown


def test_closed_port_cannot_be_probed(probed):
    shown = timed(probed, f"http://127.0.0.1:{free_port()}/")
    assert shown.code == UNUSABLE
    assert "cannot connect to 127.0.0.1 port" in shown.error
    assert "refused" in shown.error


def test_address_that_does_not_answer_cannot_be_probed(probed):
    with deaf() as url:
        shown = timed(probed, url)
    assert shown.code == UNUSABLE
    assert "no answer from 127.0.0.1" in shown.error


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("https://", "write http://HOST[:PORT]/PATH, or https://"),
        ("ftp://localhost/", "write http://HOST[:PORT]/PATH"),
        ("http://", "write http://HOST[:PORT]/PATH"),
        ("http://localhost:99999/", "no URL"),
        ("http://[::1/", "no URL"),
        ("http://name:word@localhost/", "name and password"),
        ("http://nowhere.invalid/", "no address for nowhere.invalid"),
    ],
)
def test_url_that_cannot_be_probed_is_reported(probed, url, said):
    shown = timed(probed, url)
    assert shown.code == UNUSABLE
    assert said in shown.error
    assert shown.error.count("\n") == 1


@pytest.mark.parametrize(
    ("misbehaviour", "code", "said"),
    [
        ("tls", UNUSABLE, "it speaks TLS"),
        ("loop", UNUSABLE, "redirects without end"),
        ("garbage", UNUSABLE, "no HTTP/1"),
        ("hang", UNUSABLE, "no whole answer within 2 s"),
        ("drip", UNUSABLE, "no whole answer within 2 s"),
        ("close", UNUSABLE, "closed without a response"),
        ("endless-head", UNUSABLE, "no HTTP/1"),
        ("endless", INCONCLUSIVE, "is longer than"),
    ],
)
def test_misbehaving_server_gets_a_clear_verdict(tmp_path, probed, misbehaviour, code, said):
    with written(tmp_path, misbehave=misbehaviour) as url:
        shown = timed(probed, url + LARGE)
    assert shown.code == code
    assert said in (shown.notes if shown.report else shown.error)


@pytest.mark.slow
@pytest.mark.parametrize("misbehaviour", ["hang", "endless"])
def test_misbehaving_server_gets_its_verdict_with_packets_too(tmp_path, probed, misbehaviour):
    with written(tmp_path, misbehave=misbehaviour) as url:
        assert timed(probed, url + LARGE, captures=True).code in {UNUSABLE, INCONCLUSIVE}


@pytest.mark.parametrize("status", [404, 500, 503])
def test_errors_are_inconclusive(probed, status):
    with counting({}, status) as (url, requested):
        shown = timed(probed, url)
        assert shown.code == INCONCLUSIVE
        assert f"is answered with {status}" in shown.notes
        assert len(requested) == 1


def test_server_that_begins_to_refuse_is_inconclusive(tmp_path, probed):
    with written(tmp_path, refuse_after=3) as url:
        shown = timed(probed, url + LARGE)
    assert shown.code == INCONCLUSIVE
    assert "the document was there" in shown.inconclusive


def test_server_that_dies_is_judged_by_its_packets(tmp_path, probed):
    with written(tmp_path, die_after=3) as url:
        shown = timed(probed, url + LARGE)
    assert shown.code == INCONCLUSIVE
    assert "all was asked" in shown.inconclusive
    assert "after it had answered" in shown.notes


@pytest.fixture(scope="session")
def connected() -> list[tuple[str, int]]:
    """Record every address that this process connects to or looks up, from now on."""
    seen: list[tuple[str, int]] = []

    def note(event: str, arguments: tuple[Any, ...]) -> None:
        if event in {"socket.connect", "socket.sendto"}:
            seen.append(arguments[1][:2])
        elif event == "socket.getaddrinfo":
            seen.append(arguments[:2])

    sys.addaudithook(note)
    return seen


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_redirect_to_another_host_is_not_followed(probed, connected, code):
    with counting({}) as (other, asked_of_other), counting({"Location": other}, code) as (url, requested):
        connected.clear()
        shown = timed(probed, url)
        assert shown.code == UNUSABLE
        assert f"it leads to another server, {other}" in shown.error
        assert len(requested) == 1
        assert asked_of_other == []
        assert set(connected) == {("127.0.0.1", int(url.rpartition(":")[2]))}


def test_everything_goes_to_the_one_host_that_was_named(tmp_path, probed, connected):
    with written(tmp_path) as url:
        connected.clear()
        # The server closes without a response if the file does not exist.
        shown = probed(url + LARGE, "--path", "//other.example/x", "--path", "http://other.example/y")
        assert shown.code == 1
        assert set(connected) == {("127.0.0.1", int(url.rpartition(":")[2]))}


@given(
    st.text(st.characters(exclude_categories=["Cs"]))
    | st.from_regex(r"(https?:)?//[a-z@:/.?#\[\]%]*", fullmatch=True)
)
def test_no_location_leads_to_another_host(location):
    here = target_of("http://127.0.0.1:8080/a/b")
    there = here.redirected(location)
    assert there is None or (there.address, there.port, there.host) == (here.address, here.port, here.host)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_is_a_target_or_rejected(text):
    try:
        found = target_of(f"http://127.0.0.1/{text}")
    except ProbeError:
        return
    assert found.address == "127.0.0.1"
    assert found.path.startswith("/")
    # No character that would end the request line or begin another field.
    assert found.path.isascii()
    assert not set(found.path) & set(" \t\r\n\x00")


def test_no_more_requests_are_sent_than_allowed(probed):
    with counting({"Accept-Ranges": "none"}) as (url, requested):
        shown = timed(probed, url, "--max-requests", 17)
        assert len(requested) <= 17
    assert shown.code == INCONCLUSIVE
    assert "all was asked" in shown.inconclusive


def test_requests_keep_the_rate(probed):
    rate, count = 30, 15
    with counting({}) as (url, requested):
        timed(probed, url, "--rate", rate, "--max-requests", count)
        assert len(requested) == count
        # The first request is sent at once.
        assert all(when - requested[0] >= number / rate - 0.05 for number, when in enumerate(requested))


def test_probe_ends_by_itself(tmp_path, probed):
    # Each response is held for 200 ms: all steps together would exceed the time limit.
    with written(tmp_path, cork_forgotten=1) as url:
        shown = timed(probed, url + LARGE)
    assert "all was asked" in shown.inconclusive
    assert "used up" in shown.notes
