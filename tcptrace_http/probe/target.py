"""Target of a probe: one host, one port, one path."""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import quote, urljoin, urlsplit

from tcptrace_http.errors import ProbeError

__all__ = ["Target", "bound_socket", "target_of"]

#: Default port of each scheme (RFC 9110, sections 4.2.1 and 4.2.2).
_PORTS: Final = {"http": 80, "https": 443}
#: Characters that a path and query may contain unescaped (RFC 3986, sections 3.3 and 3.4), and "%" of
#: existing escapes.
_AS_IT_IS: Final = "/?:@!$&'()*+,;=-._~%[]"


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """URL of scheme ``http`` or ``https``, with the one probed address."""

    url: str
    scheme: str
    host: str
    port: int
    #: Path and query in origin form (RFC 9112, section 3.2.1).
    path: str
    #: ``socket.AF_INET`` or ``AF_INET6``, and the address in its text form.
    family: int
    address: str

    @property
    def authority(self) -> str:
        """Return the Host field (RFC 9110, section 7.2)."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return name if self.port == _PORTS[self.scheme] else f"{name}:{self.port}"

    def at(self, path: str) -> Target:
        """Return another path of the same server, with its query."""
        written = _written(path)
        return replace(self, path=written, url=f"{self.scheme}://{self.authority}{written}")

    def redirected(self, location: str) -> Target | None:
        """Return the target of a Location field; None for another server, which is never asked."""
        try:
            parts = urlsplit(urljoin(self.url, location))
            port = parts.port or _PORTS[self.scheme]
            is_same = (parts.scheme, parts.hostname, port) == (self.scheme, self.host, self.port)
        except ValueError:
            return None
        return self.at(_path(parts.path, parts.query)) if is_same else None


def target_of(url: str) -> Target:
    """Return the target of a URL; ``http://`` may be omitted.

    :raises ProbeError: the scheme is not http or https, or the host has no address.
    """
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        port = parts.port or _PORTS.get(parts.scheme, 0)
        host = _ascii(parts.hostname or "")
    except ValueError as error:
        raise ProbeError(url, f"no URL: {error}") from None
    if parts.scheme not in _PORTS or not host:
        raise ProbeError(url, "write http://HOST[:PORT]/PATH, or https://")
    if parts.username is not None:
        raise ProbeError(url, "a name and password in a URL are not sent; probe a document that needs none")
    family, address = _resolved(url, host, port)
    bare = Target(
        url=url,
        scheme=parts.scheme,
        host=host,
        port=port,
        path="/",
        family=family,
        address=address,
    )
    return bare.at(_path(parts.path, parts.query))


def bound_socket(target: Target) -> socket.socket:
    """Return an unconnected socket for the target, bound to a port."""
    made = socket.socket(target.family, socket.SOCK_STREAM)
    made.bind(("", 0))
    return made


def _resolved(url: str, host: str, port: int) -> tuple[int, str]:
    """Return the first address: only connections to one address are comparable."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise ProbeError(url, f"no address for {host}: {getattr(error, 'strerror', None) or error}") from None
    family, _, _, _, place = found[0]
    return int(family), str(ipaddress.ip_address(str(place[0]).partition("%")[0]))


def _ascii(host: str) -> str:
    """Return a host name in DNS and Host field form (RFC 5890).

    :raises ValueError: the name has no such form.
    """
    return host if host.isascii() else host.encode("idna").decode("ascii")


def _path(path: str, query: str) -> str:
    return path + (f"?{query}" if query else "")


def _written(path: str) -> str:
    """Return a path for a request line: ASCII, without line ends."""
    return quote(f"/{path.removeprefix('/')}", safe=_AS_IT_IS, errors="surrogateescape")
