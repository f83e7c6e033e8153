"""Workload of a probe: requests that reveal the server's writes, connection reuse and slow-start restart.

Each step is a function of the session; ``STEPS`` gives their order. The sizes and counts were measured to
reveal every known bad configuration of a server on the same host: see the comments at the constants.
"""

from __future__ import annotations

from contextlib import suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from tcptrace_http.errors import ProbeError
from tcptrace_http.probe.budget import Spent

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tcptrace_http.probe.exchange import Exchange
    from tcptrace_http.probe.session import Session

__all__ = ["CONTROL", "EXPECTATION", "FRESH", "FULL_HANDSHAKE", "REPEATS", "SERIAL", "STREAMS", "run", "steps_of"]

#: Response sizes that reveal a separately written head, and pieces of 4, 8, 16 and 32 kB. nginx without
#: sendfile shows its pieces only from 33 kB, a Go server only above 4 kB. The odd sizes leave a short last
#: segment.
SIZES: Final = (200, 700, 1866, 6651, 20_000, 33_000, 60_000)
#: Number of repetitions. A habitual stall occurs in at least half of them.
REPEATS: Final = 6
_CONTROL_REPEATS: Final = 3
#: Step names that the judgement uses.
SERIAL: Final = "serial"
CONTROL: Final = "quick-ack"
EXPECTATION: Final = "expectation"
FRESH: Final = "fresh"
FULL_HANDSHAKE: Final = "full-handshake"
STREAMS: Final = "streams"
_REDIRECTS_MAX: Final = 5
#: Hundreds digit of redirect statuses (RFC 9110, section 15).
_REDIRECTION: Final = 3
_FRESH_CONNECTIONS: Final = 3
_PIPELINED: Final = 12
_BUNDLE: Final = 6
#: Number of concurrent streams: as many as a page has objects, below the lowest usual limit (100; RFC 9113,
#: section 6.5.2).
_STREAMS: Final = 12
#: Number of requests above the usual server limit of 100.
_MANY: Final = 110
#: Maximum seconds for the many requests; a server that stalls each response does not reach the limit in time.
_MANY_SECONDS: Final = 5.0
#: Idle seconds, longer than any retransmission timeout, so that slow-start restart happens (RFC 5681, section
#: 4.1).
_IDLE_SECONDS: Final = 2.0
#: Minimum round trip: below it a restart costs less than the other variation.
RESTART_RTT_NS: Final = 20_000_000
#: Minimum response size, above an initial window of ten segments.
RESTART_BYTES: Final = 60_000
_UNSEEN: Final = "slow start after idle could not be seen"
#: Seconds of patience, above a server's think time, equal to curl's wait for 100 (Continue).
PATIENCE_SECONDS: Final = 1.0
#: Pause above a delayed ACK of 40 ms.
_ACK_PAUSE_SECONDS: Final = 0.1


def run(session: Session, progress: Callable[[str], None] | None = None) -> None:
    """Run all steps within the budget.

    :raises ProbeError: the server cannot be reached, or does not answer the first request.
    """
    tell = progress or _silent
    try:
        with suppress(Spent):
            tell("first")
            session.document = first(session)
            if _is_fit(session):
                _do_steps(session, tell)
            return
        if not session.exchanges:
            raise ProbeError(session.target.url, f"no whole answer within {session.budget.limits.time:g} s")
        session.note("the probe's time or requests were used up before all steps were done")
    finally:
        tell("")
        session.close()


def first(session: Session) -> Exchange:
    """Request the document for all steps, through redirects within the server.

    :raises ProbeError: the server cannot be reached, or gives no usable HTTP response.
    """
    seen = [session.target.path]
    while True:
        exchange = session.get("first", session.connect())
        if exchange.status is None or exchange.fault:
            raise ProbeError(session.target.url, exchange.fault or "no response")
        location = exchange.field("location")
        if exchange.status // 100 != _REDIRECTION or location is None:
            return exchange
        following = session.target.redirected(location)
        if following is None:
            raise ProbeError(session.target.url, f"it leads to another server, {location}; probe that one")
        if following.path in seen or len(seen) > _REDIRECTS_MAX:
            raise ProbeError(session.target.url, f"redirects without end: {' -> '.join([*seen, following.path])}")
        seen.append(following.path)
        session.target = following


def ranges(session: Session) -> None:
    """Check for range requests: with them the document serves for any size."""
    exchange = session.get("range", session.connect(), headers=_range(SIZES[0]))
    session.serves_ranges = exchange.status == HTTPStatus.PARTIAL_CONTENT and exchange.body_bytes == SIZES[0]
    if not session.serves_ranges:
        session.note(
            f"the server gives no parts of {session.target.path} (Range), so responses of chosen sizes were not"
            " tried; name documents of several sizes with --path"
        )


def serial(session: Session) -> None:
    """Send serial requests on one connection with delayed ACKs, for each size and path."""
    for path, size, headers in _documents(session):
        _repeat(session, f"{SERIAL} {path} {size}", path, headers, REPEATS, delays_acks=True)


def quick_acks(session: Session) -> None:
    """Send the serial requests with immediate ACKs: no response waits for an ACK."""
    for path, size, headers in _documents(session):
        _repeat(session, f"{CONTROL} {path} {size}", path, headers, _CONTROL_REPEATS, delays_acks=False)


def delayed_ack(session: Session) -> None:
    """Request an isolated one-segment response: the delayed-ACK timer sends its ACK, if ACKs are delayed."""
    connection = session.connect()
    for _ in range(_CONTROL_REPEATS):
        connection = connection if connection.is_open else session.connect()
        session.get("delayed-ack", connection, method="HEAD")
        session.budget.pause(_ACK_PAUSE_SECONDS)


def fresh(session: Session) -> None:
    """Send each request on a new connection."""
    for _ in range(_FRESH_CONNECTIONS):
        session.get(FRESH, session.connect())
        session.close_all()


def full_handshakes(session: Session) -> None:
    """Send each request on a new connection without TLS resumption: the certificate chain is sent each time."""
    for _ in range(_FRESH_CONNECTIONS if session.tls is not None else 0):
        session.get(FULL_HANDSHAKE, session.connect(resumes=False))
        session.close_all()


def split(session: Session) -> None:
    """Send a request head in two packets."""
    connection = session.connect()
    for _ in range(2):
        if connection.is_open:
            session.get("split", connection, is_split=True)


def pipelined(session: Session) -> None:
    """Send pipelined requests."""
    session.get_many("pipelined", session.connect(), _PIPELINED)


def compressed(session: Session) -> None:
    """Send a request that accepts gzip."""
    session.get("compressed", session.connect(), headers=(("Accept-Encoding", "gzip"),))


def conditional(session: Session) -> None:
    """Send a conditional request for the document."""
    known = session.document
    etag, modified = known.field("etag"), known.field("last-modified")
    headers = [("If-None-Match", etag)] if etag else [("If-Modified-Since", modified)] if modified else []
    if not headers:
        session.note(
            f"{session.target.path} has neither ETag nor Last-Modified: a browser fetches it again each time"
        )
        return
    exchange = session.get("conditional", session.connect(), headers=tuple((k, v) for k, v in headers if v))
    if exchange.status != HTTPStatus.NOT_MODIFIED:
        session.note(f"asked only for a changed document, the server answered {exchange.status} and not 304")


def head(session: Session) -> None:
    """Send a HEAD request."""
    exchange = session.get("head", session.connect(), method="HEAD")
    if exchange.status != session.document.status:
        session.note(f"HEAD is answered with {exchange.status}, GET with {session.document.status}")


def expectation(session: Session) -> None:
    """Send a request of a safe method whose body waits for 100 (Continue) (RFC 9110, section 10.1.1)."""
    body = b"asked by a probe"
    session.announce(EXPECTATION, session.connect(), method="OPTIONS", body=body, patience=PATIENCE_SECONDS)


def bundle(session: Session) -> None:
    """Send requests on several parallel connections."""
    for connection in [session.connect() for _ in range(_BUNDLE)]:
        session.get("bundle", connection)


def many(session: Session) -> None:
    """Send small requests on one connection until the server closes it."""
    connection = session.connect()
    headers = _range(SIZES[0]) if session.serves_ranges else ()
    count = 0
    until = session.budget.seconds_left - _MANY_SECONDS
    while connection.is_open and count < _MANY and session.budget.seconds_left > until:
        session.get("many", connection, headers=headers)
        count += 1
    if not connection.is_open and count > 1:
        session.note(f"the server closed a connection after {count} requests")


def restart(session: Session) -> None:
    """Request a large document at once again, and after idle time."""
    rtt = session.rtt_ns
    if rtt is None or rtt < RESTART_RTT_NS:
        session.note(f"{_UNSEEN}: the round trip is below 20 ms; probe from further away")
        return
    if session.document.body_bytes < RESTART_BYTES:
        session.note(f"{_UNSEEN}: {session.target.path} is below 60 kB")
        return
    connection = session.connect()
    for step, pause in (*2 * (("restart", 0.0),), *2 * (("restart-idle", _IDLE_SECONDS),)):
        if connection.is_open:
            session.budget.pause(pause)
            session.get(step, connection)
    session.has_restarted = session.exchanges[-1].step == "restart-idle"


def streams(session: Session) -> None:
    """Send concurrent requests on one connection, after a first one whose SETTINGS may limit them."""
    connection = session.connect()
    session.get(STREAMS, connection)
    session.get_streams(STREAMS, connection, [("GET", session.target.path)] * _STREAMS)


STEPS: Final = (
    ranges,
    serial,
    quick_acks,
    delayed_ack,
    fresh,
    full_handshakes,
    split,
    pipelined,
    compressed,
    conditional,
    head,
    expectation,
    bundle,
    many,
    restart,
)
#: Steps that HTTP/2 replaces or lacks.
_OF_HTTP1: Final = (split, pipelined, expectation, bundle)
_HTTP2_STEPS: Final = (*(step for step in STEPS if step not in _OF_HTTP1), streams)


def steps_of(session: Session) -> Sequence[Callable[[Session], None]]:
    """Return the steps of the probed protocol."""
    return _HTTP2_STEPS if session.is_http2 else STEPS


def _do_steps(session: Session, tell: Callable[[str], None]) -> None:
    """Run each step. If the server becomes unreachable, its earlier behaviour is judged.

    :raises Spent: the time or the requests are exhausted.
    """
    for step in steps_of(session):
        tell(step.__name__.replace("_", " "))
        try:
            step(session)
        except ProbeError as error:
            session.note(f"{error.what}, after it had answered {len(session.exchanges)} requests")
            return
        session.close_all()
        session.done.append(step.__name__)


def _is_fit(session: Session) -> bool:
    """Return whether the document is suitable for comparisons."""
    known = session.document
    if known.is_cut:
        session.note(
            f"{session.target.path} is longer than {session.budget.limits.response_bytes:,} bytes; it was cut off,"
            " and nothing else was asked: probe a smaller document"
        )
    elif known.status != HTTPStatus.OK or not known.is_complete:
        session.note(f"{session.target.path} is answered with {known.status}; probe an existing document")
    else:
        return True
    return False


def _silent(step: str) -> None:
    """Ignore the step."""


def _repeat(
    session: Session,
    step: str,
    path: str,
    headers: tuple[tuple[str, str], ...],
    count: int,
    *,
    delays_acks: bool,
) -> None:
    connection = session.connect(delays_acks=delays_acks)
    for _ in range(count):
        if not connection.is_open:
            connection = session.connect(delays_acks=delays_acks)
        session.get(step, connection, path=path, headers=headers)
    connection.close()


def _documents(session: Session) -> list[tuple[str, int, tuple[tuple[str, str], ...]]]:
    """Return path, size and fields of the requests with different response sizes."""
    whole = session.document.body_bytes
    parts = [(session.target.path, size, _range(size)) for size in SIZES if session.serves_ranges and size < whole]
    return [*parts, (session.target.path, whole, ()), *((path, 0, ()) for path in session.paths)]


def _range(size: int) -> tuple[tuple[str, str], ...]:
    """Return the field for the first bytes only (RFC 9110, section 14.2)."""
    return (("Range", f"bytes=0-{size - 1}"),)
