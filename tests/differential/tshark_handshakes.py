"""Output of tshark on the TLS handshakes of a capture, by stream."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Handshake", "cipher_names", "handshakes"]

_CLIENT_HELLO: Final = 1
_SERVER_HELLO: Final = 2
_TLS13: Final = 0x0304
_MAJOR: Final = 3
#: First byte of a version; also used by drafts of TLS 1.3 and by vendors' versions.
_VERSIONS: Final = (_MAJOR, 0x7E, 0x7F, 0xFB)
_FIELDS: Final = (
    "tcp.stream",
    "tls.handshake.type",
    "tls.handshake.extensions_server_name",
    "tls.handshake.version",
    "tls.handshake.extensions.supported_version",
    "tls.handshake.ciphersuite",
    "tls.resumed",
    "tls.handshake.extensions_alpn_str",
)
_HELLOS: Final = f"tls.handshake.type == {_CLIENT_HELLO} || tls.handshake.type == {_SERVER_HELLO} || tls.resumed"
#: Separators of a packet's fields, and of a field's values.
_FIELD_END, _VALUE_END = "\t", ","


@dataclass(slots=True)
class Handshake:
    """Fields of both hellos of a stream, as far as captured."""

    server_name: str | None = None
    alpn_offered: str | None = None
    version: int | None = None
    cipher: str | None = None
    is_resumed: bool = False
    has_client_hello: bool = False


@cache
def cipher_names() -> dict[int, str]:
    """Return IANA's suite names by number, as far as OpenSSL has them: tshark's own names differ."""
    command = ["openssl", "ciphers", "-stdname", "-V", "ALL:COMPLEMENTOFALL:@SECLEVEL=0"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = (line.split() for line in said.splitlines())
    return {int(number.replace(",0x", ""), 16): name for number, _, name, *_ in rows}


def handshakes(path: Path) -> dict[int, Handshake]:
    """Return the handshakes by stream number."""
    fields = [word for field in _FIELDS for word in ("-e", field)]
    command = ["tshark", "-n", "-r", path, "-Y", _HELLOS, "-T", "fields", *fields]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    found: dict[int, Handshake] = {}
    for line in said.splitlines():
        row = dict(zip(_FIELDS, line.split(_FIELD_END), strict=True))
        stream = row["tcp.stream"].partition(_VALUE_END)[0]
        if stream:
            _take(found.setdefault(int(stream), Handshake()), row)
    return found


def _take(handshake: Handshake, row: dict[str, str]) -> None:
    """Add a packet's handshake fields."""
    types = {int(each) for each in row["tls.handshake.type"].split(_VALUE_END) if each}
    # The extension overrides the field (RFC 8446, section 4.2.1).
    said = (row["tls.handshake.extensions.supported_version"], row["tls.handshake.version"])
    versions = [int(each, 16) for field in said for each in field.split(_VALUE_END) if each]
    versions = [version for version in versions if version >> 8 in _VERSIONS]
    suites = [int(each, 0) for each in row["tls.handshake.ciphersuite"].split(_VALUE_END) if each]
    handshake.is_resumed |= row["tls.resumed"] != ""
    if _CLIENT_HELLO in types and not handshake.has_client_hello:
        handshake.has_client_hello = True
        handshake.server_name = row["tls.handshake.extensions_server_name"] or None
        handshake.alpn_offered = row["tls.handshake.extensions_alpn_str"] or None
    if _SERVER_HELLO in types and _CLIENT_HELLO not in types and handshake.version is None:
        handshake.version = _without_draft(versions[0])
        handshake.cipher = cipher_names().get(suites[0])


def _without_draft(version: int) -> int:
    """Return the version; drafts of TLS 1.3 had other numbers."""
    return version if version >> 8 == _MAJOR else _TLS13
