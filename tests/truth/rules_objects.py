"""What was retrieved, and whether it had to be.

``unconditional-repeat``
    A GET of a target that was answered 200 before with a validator (ETag or Last-Modified), which carries no
    condition (If-None-Match, If-Modified-Since) and got the same body of 1000 bytes or more: each such
    target must be found, as one place. Smaller bodies or targets without a validator may be named.
``duplicate-object``
    The same body, of 1000 bytes or more, from two targets or hosts must be found. One target that was
    retrieved twice may be named, for that is ``unconditional-repeat``'s. No body twice: nowhere.
``delta-eligible-repeat``
    A target retrieved again whose body, of 1000 bytes or more, changed, and of which the first tells at
    least half: they begin and end alike for half of it, or compressed with the first as dictionary it has
    less than half of its size compressed alone (DEFLATE sees 32 KB). The other changed ones may be named.
    Nowhere where no body changed.
``uncompressed-text``
    A 200 with a body of 1400 bytes or more, of a text type, without Content-Encoding, that DEFLATE makes
    smaller by half or more, to a request that accepts gzip: it must be found, one place a flow. Where the
    request does not accept gzip, or less is saved, it may be named. Encoded, tiny or no text: nowhere.
``redirect-chain``
    Two redirections (301, 302, 303, 307, 308) or more, each to the target of the next, must be found; a single
    one may be named.
"""

from __future__ import annotations

import itertools
import zlib
from collections import defaultdict
from typing import TYPE_CHECKING, Final
from urllib.parse import urljoin, urlsplit

from .scene import Place, Rule, Scene, Truth

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .exchanges import Exchange, Message

__all__ = ["RULES"]

_OK: Final = 200
_BODY_MIN_BYTES: Final = 1000
_TEXT_MIN_BYTES: Final = 1400
_TEXT: Final = ("text/", "application/json", "application/javascript", "application/xml", "image/svg+xml")
_REDIRECTS: Final = (301, 302, 303, 307, 308)

_Url = tuple[str, str]


def _answered(scene: Scene) -> Iterator[tuple[Exchange, _Url, Message, Message]]:
    for exchange in scene.exchanges:
        request, response = exchange.request, exchange.response
        if request is None or response is None or not response.is_complete or request.method != "GET":
            continue
        yield exchange, (request.fields.get("host", ""), request.target), request, response


def _by_url(scene: Scene) -> dict[_Url, list[tuple[Exchange, Message, Message]]]:
    found: dict[_Url, list[tuple[Exchange, Message, Message]]] = defaultdict(list)
    for exchange, url, request, response in sorted(_answered(scene), key=lambda row: row[2].first.frame):
        if response.status == _OK:
            found[url].append((exchange, request, response))
    return found


def _unconditional(scene: Scene) -> Truth:
    must, may = [], []
    for retrieved in _by_url(scene).values():
        first = retrieved[0][2]
        again = [(e, r) for e, q, r in retrieved[1:] if r.body == first.body and not _is_conditional(q)]
        if not again:
            continue
        known = "etag" in first.fields or "last-modified" in first.fields
        places = _places([retrieved[0][0], *(e for e, _ in again)])
        (must if known and len(first.body) >= _BODY_MIN_BYTES else may).append(places)
    return Truth(tuple(must), tuple(place for places in may for place in places))


def _places(exchanges: list[Exchange]) -> tuple[Place, ...]:
    return tuple(Place(exchange.client_port, exchange.index) for exchange in exchanges)


def _is_conditional(request: Message) -> bool:
    return "if-none-match" in request.fields or "if-modified-since" in request.fields


def _duplicate(scene: Scene) -> Truth:
    by_body: dict[bytes, list[tuple[_Url, Exchange]]] = defaultdict(list)
    for exchange, url, _, response in _answered(scene):
        if response.status == _OK and response.body:
            by_body[response.body].append((url, exchange))
    must, may = [], []
    for body, copies in by_body.items():
        urls = {url for url, _ in copies}
        places = _places([exchange for _, exchange in copies])
        if len(urls) > 1 and len(body) >= _BODY_MIN_BYTES:
            must.append(places)
        elif len(copies) > 1:
            may.append(places)
    return Truth(tuple(must), tuple(place for places in may for place in places))


def _delta(scene: Scene) -> Truth:
    must, may = [], []
    for retrieved in _by_url(scene).values():
        changed = [
            (e, before.body, after.body)
            for (_, _, before), (e, _, after) in itertools.pairwise(retrieved)
            if before.body != after.body
        ]
        if not changed:
            continue
        places = _places([exchange for exchange, _, _ in changed])
        alike = any(len(new) >= _BODY_MIN_BYTES and _is_mostly(new, old) for _, old, new in changed)
        (must if alike else may).append(places)
    return Truth(tuple(must), tuple(place for places in may for place in places))


def _is_mostly(new: bytes, old: bytes) -> bool:
    alike = _common(new, old) + _common(new[::-1], old[::-1])
    if alike * 2 >= len(new):
        return True
    with_old = zlib.compressobj(9, zlib.DEFLATED, 15, 9, zlib.Z_DEFAULT_STRATEGY, old[-32_768:])
    return len(with_old.compress(new) + with_old.flush()) * 2 < len(zlib.compress(new, 9))


def _common(one: bytes, other: bytes) -> int:
    """How long the two are the same from the start."""
    both = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(both) if a != b), min(len(one), len(other)))


def _uncompressed(scene: Scene) -> Truth:
    must: dict[int, list[Place]] = defaultdict(list)
    may = []
    for exchange, _, request, response in _answered(scene):
        kind = response.fields.get("content-type", "").lower()
        is_plain = "content-encoding" not in response.fields and kind.startswith(_TEXT)
        if response.status != _OK or not is_plain or len(response.body) < _TEXT_MIN_BYTES // 2:
            continue
        place = Place(exchange.client_port, exchange.index)
        saves = len(zlib.compress(response.body)) * 2 <= len(response.body)
        accepted = "gzip" in request.fields.get("accept-encoding", "")
        if saves and accepted and len(response.body) >= _TEXT_MIN_BYTES:
            must[exchange.client_port].append(place)
        else:
            may.append(place)
    return Truth(tuple(tuple(places) for places in must.values()), tuple(may))


def _redirects(scene: Scene) -> Truth:
    places: list[list[Place]] = []
    waiting: dict[str, list[Place]] = {}
    for exchange, (host, target), _, response in sorted(_answered(scene), key=lambda row: row[2].first.frame):
        url = urljoin(f"http://{host}", target)
        chain = waiting.pop(url, [])
        if response.status in _REDIRECTS and "location" in response.fields:
            chain = [*chain, Place(exchange.client_port, exchange.index)]
            waiting[_plain(urljoin(url, response.fields["location"]))] = chain
        elif chain:
            places.append(chain)
    places += waiting.values()
    must = tuple(tuple(chain) for chain in places if len(chain) > 1)
    return Truth(must, tuple(place for chain in places if len(chain) == 1 for place in chain))


def _plain(url: str) -> str:
    return urlsplit(url)._replace(fragment="").geturl()


RULES: Final = {
    "unconditional-repeat": Rule(
        _unconditional, costs=False, opinion="bodies under 1000 bytes may be passed over"
    ),
    "duplicate-object": Rule(_duplicate, costs=False, opinion="one target twice is not its business"),
    "delta-eligible-repeat": Rule(_delta, costs=False, opinion="half must be saved"),
    "uncompressed-text": Rule(_uncompressed, costs=False, opinion="only for who accepts gzip; half must be saved"),
    "redirect-chain": Rule(_redirects, costs=False, opinion="two make a chain"),
}
