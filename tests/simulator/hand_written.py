"""Handwritten truth tables, for tests of the derived waits.

The connection has one client, one server and a path without queues. Each line is a sent packet:

    C 50.0>75.0 1+100 ack 1 new         side, sent>received in ms ("-": lost), offset+payload, ack, reason
    S 10.0>35.0 SYN ack 1 new
    S 60.0>85.0 101+0 FIN ack 101 new

or a sender's limit, ``C 75.0 application``. The stream's first byte has offset 1.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from reference_sim.true_waits import true_transactions, true_waits

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import polars as pl

__all__ = ["OPENED", "scenario", "stalls", "tables", "transaction", "waits", "waits_of"]

_SIDES: Final = {"C": "client", "S": "server"}
_PACKET: Final = re.compile(
    r"([CS]) ([\d.]+)>([\d.]+|-) (SYN|\d+)(?:\+(\d+))?( FIN)? ack (\d+)(?: win (\d+))? (\w+)"
)
_LIMIT: Final = re.compile(r"([CS]) ([\d.]+) (\w+)")
_WINDOW: Final = re.compile(r"([CS]) ([\d.]+) cwnd (\d+) flight (\d+)")
_WINDOWS: Final = ("connection", "side", "time", "cwnd", "ssthresh", "flight_bytes")
_HEADER_BYTES: Final = 40
_WINDOW_BYTES: Final = 1 << 20
_FIN, _SYN, _ACK = 0x01, 0x02, 0x10
_WINDOW_COLUMNS: Final = (
    "connection",
    "side",
    "time",
    "cwnd",
    "ssthresh",
    "flight_bytes",
    "retransmission_timeout",
)
_AGAIN: Final = ("retransmission_timeout", "fast_retransmit", "recovery", "tail_loss_probe")
MSS: Final = 1460
#: Handshake, and the client's request.
OPENED: Final = """
    C 0>25 SYN ack 0 new
    S 25>50 SYN ack 1 new
    C 50>75 1+0 ack 1 ack
    C 50>75 1+100 ack 1 new
    S 0 application
    C 0 application
"""


def ns(ms: str | float) -> int:
    return round(float(ms) * 1e6)


def scenario(
    *,
    one_way_ms: float,
    rate_bps: int | None = None,
    up_bps: int | None = None,
    sharing: str = "none",
    chunk_bytes: int | None = None,
    gap_ms: float = 0.0,
) -> dict[str, Any]:
    """Return two hosts with a link per direction, optionally with rates: the fields that the truth reads."""
    stack = {
        "mss": MSS,
        "mss_option": True,
        "timestamps": False,
        "nagle": "bsd",
        "sharing": sharing,
        "congestion": "reno",
    }
    writes = {"gap_ns": ns(gap_ms), "head_alone": False, "chunk_bytes": chunk_bytes}
    return {
        "epoch_ns": 0,
        "framing_bytes": 0,
        "links": [
            {"rate_bps": up_bps, "delay_ns": ns(one_way_ms)},
            {"rate_bps": rate_bps, "delay_ns": ns(one_way_ms)},
        ],
        "stacks": [stack],
        "servers": [{"node": 1, "port": 80, "stack": 0, "writes": writes}],
        "browsers": [{"node": 0, "stack": 0}],
    }


def transaction(
    index: int,
    *,
    request: tuple[int, int],
    response: tuple[int, int],
    head: int = 200,
    received_ms: float,
    written_ms: float,
) -> dict[str, Any]:
    """Return a row of transactions; ``request`` and ``response`` are offset and length."""
    return {
        "connection": 0,
        "index": index,
        "request_offset": request[0],
        "request_bytes": request[1],
        "response_offset": response[0],
        "response_head_bytes": head,
        "response_body_bytes": response[1] - head,
        "request_received": ns(received_ms),
        "response_written": ns(written_ms),
    }


def tables(lines: str, transactions: Iterable[Mapping[str, Any]]) -> dict[str, pl.DataFrame]:
    """Return the truth tables of one connection."""
    import polars as pl

    packets: list[dict[str, Any]] = []
    limits: list[dict[str, Any]] = []
    windows: list[dict[str, Any]] = []
    for line in filter(None, (line.strip() for line in lines.splitlines())):
        if found := _PACKET.fullmatch(line):
            packets.append(_packet(len(packets), *found.groups()))
        elif found := _WINDOW.fullmatch(line):
            side, time, cwnd, flight = found.groups()
            own = {"cwnd": int(cwnd), "ssthresh": 1 << 30, "flight_bytes": int(flight)}
            own["retransmission_timeout"] = ns(1000)
            windows.append({"connection": 0, "side": _SIDES[side], "time": ns(time), **own})
        else:
            found = _LIMIT.fullmatch(line)
            assert found is not None, line
            limits.append({"connection": 0, "side": _SIDES[found[1]], "time": ns(found[2]), "limit": found[3]})
    hops = [{"packet": it["packet"], "link": 0 if it["side"] == "client" else 1} for it in packets]
    connection = {"connection": 0, "client_node": 0, "server_node": 1, "client_port": 1025, "server_port": 80}
    return {
        "connections": pl.DataFrame([connection]),
        "packets": pl.DataFrame(_with_copies(packets), infer_schema_length=None),
        "limits": pl.DataFrame(limits, schema=["connection", "side", "time", "limit"]),
        "windows": pl.DataFrame(windows, schema=_WINDOW_COLUMNS),
        "hops": pl.DataFrame(hops),
        "transactions": pl.DataFrame(list(transactions)),
    }


def _packet(  # noqa: PLR0917 -- the parts of a line
    number: int,
    side: str,
    sent: str,
    received: str,
    start: str,
    payload: str | None,
    fin: str | None,
    ack: str,
    window: str | None,
    reason: str,
) -> dict[str, Any]:
    is_syn = start == "SYN"
    length = int(payload or 0)
    return {
        "packet": number,
        "connection": 0,
        "side": _SIDES[side],
        "seq": 0 if is_syn else int(start),
        "ack": int(ack),
        "payload_bytes": length,
        "flags": (_SYN if is_syn else _ACK) | (_FIN if fin else 0),
        "packet_bytes": _HEADER_BYTES + length,
        "window_bytes": int(window or _WINDOW_BYTES),
        "reason": reason,
        "is_retransmission": reason in _AGAIN,
        "sent": ns(sent),
        "received": None if received == "-" else ns(received),
    }


def _with_copies(packets: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return whether a packet begins with previously sent bytes of its side, a retransmission for any reason."""
    ends: dict[str, int] = {}
    for packet in packets:
        end = packet["seq"] + packet["payload_bytes"]
        if packet["payload_bytes"]:
            packet["is_retransmission"] |= packet["seq"] < ends.get(packet["side"], 0)
            ends[packet["side"]] = max(end, ends.get(packet["side"], 0))
    return packets


def waits_of(found: pl.DataFrame) -> list[str]:
    """Return rows of true waits as ``transaction cause milliseconds``."""
    return [
        f"{index} {cause} {(end - start) / 1e6:g}"
        for index, cause, start, end in found.select("transaction", "cause", "start_ns", "end_ns").iter_rows()
    ]


def waits(
    lines: str,
    *transactions: dict[str, Any],
    one_way_ms: float = 25.0,
    rate_bps: int | None = None,
    up_bps: int | None = None,
    at: str = "client",
    opened: str = OPENED,
    gap_ms: float = 0.0,
) -> list[str]:
    """Return the true waits of ``transactions``, in the form of :func:`waits_of`."""
    document = scenario(one_way_ms=one_way_ms, rate_bps=rate_bps, up_bps=up_bps, gap_ms=gap_ms)
    return waits_of(true_waits(tables(opened + lines, transactions), document, at=at))


def stalls(lines: str, *transactions: dict[str, Any], one_way_ms: float = 25.0) -> list[tuple[int, str, float]]:
    """Return the true stalls of ``transactions``: transaction, name and milliseconds lost."""
    document = scenario(one_way_ms=one_way_ms)
    found = true_transactions(tables(OPENED + lines, transactions), document)
    return [(it.index, stall.name, stall.lost_ns / 1e6) for it in found for stall in it.stalls]
