"""Captures of one connection made of exchanges, each with its own name, size, processing time and stall."""

from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from captures import ACK, MILLISECOND, MSS, PSH, Connection, pcap
from hypothesis import strategies as st

import tcptrace_http


@dataclass(frozen=True)
class Exchange:
    """Request and its response; with ``stall_ns``, the head is sent alone until its ACK."""

    name: str
    size: int = 4000
    think_ns: int = MILLISECOND
    stall_ns: int = 0


#: Exchanges are aligned by name; each name occurs once.
EXCHANGES = st.lists(
    st.builds(
        Exchange,
        st.just(""),
        st.integers(0, 9000),
        st.integers(20_000, 90 * MILLISECOND),
        st.sampled_from([0, 0, 40 * MILLISECOND, 190 * MILLISECOND]),
    ),
    min_size=1,
    max_size=6,
).map(lambda made: [replace(each, name=f"/{number}") for number, each in enumerate(made)])


def records(exchanges, *, start=None):
    """Return the connection's packets, optionally shifted in time."""
    connection = Connection() if start is None else Connection(time=start)
    connection.open()
    for each in exchanges:
        request = b"GET %s HTTP/1.1\r\nHost: a.example\r\n\r\n" % each.name.encode()
        head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % each.size
        body = b"x" * each.size
        connection.from_client(request, PSH | ACK, after=MILLISECOND)
        if each.stall_ns:
            connection.from_server(head, PSH | ACK, after=each.think_ns)
            connection.from_client(after=each.stall_ns)
            segments = [body[at : at + MSS] for at in range(0, len(body), MSS)]
        else:
            whole = head + body
            segments = [whole[at : at + MSS] for at in range(0, len(whole), MSS)]
        for number, segment in enumerate(segments):
            is_first = number == 0 and not each.stall_ns
            connection.from_server(segment, after=each.think_ns if is_first else 12_000)
            connection.from_client(after=20_000)
    connection.close()
    return connection.records


def compared(left, right, **options):
    """Return the difference of two record lists, each optionally written to a file."""
    with TemporaryDirectory() as folder:
        paths = []
        for side, made in (("left", left), ("right", right)):
            path = Path(folder) / f"{side}.pcap"
            path.write_bytes(made if isinstance(made, bytes) else pcap(made))
            paths.append(path)
        return tcptrace_http.diff(*paths, jobs=1, **options)
