"""Thesis's dumbbell in our simulator: one client's timeline, and cells of its grid."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from reference_sim.page import Constant
from reference_sim.pages import thesis as thesis_page
from reference_sim.scenario import Record
from reference_sim.simulation import simulate
from reference_sim.strategies import named_strategy
from reference_sim.workloads import thesis

from .programs import Life

if TYPE_CHECKING:
    from reference_sim.scenario import Scenario

#: Object sizes in the document of the stored timelines.
SIZES: Final = (6651, 3883, 1866, 1128)
_SECOND: Final = 10**9
_BOTTLENECKS: Final = ("gateway-c-gateway-s", "gateway-s-gateway-c")
_LETTERS: Final = {0x02: "S", 0x01: "F", 0x08: "P", 0x10: "A"}


def one_client(strategy: str, *, stack: str) -> Scenario:
    """Return one client that retrieves the document of the stored timelines once."""
    base = thesis(
        strategy=strategy,
        web_clients=1,
        stack=stack,
        think=Constant(value=_SECOND),
        record=Record(packets=True),
        duration=timedelta(seconds=20),
    )
    page = thesis_page()
    objects = tuple(replace(one, size=Constant(value=size)) for one, size in zip(page.objects, SIZES, strict=True))
    (browser,) = base.browsers
    if len(browser.visits) == 1:
        visits = named_strategy(strategy).visits(page.with_objects(objects))
    else:  # each file is a visit
        pairs = zip(browser.visits, objects, strict=True)
        visits = tuple(replace(visit, page=page.with_objects((one,))) for visit, one in pairs)
    return replace(base, browsers=(replace(browser, visits=visits, forever=False),))


def lives(scenario: Scenario) -> list[Life]:
    """Return the packets of a run in sending order."""
    import polars as pl

    truth = simulate(scenario).truth
    bottlenecks = [number for number, link in enumerate(scenario.network.links) if link.title in _BOTTLENECKS]
    hops = truth.hops.filter(pl.col("link").is_in(bottlenecks))
    times = pl.col("sent", "enqueued", "dequeued", "received").to_physical()
    rows = (
        truth.packets.join(hops, on="packet")
        .sort("packet")
        .with_columns(times - pl.col("sent").min().to_physical())
    )
    return [
        Life(
            sent=seconds(row["sent"]),
            enqueued=seconds(row["enqueued"]),
            dequeued=seconds(row["dequeued"]),
            received=seconds(row["received"]),
            is_from_client=row["side"] == "client",
            connection=row["connection"] + 1,
            seq=row["seq"],
            ack=row["ack"],
            payload=row["payload_bytes"],
            size=row["packet_bytes"],
            flags=frozenset(letter for bit, letter in _LETTERS.items() if row["flags"] & bit),
        )
        for row in rows.to_dicts()
    ]


def seconds(nanoseconds: int) -> float:
    return nanoseconds / _SECOND
