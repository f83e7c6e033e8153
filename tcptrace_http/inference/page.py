"""The page: its objects in the order in which they were asked for, their sizes, and what led to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_sim.page import Constant, Object, Page

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tcptrace_http.inference.figure import Figure
    from tcptrace_http.inference.observed import Exchange, Observed

__all__ = ["page_of"]


def page_of(observed: Observed, processing: Sequence[Figure]) -> Page:
    """The page as the retrieval shows it; bodies are as they were sent, framing removed."""
    host = next((exchange.host for exchange in observed.exchanges if exchange.host), "www.example.com")
    return Page(
        name="inferred",
        host=host,
        objects=tuple(
            _object(number, exchange, figure)
            for number, (exchange, figure) in enumerate(zip(observed.exchanges, processing, strict=True))
        ),
    )


def _object(number: int, exchange: Exchange, processing: Figure) -> Object:
    value = processing.value
    # What is found in a later object, or in itself, is found in the document.
    initiator = exchange.initiator if exchange.initiator is not None and exchange.initiator < number else 0
    return Object(
        target=exchange.target,
        content_type=exchange.content_type,
        size=Constant(value=exchange.body_bytes),
        status=exchange.status,
        processing_ns=value if isinstance(value, int) else 0,
        found_in=initiator,
    )
