"""TLS settings of a server's connections: the choices that determine sizes and round trips.

Records and the cleartext part of handshakes follow RFC 8446 and RFC 5246. Encrypted parts are opaque bytes of
the right length. The cipher suites use AES-256-GCM with SHA-384. Requests and tickets are separate writes
after Finished: a stack with Nagle's algorithm delays them (openssl/openssl#4237).

>>> from dataclasses import replace
>>> from reference_sim.tls import PRESETS
>>> secured = replace(PRESETS["tls-1.3"].tls, chain_bytes=16_000)
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from reference_sim.document import Duration, Size
from reference_sim.names import named
from reference_sim.quantities import bytes_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = [
    "CHAIN_BYTES_MIN",
    "PORT",
    "PRESETS",
    "RECORD_DATA_MAX",
    "Tls",
    "TlsPreset",
    "TlsVersion",
    "flight_bytes",
    "stream_bytes",
    "tls",
]

#: Port of https (RFC 9110, section 4.2.2).
PORT: Final = 443
#: List of one certificate without a signature: the engine's minimum.
CHAIN_BYTES_MIN: Final = 129
#: Record header, and the AES-GCM overhead (RFC 8446, section 5.2; RFC 5288, section 3).
_RECORD_BYTES: Final = {"1.2": 5 + 8 + 16, "1.3": 5 + 1 + 16}
#: Largest plaintext of a record (RFC 8446, section 5.1).
RECORD_DATA_MAX: Final = 16_384


class TlsVersion(StrEnum):
    """TLS version that the server chooses; its clients support both."""

    TLS12 = "1.2"
    TLS13 = "1.3"


@dataclass(frozen=True, kw_only=True, slots=True)
class Tls:
    """TLS choices of a server and its clients."""

    version: TlsVersion = TlsVersion.TLS13
    #: Every connection resumes an earlier session: the server sends no certificate.
    resumed: bool = False
    #: Requests follow the ClientHello (0-RTT: RFC 8446, section 2.3); needs TLS 1.3 and resumption.
    early_data: bool = False
    #: The ClientHello is padded to at least this many bytes on the wire, as OpenSSL pads it (RFC 7685).
    hello_bytes: Size = 517
    #: Certificate list of a full handshake. The default is assumed: a server's and an issuer's certificate.
    chain_bytes: Size = 3000
    #: OpenSSL sends two tickets after a full TLS 1.3 handshake, and one after a resumed handshake
    #: (SSL_CTX_set_num_tickets(3)). TLS 1.2 has one, in the server's last flight.
    tickets: int = 2
    ticket_bytes: Size = 192
    #: TLS 1.3 tickets travel in the first write of a response; otherwise each ticket is a separate write.
    tickets_with_response: bool = False
    #: Largest plaintext per record.
    record_bytes: Size = RECORD_DATA_MAX
    #: Time from the end of the ClientHello to the server's flight.
    processing: Duration = 0


@dataclass(frozen=True, slots=True)
class TlsPreset:
    """Named choices."""

    about: str
    source: str
    tls: Tls


def _presets() -> dict[str, TlsPreset]:
    rows = (
        ("tls-1.2", "full: two round trips", "RFC 5246, section 7.3", Tls(version=TlsVersion.TLS12)),
        (
            "tls-1.2-resumed",
            "resumed: one round trip",
            "RFC 5077, section 3.1",
            Tls(version=TlsVersion.TLS12, resumed=True),
        ),
        ("tls-1.3", "full: one round trip", "RFC 8446, section 2", Tls()),
        ("tls-1.3-resumed", "resumed: no certificate", "RFC 8446, section 2.2", Tls(resumed=True, tickets=1)),
        (
            "tls-1.3-early-data",
            "resumed, requests behind the ClientHello: no round trip",
            "RFC 8446, section 2.3",
            Tls(resumed=True, early_data=True, tickets=1),
        ),
    )
    return {name: TlsPreset(f"TLS {row.version}, {about}", source, row) for name, about, source, row in rows}


#: Every preset by name.
PRESETS: Final[Mapping[str, TlsPreset]] = _presets()


def tls(name: str) -> Tls:
    """Return the choices of this name.

    :raises ScenarioError: no preset has this name; the message names the nearest ones.
    """
    return named(PRESETS, name, what="TLS").tls


def stream_bytes(secured: Mapping[str, Any] | None, data: int) -> int:
    """Return the stream bytes of one write of ``data`` bytes; ``secured`` is ``tls`` in a server's document."""
    if secured is None:
        return data
    records = -(-data // secured["record_bytes"])
    return int(data + records * _RECORD_BYTES[secured["version"]])


def flight_bytes(secured: Tls) -> int:
    """Return the bytes on the wire of the server's first flight."""
    parts = _flight12 if secured.version is TlsVersion.TLS12 else _flight13
    return sum(parts(secured))


def _flight13(secured: Tls) -> Iterator[int]:
    """List the records from ServerHello to Finished of TLS 1.3."""
    yield from (127 + 6 * secured.resumed, 6, 43 + 4 * secured.early_data)
    if not secured.resumed:
        message = 4 + 1 + 3 + bytes_of(secured.chain_bytes) + 2
        yield from (stream_bytes({"version": "1.3", "record_bytes": RECORD_DATA_MAX}, message), 286)
    yield 74


def _flight12(secured: Tls) -> Iterator[int]:
    """List the records from ServerHello to ServerHelloDone, or up to Finished with a ticket (TLS 1.2)."""
    ticket = secured.tickets > 0
    if secured.resumed:
        yield from (105 + 4 * ticket, (15 + bytes_of(secured.ticket_bytes)) * ticket, 6, 45)
        return
    message = 4 + 3 + bytes_of(secured.chain_bytes)
    # A new session with a ticket has no session ID (RFC 5077, section 3.4).
    yield from (105 - (32 - 4) * ticket, message + 5 * -(-message // RECORD_DATA_MAX), 305, 9)
