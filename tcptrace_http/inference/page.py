"""Pages: their objects in request order, their sizes, and their initiators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_sim.page import Constant, Object, Page

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tcptrace_http.inference.figure import Figure
    from tcptrace_http.inference.observed import Exchange, Observed, Visited

__all__ = ["pages_of"]


def pages_of(observed: Observed, processing: Sequence[Figure]) -> tuple[Page, ...]:
    """Return the pages of the visits, with the server's time for each exchange of the session."""
    figures = iter(processing)
    return tuple(
        _page(
            "inferred" if number == 0 else f"inferred-{number + 1}",
            visit,
            [next(figures) for _ in visit.exchanges],
        )
        for number, visit in enumerate(observed.visits)
    )


def _page(name: str, visit: Visited, processing: Sequence[Figure]) -> Page:
    """Return the page of a visit; bodies as sent, without framing."""
    host = next((exchange.host for exchange in visit.exchanges if exchange.host), "www.example.com")
    return Page(
        name=name,
        host=host,
        objects=tuple(
            _object(number, exchange, figure)
            for number, (exchange, figure) in enumerate(zip(visit.exchanges, processing, strict=True))
        ),
    )


def _object(number: int, exchange: Exchange, processing: Figure) -> Object:
    value = processing.value
    # An initiator in a later object, or in the object itself, is replaced by the document.
    initiator = exchange.initiator if exchange.initiator is not None and exchange.initiator < number else 0
    return Object(
        target=exchange.target,
        content_type=exchange.content_type,
        size=Constant(value=exchange.body_bytes),
        status=exchange.status,
        request_fields=() if exchange.urgency is None else (f"Priority: u={exchange.urgency}",),
        processing_ns=value if isinstance(value, int) else 0,
        found_in=initiator,
    )
