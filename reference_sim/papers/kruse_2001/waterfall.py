"""Figures 3, 4, 6 and 7: request and completion time of each element."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import altair as alt

    from reference_sim.reproduction.experiment import Results
    from reference_sim.simulation import Simulation

__all__ = ["elements", "lines"]

_WIDTH: Final = 440
_QUANTITIES: Final = ("requested", "came", "received", "connection")


def elements(simulation: Simulation) -> Mapping[str, float]:
    """Return times of each element by number, in seconds from the page's first SYN, and its connection.

    The times are: request sent (``"0 requested"``), first byte received, and complete.
    """
    truth = simulation.truth
    rows = truth.transactions.sort("fetch").select(
        "fetch", "request_first_sent", "response_first_received", "response_last_received", "connection"
    )
    start = truth.retrievals["start"].item()
    made: dict[str, float] = {}
    for fetch, requested, came, received, connection in rows.iter_rows():
        times = ((time - start).total_seconds() for time in (requested, came, received))
        values = (*times, float(connection))
        made |= {f"{fetch} {quantity}": value for quantity, value in zip(_QUANTITIES, values, strict=True)}
    return made


def lines(results: Results, label: str) -> alt.TopLevelMixin:
    """Return the chart of Figures 6 and 7: one vertical line per element, from request to last byte."""
    import altair as alt
    import polars as pl

    base = alt.Chart(pl.DataFrame(list(_rows(results, label))))
    element = alt.X("element:O", title="Element")
    connection = alt.Color("connection:N", title="Connection")
    whole = base.mark_rule(strokeWidth=2).encode(
        x=element, y=alt.Y("requested:Q", title="Seconds"), y2="received:Q", color=connection
    )
    data = base.mark_bar(width=8).encode(x=element, y="came:Q", y2="received:Q", color=connection)
    return alt.layer(whole, data).properties(width=_WIDTH)


def _rows(results: Results, label: str) -> Iterator[dict[str, float]]:
    (first, *_) = results.measured[label]
    count = sum(quantity.endswith(" requested") for quantity in first)
    for number in range(count):
        yield {"element": number, **{quantity: first[f"{number} {quantity}"] for quantity in _QUANTITIES}}
