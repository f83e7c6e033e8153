"""TLS of the captured connections: version, flight sizes, and the server's time for its flight.

Ciphertext shows lengths only. The certificate chain is assumed as long as the server's flight requires.
Tickets are the server's bytes between the handshake and its first response.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from reference_sim.tls import CHAIN_BYTES_MIN, RECORD_DATA_MAX, Tls, TlsVersion, flight_bytes
from tcptrace_http.inference.client_clock import sending_time
from tcptrace_http.inference.figure import Figure, seen

if TYPE_CHECKING:
    from tcptrace_http.inference.observed import Exchange, Observed
    from tcptrace_http.inference.packets import Packet

__all__ = ["data_bytes", "tls_of", "unasked", "waits_behind_finished"]

_TLS13: Final = "TLS 1.3"
_VERSIONS: Final = {"TLS 1.2": TlsVersion.TLS12, _TLS13: TlsVersion.TLS13}
#: Length of a whole ChangeCipherSpec record.
_CHANGE_CIPHER_SPEC: Final = 6
#: Bytes of record and message around a ticket in TLS 1.3, and in 1.2, where Finished follows.
_AROUND_TICKET: Final = 47
_AROUND_TICKET_12: Final = 15
_TICKET_EXTENSION: Final = 4
_FINISH: Final = _CHANGE_CIPHER_SPEC + 45
_TICKET_BYTES_MAX: Final = 8192
#: Bytes of a record around its data (TLS 1.3, AES-GCM).
_RECORD_BYTES: Final = 22


def tls_of(observed: Observed, rate: int | None, propagation: int) -> tuple[Tls | None, tuple[Figure, ...]]:
    """Return TLS of the first connection with a complete handshake, and its figures; None without TLS."""
    row = next((row for _, row in sorted(observed.handshakes.items()) if _is_whole(row)), None)
    if row is None:
        return None, ()
    version = _VERSIONS[row["version"]]
    early_data = bool(row["early_data"] and row["resumed"] and not row["round_trips"])
    plain = Tls(
        version=version,
        resumed=bool(row["resumed"]),
        early_data=early_data,
        hello_bytes=row["client_hello_bytes"] - _CHANGE_CIPHER_SPEC * early_data,
        processing=_processing(observed, row, rate, propagation),
        **_tickets(observed, row, version),
    )
    made = plain if plain.resumed else _with_chain(plain, row["server_flight_bytes"])
    figure = seen(
        "server.tls",
        _words(made),
        confidence=1.0,
        frames=[row["client_hello_frame"], row["server_hello_frame"]],
        how="hellos, and the bytes of the flights",
    )
    return made, (figure,)


def waits_behind_finished(observed: Observed) -> bool | None:
    """Return whether a request waited for the ACK of the client's Finished, a short segment; None without TLS."""
    if not observed.handshakes:
        return None
    return any(_is_held(observed, number, row) for number, row in observed.handshakes.items())


def data_bytes(observed: Observed, size: int) -> int:
    """Return the data bytes of a write that took ``size`` stream bytes."""
    if not observed.handshakes:
        return size
    return max(size - _RECORD_BYTES * -(-size // (RECORD_DATA_MAX + _RECORD_BYTES)), 1)


def _is_whole(row: dict[str, Any]) -> bool:
    return row["version"] in _VERSIONS and row["done_time"] is not None and row["server_hello_time"] is not None


def _processing(observed: Observed, row: dict[str, Any], rate: int | None, propagation: int) -> int:
    """Return the nanoseconds from the ClientHello to the server's flight, less the path."""
    elapsed = int(row["server_hello_time"] - row["client_hello_time"])
    if not observed.is_near_client:
        return max(elapsed, 0)
    packets = [observed.by_frame.get(row[name]) for name in ("client_hello_frame", "server_hello_frame")]
    sending = sum(sending_time(packet.ip_bytes, rate) for packet in packets if packet is not None)
    return max(elapsed - propagation - sending, 0)


def _tickets(observed: Observed, row: dict[str, Any], version: TlsVersion) -> dict[str, Any]:
    """Return number and length of the tickets, from the server's packets before its first response."""
    if row["resumed"] and version is TlsVersion.TLS12:
        # The ticket is part of the flight.
        bare = Tls(version=version, resumed=True, tickets=0)
        return _ticket12(row["server_flight_bytes"] - flight_bytes(bare) - _TICKET_EXTENSION)
    last = observed.by_frame.get(row["server_flight_last_frame"])
    exchange = next((it for it in observed.exchanges if it.flow == row["flow"]), None)
    answer = None if exchange is None else observed.by_frame.get(exchange.response_frame)
    if last is None or exchange is None or answer is None:
        return {"tickets": 0}
    if version is TlsVersion.TLS12:
        return _ticket12(answer.seq - last.end - _FINISH)
    alone = unasked(observed, exchange)
    if not alone:
        return {"tickets": 0}
    one = alone[0].payload
    # Tickets may be part of the response's first packet.
    return {
        "tickets": len(alone) + _within(observed, exchange, one),
        "ticket_bytes": min(max(one - _AROUND_TICKET, 1), _TICKET_BYTES_MAX),
    }


def unasked(observed: Observed, exchange: Exchange) -> list[Packet]:
    """Return the packets of the server's tickets before a first response (TLS 1.3), without the response."""
    row = observed.handshakes.get(exchange.flow)
    if row is None or row["version"] != _TLS13 or exchange.index:
        return []
    last, answer = (observed.by_frame.get(it) for it in (row["server_flight_last_frame"], exchange.response_frame))
    if last is None or answer is None:
        return []
    sent = observed.lookups[exchange.flow].data(to_client=True).starting_in(last.end, answer.seq)
    # The server's SETTINGS also precede its first response.
    settings = observed.h2_connections.get(exchange.flow, {}).get("server_settings_frame")
    return [packet for packet in sent if not packet.is_resent and packet.frame != settings]


def _within(observed: Observed, exchange: Exchange, size: int) -> int:
    """Return the number of tickets of this size in the packet with the start of the response."""
    answer, last = (observed.by_frame.get(it) for it in (exchange.response_frame, exchange.response_last_frame))
    if answer is None or last is None or not exchange.is_opaque:
        return 0
    sealing = _RECORD_BYTES * -(-exchange.body_bytes // RECORD_DATA_MAX)
    before = last.end - answer.seq - exchange.body_bytes - sealing
    return before // size if 0 < before < answer.payload and before % size == 0 else 0


def _ticket12(message: int) -> dict[str, Any]:
    size = message - _AROUND_TICKET_12
    return {"tickets": 1, "ticket_bytes": min(size, _TICKET_BYTES_MAX)} if size > 0 else {"tickets": 0}


def _with_chain(secured: Tls, flight: int) -> Tls:
    """Return TLS with the chain that gives the server's flight this length."""
    made = replace(secured, chain_bytes=max(flight, CHAIN_BYTES_MIN))
    # In the second round the chain has its final number of records.
    for _ in range(2):
        missing = flight - flight_bytes(made)
        made = replace(made, chain_bytes=max(int(made.chain_bytes) + missing, CHAIN_BYTES_MIN))
    return made


def _is_held(observed: Observed, flow: int, row: dict[str, Any]) -> bool:
    if row["version"] != _TLS13 and not row["resumed"]:
        # The request waits for the server's Finished.
        return False
    frames = (row["client_finished_frame"], row["first_application_frame"])
    finished, request = (observed.by_frame.get(frame) for frame in frames)
    if finished is None or request is None or finished.frame >= request.frame:
        return False
    between = observed.lookups[flow].between(finished.frame, request.frame)
    return any(packet.to_client and packet.ack >= finished.end for packet in between)


def _words(secured: Tls) -> str:
    kind = "resumed" if secured.resumed else f"full, chain of {secured.chain_bytes} B"
    early = ", early data" * secured.early_data
    of_bytes = f"ticket{'s' * (secured.tickets > 1)} of {secured.ticket_bytes} B"
    tickets = f", {secured.tickets} {of_bytes}" if secured.tickets else ""
    return f"TLS {secured.version}, {kind}{early}{tickets}"
