"""Rules for retrieved objects and redundant retrievals.

Bytes without cost are no pathology. If the redundant bytes are fewer than an initial window (ten segments,
RFC 6928) and arrived within 2 ms, a finding is only permitted. This applies to the three rules on repeats and
the rule on text. The detectors' cases do the same (an earlier form required all bodies from 1000 bytes on).
With only the server's end, the time is that of the server's writes.

``unconditional-repeat``
    Required, one place per target: a GET without a condition (If-None-Match, If-Modified-Since). The target
    was previously answered 200 with a validator (ETag or Last-Modified), and the body of at least 1000 bytes
    is the same. Permitted: smaller bodies, targets without a validator, and requests sent before the first
    response arrived.
``duplicate-object``
    Required: the same body of at least 1000 bytes from two targets or hosts. Permitted: one target retrieved
    twice, which belongs to ``unconditional-repeat``. Wrong: no repeated body.
``delta-eligible-repeat``
    Required: a repeated target with a changed body of at least 1000 bytes. The first body predicts at least
    half of the second. One test is a common beginning and end of half the length. The other is compression
    with the first body as dictionary to less than half of the compressed size (DEFLATE sees 32 KB).
    Permitted: other changed bodies, and types other than text. The analyser does not keep their bodies, as
    the detector says (an earlier form required all types). Wrong: no changed body.
``uncompressed-text``
    Required, one place per flow: a 200 with at least 1400 bytes of a text type, without Content-Encoding.
    DEFLATE halves the text, and the request accepts gzip. Permitted: a request that does not accept gzip, or
    a smaller saving. Wrong: encoded, tiny or non-text bodies.
``redirect-chain``
    Required: at least two redirections (301, 302, 303, 307, 308), each to the target of the next. Permitted:
    a single redirection, or two if the client did not follow the second.
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
#: An initial window of ten segments: fewer bytes cost no RTT.
_WINDOW_BYTES: Final = 14_600
_TIME_MIN_MS: Final = 2.0
_TEXT: Final = ("text/", "application/json", "application/javascript", "application/xml", "image/svg+xml")
_CHAIN_MIN: Final = 2
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


def _costs(responses: list[Message], share: float = 1.0) -> bool:
    """Return whether this share of the responses' bytes cost an RTT or a visible time."""
    took_ms = sum((response.last.time_ns - response.first.time_ns) / 1e6 for response in responses)
    saved = sum(len(response.body) for response in responses) * share
    return saved >= _WINDOW_BYTES or took_ms * share >= _TIME_MIN_MS


def _unconditional(scene: Scene) -> Truth:
    must, may = [], []
    for retrieved in _by_url(scene).values():
        first = retrieved[0][2]
        again = [(e, r) for e, q, r in retrieved[1:] if r.body == first.body and not _is_conditional(q)]
        # Requested before the first response arrived: there was no validator yet.
        later = [r for e, r in again if e.request and e.request.first.time_ns > first.last.time_ns]
        if not again:
            continue
        known = "etag" in first.fields or "last-modified" in first.fields
        places = _places([retrieved[0][0], *(e for e, _ in again)])
        (must if known and len(first.body) >= _BODY_MIN_BYTES and _costs(later) else may).append(places)
    return Truth(tuple(must), tuple(place for places in may for place in places))


def _places(exchanges: list[Exchange]) -> tuple[Place, ...]:
    return tuple(Place(exchange.client_port, exchange.index) for exchange in exchanges)


def _is_conditional(request: Message) -> bool:
    return "if-none-match" in request.fields or "if-modified-since" in request.fields


def _duplicate(scene: Scene) -> Truth:
    by_body: dict[bytes, list[tuple[_Url, Exchange, Message]]] = defaultdict(list)
    for exchange, url, _, response in sorted(_answered(scene), key=lambda row: row[2].first.frame):
        if response.status == _OK and response.body:
            by_body[response.body].append((url, exchange, response))
    must, may = [], []
    for body, copies in by_body.items():
        urls = {url for url, _, _ in copies}
        places = _places([exchange for _, exchange, _ in copies])
        # Requested under another name after the first response.
        first_url, _, first = copies[0]
        twins = [
            r for url, e, r in copies[1:] if url != first_url and e.request.first.time_ns > first.last.time_ns
        ]
        if len(urls) > 1 and len(body) >= _BODY_MIN_BYTES and _costs(twins):
            must.append(places)
        elif len(copies) > 1:
            may.append(places)
    return Truth(tuple(must), tuple(place for places in may for place in places))


def _delta(scene: Scene) -> Truth:
    must, may = [], []
    for retrieved in _by_url(scene).values():
        changed = [
            (e, before, after)
            for (_, _, before), (e, _, after) in itertools.pairwise(retrieved)
            if before.body != after.body
        ]
        if not changed:
            continue
        places = _places([exchange for exchange, _, _ in changed])
        texts = [(old, new) for _, old, new in changed if _is_text(new)]
        alike = [new for old, new in texts if _is_mostly(new.body, old.body)]
        is_long = any(len(new.body) >= _BODY_MIN_BYTES for new in alike)
        (must if is_long and _costs(alike, 0.5) else may).append(places)
    return Truth(tuple(must), tuple(place for places in may for place in places))


def _is_text(response: Message) -> bool:
    return response.fields.get("content-type", "").lower().startswith(_TEXT)


def _is_mostly(new: bytes, old: bytes) -> bool:
    alike = _common(new, old) + _common(new[::-1], old[::-1])
    if alike * 2 >= len(new):
        return True
    with_old = zlib.compressobj(9, zlib.DEFLATED, 15, 9, zlib.Z_DEFAULT_STRATEGY, old[-32_768:])
    return len(with_old.compress(new) + with_old.flush()) * 2 < len(zlib.compress(new, 9))


def _common(one: bytes, other: bytes) -> int:
    """Return the length of the common prefix."""
    both = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(both) if a != b), min(len(one), len(other)))


def _uncompressed(scene: Scene) -> Truth:
    must: dict[int, list[Place]] = defaultdict(list)
    may = []
    for exchange, _, request, response in _answered(scene):
        is_plain = "content-encoding" not in response.fields and _is_text(response)
        if response.status != _OK or not is_plain or len(response.body) < _TEXT_MIN_BYTES // 2:
            continue
        place = Place(exchange.client_port, exchange.index)
        packed = len(zlib.compress(response.body))
        saves = packed * 2 <= len(response.body) and _costs([response], 1 - packed / len(response.body))
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
    # The client did not follow the last redirect: it waited for no target.
    places += [chain[:-1] if len(chain) == _CHAIN_MIN else chain for chain in waiting.values()]
    must = tuple(tuple(chain) for chain in places if len(chain) >= _CHAIN_MIN)
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
