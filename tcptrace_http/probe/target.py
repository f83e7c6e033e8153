"""What is probed: one host, one port, one path."""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import urljoin, urlsplit

from tcptrace_http.errors import ProbeError

__all__ = ["Target", "target_of"]

_HTTP_PORT: Final = 80


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """A URL of scheme ``http``, and the one address that is probed."""

    url: str
    host: str
    port: int
    #: Path and query, as a request has them (origin form, RFC 9112, section 3.2.1).
    path: str
    #: ``socket.AF_INET`` or ``AF_INET6``, and the address in its text form.
    family: int
    address: str

    @property
    def authority(self) -> str:
        """The Host field (RFC 9110, section 7.2)."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return name if self.port == _HTTP_PORT else f"{name}:{self.port}"

    def at(self, path: str) -> Target:
        """Another path of the same server."""
        return replace(self, path=path, url=f"http://{self.authority}{path}")

    def redirected(self, location: str) -> Target | None:
        """Where a Location field leads; None where that is another server, which is never asked."""
        parts = urlsplit(urljoin(self.url, location))
        if parts.scheme != "http" or parts.hostname != self.host or (parts.port or _HTTP_PORT) != self.port:
            return None
        return self.at(_path(parts.path, parts.query))


def target_of(url: str) -> Target:
    """The target of a URL; ``http://`` may be left out.

    :raises ProbeError: it is no URL of scheme http, or its host has no address.
    """
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        port = parts.port or _HTTP_PORT
    except ValueError as error:
        raise ProbeError(url, f"no URL: {error}") from None
    if parts.scheme == "https":
        raise ProbeError(url, "TLS hides HTTP; probe the plain HTTP port that the TLS terminator asks")
    if parts.scheme != "http" or not parts.hostname:
        raise ProbeError(url, "write http://HOST[:PORT]/PATH")
    family, address = _resolved(url, parts.hostname, port)
    bare = Target(
        url=url,
        host=parts.hostname,
        port=port,
        path="/",
        family=family,
        address=address,
    )
    return bare.at(_path(parts.path, parts.query))


def _resolved(url: str, host: str, port: int) -> tuple[int, str]:
    """The first address: all connections go to one, or they could not be compared."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise ProbeError(url, f"no address for {host}: {getattr(error, 'strerror', None) or error}") from None
    family, _, _, _, place = found[0]
    return int(family), str(ipaddress.ip_address(str(place[0]).partition("%")[0]))


def _path(path: str, query: str) -> str:
    return (path or "/") + (f"?{query}" if query else "")
