"""TLS of the probe's connections, by Python's ``ssl`` over memory; the connection keeps its socket.

Bytes thus get their network arrival times, and ACKs are delayed during and after the handshake. The secrets
go to the probe's own key log. Only its owner may read that file, and the caller removes it.
"""

from __future__ import annotations

import os
import ssl
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from tcptrace_http.output_file import PRIVATE
from tcptrace_http.probe.exchange import TLS_BEGINNINGS, Came

if TYPE_CHECKING:
    from pathlib import Path

    from tcptrace_http.probe.target import Target

__all__ = ["KEY_LOG_VARIABLE", "TlsClient", "TlsStream", "hand_on_keys", "words_of"]

#: Environment variable that names the key log of TLS libraries.
KEY_LOG_VARIABLE: Final = "SSLKEYLOGFILE"
#: Maximum plaintext of a record (RFC 8446, section 5.1), and its header.
_RECORD_BYTES: Final = 1 << 14
_HEADER_BYTES: Final = 5
_BEGINNING_BYTES: Final = 2
#: OpenSSL's text for the alert without a common ALPN protocol (RFC 7301, section 3.2).
_NO_PROTOCOL: Final = "no application protocol"


class TlsClient:
    """TLS with one server: the trusted authorities, and the session to resume."""

    def __init__(self, target: Target, keys: Path, *, insecure: bool, protocol: str = "http/1.1") -> None:
        """Make a client; ``protocol`` is its ALPN offer."""
        self._target = target
        self._protocol = protocol
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        if insecure:
            self._context.check_hostname = False
            self._context.verify_mode = ssl.CERT_NONE
        else:
            self._context.load_default_certs()
        self._context.set_alpn_protocols([protocol])
        keys.touch(mode=PRIVATE)
        self._context.keylog_filename = str(keys)
        self._session: ssl.SSLSession | None = None
        #: Number of connections that offered a session, and that resumed one.
        self.offered = 0
        self.resumed = 0
        #: TLS version of the latest connection.
        self.version = ""

    def stream(self, *, resumes: bool) -> TlsStream:
        """Return TLS for a new connection, which offers the newest session if ``resumes``."""
        session = self._session if resumes else None
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        # A DNS name may end in a dot, a certificate name does not (RFC 6066, section 3).
        name = self._target.host.rstrip(".")
        tls = self._context.wrap_bio(incoming, outgoing, server_hostname=name, session=session)
        return TlsStream(self, tls, incoming, outgoing, offers=session is not None)

    def keep(self, session: ssl.SSLSession | None) -> None:
        """Keep a session, the newest only: a server may accept each session once."""
        self._session = session or self._session

    def failure(self, error: OSError, begin: bytes) -> str:
        """Return the reason of a failed handshake, and the remedy; ``begin`` has the server's first bytes."""
        place = self._target.authority
        if begin and not begin.startswith(TLS_BEGINNINGS):
            return f"{place} speaks no TLS; probe it by http://, or another port"
        match error:
            case ssl.SSLCertVerificationError():
                return (
                    f"the certificate of {place} is not trusted ({error.verify_message.rstrip('.')}); correct it,"
                    " trust its issuer with SSL_CERT_FILE=FILE, or do not check it with --insecure"
                )
            case TimeoutError():
                return f"{place} does not answer in the TLS handshake; check that it speaks TLS on this port"
            case ssl.SSLError() if _NO_PROTOCOL in str(error):
                return f"{place} takes no {self._protocol} (ALPN); probe another version of HTTP"
            case ssl.SSLError():
                return (
                    f"the TLS handshake with {place} failed ({words_of(error)}); compare the server's versions,"
                    " ciphers and names with what curl -v says"
                )
            case _:
                return f"{place} closed the connection in the TLS handshake; look for the reason in its error log"


class TlsStream:
    """TLS of one connection: received bytes, and bytes to send."""

    def __init__(
        self,
        client: TlsClient,
        tls: ssl.SSLObject,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        *,
        offers: bool,
    ) -> None:
        self._client = client
        self._tls = tls
        self._incoming = incoming
        self._outgoing = outgoing
        self._offers = offers
        self._begin = b""
        #: Bytes of an incomplete record.
        self._open_record = b""
        self.is_established = False

    def advance(self, raw: bytes) -> bytes:
        """Take the server's handshake bytes, and return the bytes to send.

        :raises OSError: the handshake fails.
        """
        self._begin = (self._begin + raw)[:_BEGINNING_BYTES]
        self._incoming.write(raw)
        with suppress(ssl.SSLWantReadError):
            self._tls.do_handshake()
            self.is_established = True
            self._client.offered += self._offers
            self._client.resumed += bool(self._tls.session_reused)
            self._client.version = self._tls.version() or ""
        return self.pending()

    @property
    def protocol(self) -> str | None:
        """Return the protocol that ALPN negotiated."""
        return self._tls.selected_alpn_protocol()

    def failure(self, error: OSError) -> str:
        """Return the reason of the failed handshake, and the remedy."""
        return self._client.failure(error, self._begin)

    def sealed(self, data: bytes) -> bytes:
        """Seal the data of one write in records."""
        self._tls.write(data)
        return self.pending()

    def opened(self, raw: bytes) -> Came:
        """Open the records in ``raw``; empty ``raw`` is the end of the stream.

        :raises OSError: the bytes are no records of this connection, or an alert.
        """
        self._incoming.write(raw) if raw else self._incoming.write_eof()
        data = bytearray()
        has_ended = False
        with suppress(ssl.SSLWantReadError):
            while not has_ended:
                try:
                    piece = self._tls.read(_RECORD_BYTES)
                except ssl.SSLEOFError:
                    # Close without an alert: as in clear text, the HTTP framing reveals missing data.
                    piece = b""
                data += piece
                has_ended = not piece
        self._open_record = _open_record(self._open_record + raw)
        holds_response = bool(data or self._open_record)
        return Came(len(raw) if holds_response else 0, bytes(data), has_ended)

    def closing(self) -> bytes:
        """Return the closing alert (RFC 8446, section 6.1): without it OpenSSL resumes no session."""
        if self.is_established:
            with suppress(ssl.SSLError):
                self._tls.unwrap()
        return self.pending()

    def keep_session(self) -> None:
        """Let the next connections resume the session: its ticket arrives by the first response."""
        self._client.keep(self._tls.session)

    def pending(self) -> bytes:
        """Return the bytes to send: handshake messages, answers to key updates, alerts."""
        return self._outgoing.read()


def _open_record(raw: bytes) -> bytes:
    """Return the rest behind complete records."""
    at = 0
    while len(raw) >= at + _HEADER_BYTES:
        end = at + _HEADER_BYTES + int.from_bytes(raw[at + 3 : at + _HEADER_BYTES], "big")
        if end > len(raw):
            break
        at = end
    return raw[at:]


def words_of(error: OSError) -> str:
    """Return the reason of an error without the library's source positions."""
    reason = error.reason if isinstance(error, ssl.SSLError) else ""
    return reason.replace("_", " ").lower() if reason else error.strerror or str(error)


def hand_on_keys(keys: Path) -> None:
    """Append the secrets to the file named in the user's environment, as curl does.

    :raises OSError: the file cannot be written.
    """
    named = os.environ.get(KEY_LOG_VARIABLE)
    if named:
        number = os.open(named, os.O_WRONLY | os.O_APPEND | os.O_CREAT, PRIVATE)
        with os.fdopen(number, "ab") as file:
            file.write(keys.read_bytes())
