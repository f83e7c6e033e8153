"""Real TLS servers on loopback, with certificates made by openssl: nginx, and Python's http.server."""

from __future__ import annotations

import ssl
import subprocess
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from .servers import document, free_port, nginx

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

HOST = "127.0.0.1"
#: Smaller than a loopback segment: Nagle's algorithm holds all of it after a separately written head.
BODY_BYTES = 20_000
_NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


@dataclass(frozen=True)
class Certificate:
    public: Path
    key: Path
    #: Certificate of the signing authority.
    authority: Path

    def directives(self) -> str:
        return f"ssl_certificate {self.public}; ssl_certificate_key {self.key};"

    def context(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.public, self.key)
        return context


def host_names(count: int) -> tuple[str, ...]:
    """Return this many names, which enlarge a certificate."""
    return tuple(f"DNS:host{number:04}.example.com" for number in range(count))


def certified(folder: Path, *, names: tuple[str, ...] = (f"IP:{HOST}",), days: int = 1) -> Certificate:
    """Return a certificate for these names, and its authority; with negative days it has expired."""
    made = Certificate(*(folder / f"{name}.pem" for name in ("public", "key", "authority")))
    request, extensions, authority_key = (folder / name for name in ("request.pem", "extensions", "ca.key"))
    extensions.write_text(f"subjectAltName={','.join(names)}\n")
    _openssl("req", "-x509", *_NEW_KEY, "-subj", "/CN=CA", "-keyout", authority_key, "-out", made.authority)
    _openssl("req", "-new", *_NEW_KEY, "-subj", "/CN=server", "-keyout", made.key, "-out", request)
    signs = ("-CA", made.authority, "-CAkey", authority_key, "-CAcreateserial")
    _openssl(
        *("x509", "-req", "-in", request, *signs),
        *("-days", str(days), "-extfile", extensions, "-out", made.public),
    )
    return made


def _openssl(*words: str | Path) -> None:
    subprocess.run(["openssl", *words], check=True, capture_output=True)


def port_of(url: str) -> int:
    """Return the port of a base URL."""
    return int(url.rpartition(":")[2])


@contextmanager
def nginx_tls(folder: Path, certificate: Certificate, version: str = "1.3", directives: str = "") -> Iterator[str]:
    """Start nginx with one TLS version; yield its base URL."""
    port = free_port()
    speaks = f"listen {HOST}:{port} ssl; ssl_protocols TLSv{version}; {certificate.directives()}"
    with nginx(folder, server=f"{speaks} {directives}"):
        yield f"https://{HOST}:{port}"


class Handler(SimpleHTTPRequestHandler):
    """Python's http.server with persistent connections and without a log."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        """Suppress the log."""


class PromptHandler(Handler):
    """The same without Nagle's algorithm: no response waits for the ACK of session tickets."""

    disable_nagle_algorithm = True


@contextmanager
def python_tls(
    folder: Path,
    certificate: Certificate,
    version: str | None = "1.3",
    *,
    body_bytes: int = BODY_BYTES,
    nagle: bool = True,
    handler: type[BaseHTTPRequestHandler] | None = None,
    on_hello: Callable[..., None] | None = None,
) -> Iterator[str]:
    """Start Python's http.server on a TLS socket, with one or all versions; handshakes call ``on_hello``."""
    context = certificate.context()
    if version is not None:
        context.minimum_version = context.maximum_version = ssl.TLSVersion[f"TLSv{version.replace('.', '_')}"]
    context.sni_callback = on_hello  # type: ignore[assignment] -- typeshed has no None, which ssl takes
    of_document = partial(Handler if nagle else PromptHandler, directory=str(document(folder, body_bytes)))
    server = ThreadingHTTPServer((HOST, 0), handler or of_document)
    server.daemon_threads = True
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"https://{HOST}:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
