"""TLS of a server's connections: the choices that decide sizes and round trips.

Records and the clear part of handshakes are those of RFC 8446 and RFC 5246; encrypted parts are opaque bytes of
the right length. The suites are those of AES-256-GCM with SHA-384. Requests and tickets are writes of their own
behind Finished: a stack with Nagle's algorithm on holds them (openssl/openssl#4237).

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

#: Of https (RFC 9110, section 4.2.2).
PORT: Final = 443
#: A list of one certificate without a signature: the engine makes none that is shorter.
CHAIN_BYTES_MIN: Final = 129
#: Header of a record, and what AES-GCM adds to its data (RFC 8446, section 5.2; RFC 5288, section 3).
_RECORD_BYTES: Final = {"1.2": 5 + 8 + 16, "1.3": 5 + 1 + 16}
#: Most data of a record (RFC 8446, section 5.1).
RECORD_DATA_MAX: Final = 16_384


class TlsVersion(StrEnum):
    """Version that the server chooses; its clients know both."""

    TLS12 = "1.2"
    TLS13 = "1.3"


@dataclass(frozen=True, kw_only=True, slots=True)
class Tls:
    """The choices of a server and its clients."""

    version: TlsVersion = TlsVersion.TLS13
    #: Every connection resumes an earlier session: no certificate is sent.
    resumed: bool = False
    #: Requests go out behind the ClientHello (0-RTT: RFC 8446, section 2.3); needs 1.3, resumed.
    early_data: bool = False
    #: The ClientHello is padded to at least so many bytes on the wire, as OpenSSL pads it (RFC 7685).
    hello_bytes: Size = 517
    #: The certificate list of a full handshake. The default is assumed: a server's and an issuer's certificate.
    chain_bytes: Size = 3000
    #: OpenSSL sends two after a full handshake of TLS 1.3, and one after a resumed one
    #: (SSL_CTX_set_num_tickets(3)); TLS 1.2 has one, in the server's last flight.
    tickets: int = 2
    ticket_bytes: Size = 192
    #: Tickets of TLS 1.3 go out in the first write of a response; otherwise each is a write of its own.
    tickets_with_response: bool = False
    #: The most data of a record.
    record_bytes: Size = RECORD_DATA_MAX
    #: From the end of the ClientHello to the server's flight.
    processing: Duration = 0


@dataclass(frozen=True, slots=True)
class TlsPreset:
    """Choices with a name."""

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


#: Every choice that has a name.
PRESETS: Final[Mapping[str, TlsPreset]] = _presets()


def tls(name: str) -> Tls:
    """The choices of this name.

    :raises ScenarioError: no preset has this name; the message names the nearest ones.
    """
    return named(PRESETS, name, what="TLS").tls


def stream_bytes(secured: Mapping[str, Any] | None, data: int) -> int:
    """Stream bytes of one write of ``data`` bytes; ``secured`` is ``tls`` in a server's document."""
    if secured is None:
        return data
    records = -(-data // secured["record_bytes"])
    return int(data + records * _RECORD_BYTES[secured["version"]])


def flight_bytes(secured: Tls) -> int:
    """Bytes on the wire of the server's first flight."""
    parts = _flight12 if secured.version is TlsVersion.TLS12 else _flight13
    return sum(parts(secured))


def _flight13(secured: Tls) -> Iterator[int]:
    """Records of ServerHello, ChangeCipherSpec, EncryptedExtensions, Certificate, CertificateVerify, Finished."""
    yield from (127 + 6 * secured.resumed, 6, 43 + 4 * secured.early_data)
    if not secured.resumed:
        message = 4 + 1 + 3 + bytes_of(secured.chain_bytes) + 2
        yield from (stream_bytes({"version": "1.3", "record_bytes": RECORD_DATA_MAX}, message), 286)
    yield 74


def _flight12(secured: Tls) -> Iterator[int]:
    """Records of ServerHello, Certificate, ServerKeyExchange, ServerHelloDone; or of a ticket up to Finished."""
    ticket = secured.tickets > 0
    if secured.resumed:
        yield from (105 + 4 * ticket, (15 + bytes_of(secured.ticket_bytes)) * ticket, 6, 45)
        return
    message = 4 + 3 + bytes_of(secured.chain_bytes)
    # A new session with a ticket has no session ID (RFC 5077, section 3.4).
    yield from (105 - (32 - 4) * ticket, message + 5 * -(-message // RECORD_DATA_MAX), 305, 9)
