"""Variants of a page: repeated visits, caches, compression, delta encoding.

Each function maps a page to the pages of successive visits (a *revisit*), or to another page.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from reference_sim.page import Constant, Exponential, Law, Object, Page, Pareto, Uniform, expected

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "compressed",
    "conditional_get",
    "delta_encoding",
    "fast_delta",
    "is_changed",
    "once",
    "optimistic_delta",
    "partial_get",
    "precreated_delta",
    "twice",
]

# "42 kB of HTML became 11 kB": Nielsen et al. 1997 (SIGCOMM), section 5.
_COMPRESSION: Final = 11 / 42
# "Up to 83 % savings" of a compressed delta (Bhalekar 2003, section 3.5.1; Mogul et al. 1997).
_DELTA_OF_TEXT: Final = 0.17
# A delta of compressed content saves little. This is the paper's bound for a useful delta ("less than half
# the original size", Bhalekar 2003, section 3.5.2).
_DELTA_OF_OTHERS: Final = 0.5
# 25 % of the traffic is delta-eligible (Bhalekar 2003, section 3.5.2): every fourth object changes.
_CHANGES_EVERY: Final = 4
# Assumed: the server computes a delta at 1 MB/s of its source text.
_DELTA_NS_PER_BYTE: Final = 1000
_CHANGED: Final = "If-Modified-Since: Mon, 01 Apr 1996 12:00:00 GMT"
_OK: Final = 200
_NOT_MODIFIED: Final = 304
#: 206 Partial Content (RFC 9110, section 15.3.7).
_PARTIAL_CONTENT: Final = 206
#: 226 IM Used (RFC 3229, section 10.4.1).
_IM_USED: Final = 226


def once(page: Page) -> tuple[Page, ...]:
    """Return a single visit."""
    return (page,)


def twice(page: Page) -> tuple[Page, ...]:
    """Return two identical visits without a cache: the second measures a warm transport."""
    return page, page


def partial_get(page: Page) -> tuple[Page, ...]:
    """Return a visit that breaks off at half of each body, and a second visit for the other halves (206)."""
    halves = [_half(part) for part in page.objects]
    return (
        page.with_objects(tuple(first for first, _ in halves), name=f"{page.name}-broken-off"),
        page.with_objects(tuple(rest for _, rest in halves), name=f"{page.name}-the-rest"),
    )


def _half(part: Object) -> tuple[Object, Object]:
    """Return the received part of an object before its connection is lost, and the range of the later request."""
    size = round(expected(part.size))
    came = size // 2
    rest = replace(
        part,
        size=Constant(value=size - came),
        status=_PARTIAL_CONTENT,
        request_fields=(*part.request_fields, f"Range: bytes={came}-"),
        response_fields=(*part.response_fields, f"Content-Range: bytes {came}-{size - 1}/{size}"),
    )
    return replace(part, size=Constant(value=came)), rest


def conditional_get(page: Page) -> tuple[Page, ...]:
    """Return a visit, and a second visit with every object cached and unchanged (304)."""
    cached = tuple(_unchanged(part) for part in page.objects)
    return page, page.with_objects(cached, name=f"{page.name}-not-modified")


def delta_encoding(page: Page) -> tuple[Page, ...]:
    """Return a visit, and a visit after a change: deltas of changed objects, 304 for the rest (RFC 3229)."""
    return page, _changed(page, _delta, "delta")


def fast_delta(page: Page) -> tuple[Page, ...]:
    """Return the visits of :func:`delta_encoding` with deltas of text only; other changed objects come whole."""
    return page, _changed(page, lambda part: _delta(part) if part.is_text else _whole(part), "fast-delta")


def precreated_delta(page: Page) -> tuple[Page, ...]:
    """Return the visits of :func:`delta_encoding` with precomputed deltas: they cost no server time."""
    return page, _changed(page, lambda part: replace(_delta(part), processing_ns=0), "precreated-delta")


def optimistic_delta(page: Page) -> tuple[Page, ...]:
    """Return the old base document at once, and its delta as soon as the server has computed it.

    Source: Banga et al. 1997, by Bhalekar 2003, section 7.2.1. The last object is the delta. The client
    requests it together with the old version.
    """
    base = page.objects[0]
    difference = replace(_delta(base), target=f"{base.target}?delta", found_at=0)
    return (page.with_objects((*page.objects, difference), name=f"{page.name}-optimistic-delta"),)


def compressed(page: Page) -> Page:
    """Return the same page with compressed text. Images are compressed already (Bhalekar 2003, section 3.3)."""
    return page.with_objects(tuple(map(_compressed, page.objects)), name=f"{page.name}-compressed")


def is_changed(index: int) -> bool:
    """Return whether the object changes between two visits: the base document and every fourth object do."""
    return index % _CHANGES_EVERY == 0


def _changed(page: Page, change: Callable[[Object], Object], name: str) -> Page:
    parts = (change(part) if is_changed(index) else _unchanged(part) for index, part in enumerate(page.objects))
    return page.with_objects(tuple(parts), name=f"{page.name}-{name}")


def _unchanged(part: Object) -> Object:
    return replace(
        part,
        status=_NOT_MODIFIED,
        size=Constant(value=0),
        request_fields=(*part.request_fields, _CHANGED),
        found_at=None,
    )


def _whole(part: Object) -> Object:
    return replace(part, request_fields=(*part.request_fields, _CHANGED))


def _delta(part: Object) -> Object:
    ratio = _DELTA_OF_TEXT if part.is_text else _DELTA_OF_OTHERS
    return replace(
        part,
        status=_IM_USED,
        size=_scaled(part.size, ratio),
        processing_ns=round(expected(part.size) * _DELTA_NS_PER_BYTE),
        request_fields=(*part.request_fields, 'If-None-Match: "1"', "A-IM: vcdiff"),
        response_fields=(*part.response_fields, "IM: vcdiff", 'Delta-Base: "1"', 'ETag: "2"'),
        found_at=None,
    )


def _compressed(part: Object) -> Object:
    if not part.is_text or part.status != _OK:
        return part
    return replace(
        part,
        size=_scaled(part.size, _COMPRESSION),
        request_fields=(*part.request_fields, "Accept-Encoding: gzip"),
        response_fields=(*part.response_fields, "Content-Encoding: gzip"),
        found_at=None if part.found_at is None else round(part.found_at * _COMPRESSION),
    )


def _scaled(law: Law, ratio: float) -> Law:
    """Return the distribution scaled by this factor."""
    match law:
        case Constant():
            return Constant(value=round(law.value * ratio))
        case Uniform():
            return Uniform(low=round(law.low * ratio), high=round(law.high * ratio))
        case Exponential():
            return Exponential(mean=law.mean * ratio)
        case Pareto():
            return Pareto(scale=law.scale * ratio, shape=law.shape, max=round(law.max * ratio))
