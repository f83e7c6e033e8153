"""Ideas of the paper beyond its design: TCP-INT's variant, other TCP extensions, ageing, HTTP/1.1 ranges.

Section 3.3: TCP-INT's retransmission variant works with delayed ACKs, and E-TCP can adopt it (E12). Section
6.2: E-TCP works together with larger initial windows and SACK (E13). Sections 2 and 7.4: cached state should
age (E14). Section 6.1: HTTP/1.1 with requests for parts of objects has a similar effect (E15).
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from math import inf
from typing import TYPE_CHECKING, Final

from reference_sim.networks import network
from reference_sim.page import Constant, expected
from reference_sim.page_versions import twice
from reference_sim.papers.eggert_1999.beyond import (
    BUNDLE,
    SHARED,
    ack_label,
    delayed,
    measure_again,
    must,
)
from reference_sim.papers.eggert_1999.bundles import (
    PAGES,
    Situation,
    accesses,
    measure,
    network_of,
    page_of,
    quantity,
    stack_of,
)
from reference_sim.plan import Bytes, Fetch, HttpVersion, Plan
from reference_sim.reproduction.experiment import Effort, Experiment, Results, Run
from reference_sim.reproduction.verdict import Comparison, Judgement, Mean, judged
from reference_sim.scenario import Record, Transfer
from reference_sim.stack import Rfc3390, Sharing
from reference_sim.strategy import Discovery, Strategy
from reference_sim.topology import Network, PacketLoss

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from reference_sim.page import Object, Page
    from reference_sim.scenario import Scenario
    from reference_sim.simulation import Simulation
    from reference_sim.stack import Stack

__all__ = ["EXTENSIONS"]

_S: Final = 10**9
_MORE: Final = (1.0, inf)
#: Longer than any ACK delay: E12 and E13 exclude timeouts.
_LEAST_TIMEOUT_NS: Final = 1 * _S
#: Random losses for SACK: without losses, SACK has no effect.
_LOSS: Final = 0.01
_LOSS_SEEDS: Final = 20
#: Pages of E14: the text page ends before any drop.
_AGED_PAGES: Final = ("map", "graphics", "frames")
_TRANSFERS: Final = 2
_FILE: Final = 3_000_000
#: Duration of the second access's first flight (the cached window) and of its drops, at an RTT of 0.12 s.
_FIRST_FLIGHTS: Final = timedelta(seconds=0.6)
#: Four packets: "small enough" (section 6.1), and long enough to make heads a tenth.
_PART_BYTES: Final = 2048
_ALL: Final = 1000
#: "Comparable": the heads of the parts are a tenth of the bytes.
_COMPARABLE: Final = 0.1
_SHAPE: Final = 0.3

_INTEGRATED: Final = "delayed, TCP-INT"


def _integrated(situation: Situation, page: str) -> str:
    return f"{ack_label(page, _INTEGRATED)}, {situation}"


def _delayed_acks(_: Effort) -> Iterator[Run]:
    for page in PAGES:
        plain = delayed(stack_of(Sharing.ETCP_FAIR, least_timeout_ns=_LEAST_TIMEOUT_NS))
        yield Run(
            label=ack_label(page, "delayed"),
            scenario=_recorded(_access(page, plain)),
            measure=measure_again,
        )
        expecting = replace(plain, expects_delayed_acks=True)
        for situation in (Situation.MODEL, Situation.NETWORK):
            made = _access(page, expecting, situation)
            yield Run(label=_integrated(situation, page), scenario=_recorded(made), measure=measure_again)


def _judge_delayed_acks(results: Results) -> Judgement:
    comparisons = []
    for page in PAGES:
        without = results.value(ack_label(page, "delayed"), quantity("total"))
        model = _integrated(Situation.MODEL, page)
        comparisons += [
            must(f"spurious retransmissions, {page}", (0.0, 0.0), results.value(model, "sent again")),
            must(
                f"time without the variant over that with it, {page}",
                _MORE,
                without / results.value(model, quantity("total")),
            ),
            must(
                f"time without it over that with it and a queue of 10 packets, {page}",
                _MORE,
                without / results.value(_integrated(Situation.NETWORK, page), quantity("total")),
            ),
        ]
    return judged(
        comparisons,
        remarks="The paper names the variant without a description; the rule is that of TCP-INT in ns-2"
        " (clean_segs in chost.cc). Three later ACKs indicate a loss only with a second skipped packet of the"
        " same connection, or with a packet older than two ACK delays. The time without the variant is that of"
        " the model scenario, which has no loss.",
    )


def _access(page: str, stack: Stack, situation: Situation = Situation.MODEL) -> Scenario:
    return accesses(strategy=SHARED, page=page_of(page), network=network_of(situation), stack=stack)


def _recorded(made: Scenario) -> Scenario:
    return replace(made, record=Record(packets=True))


def _extension(page: str, name: str) -> str:
    return f"E-TCP beside others, {page}, {name}"


_IW: Final = "an initial window of 4 KB"
_BUNDLE_IW: Final = f"{BUNDLE}, {_IW}"


def _others(effort: Effort) -> Iterator[Run]:
    plain = stack_of(Sharing.ETCP_FAIR, least_timeout_ns=_LEAST_TIMEOUT_NS)
    wide = replace(plain, initial_window=Rfc3390())
    reno = replace(stack_of(Sharing.NONE, least_timeout_ns=_LEAST_TIMEOUT_NS), initial_window=Rfc3390())
    for page in PAGES:
        for name, stack in (("plain", plain), (_IW, wide), (_BUNDLE_IW, reno)):
            made = _access(page, stack, Situation.NETWORK)
            yield Run(label=_extension(page, name), scenario=made, measure=measure)
        for name, stack in (("lossy", plain), ("lossy, SACK", replace(plain, sack=True))):
            made = accesses(strategy=SHARED, page=page_of(page), network=_lossy(), stack=stack)
            for seed in range(1, 1 + _LOSS_SEEDS * effort.seeds // (2 if effort.quick else 1)):
                yield Run(label=_extension(page, name), scenario=replace(made, seed=seed), measure=measure)


def _lossy() -> Network:
    made = network_of(Situation.MODEL)
    there, back = made.links
    return replace(made, links=(there, replace(back, loss=(PacketLoss(rate=_LOSS),))))


def _judge_others(results: Results) -> Judgement:
    def ratio(page: str, slower: str, faster: str, what: str = "total") -> float:
        slow, fast = (results.value(_extension(page, name), quantity(what)) for name in (slower, faster))
        return slow / fast

    comparisons = []
    for page in PAGES:
        comparisons += [
            *(
                must(f"{what} without over with {_IW}, {page}", _MORE, ratio(page, "plain", _IW, what))
                for what in ("html", "total")
            ),
            must(
                f"total of a Reno bundle with {_IW} over E-TCP with it, {page}",
                _MORE,
                ratio(page, _BUNDLE_IW, _IW),
            ),
            must(
                f"total without over with SACK, {_LOSS:.0%} of packets lost, {page}",
                _MORE,
                ratio(page, "lossy", "lossy, SACK"),
            ),
        ]
    return judged(
        comparisons,
        remarks="The paper calls both extensions orthogonal, and measures neither. Initial windows: the queue"
        " of 10 packets. SACK: each member has its own (RFC 6675); SACK for the ensemble's list of packets"
        ' ("needs to be carefully studied") is not simulated. Losses are random, because E-TCP alone loses'
        " nothing.",
    )


def _aged(page: str, name: str, transfers: int) -> str:
    return f"cached state, {page}, {name}, {transfers} transfers"


def _ageing(_: Effort) -> Iterator[Run]:
    where = network("thesis")
    plain = stack_of(Sharing.NONE)
    shared = stack_of(Sharing.ETCP_FAIR)
    again = replace(SHARED, name="eggert-ensemble-again", revisit=twice)
    for page in _AGED_PAGES:
        for name, stack in (("kept", shared), ("aged", replace(shared, ages_shared_state=True))):
            made = accesses(strategy=again, page=page_of(page), network=where, stack=stack)
            for count in (0, _TRANSFERS):
                # The transfers begin in the reader's pause, between other hosts: the path has changed.
                transfers = tuple(
                    Transfer(
                        node=where.clients[number],
                        stack=plain,
                        server_node=where.servers[number],
                        server_stack=plain,
                        files=(_FILE,),
                        start=(3 * _S + number * _S // 7),
                    )
                    for number in range(1, 1 + count)
                )
                scenario = replace(_recorded(made), transfers=transfers)
                yield Run(label=_aged(page, name, count), scenario=scenario, measure=_second_access)


def _second_access(simulation: Simulation) -> Mapping[str, float]:
    """Return seconds of the second access, and the data packets sent at its beginning and lost."""
    import polars as pl

    truth = simulation.truth
    own = truth.retrievals.filter(~pl.col("is_transfer"), pl.col("visit") == 1)
    (start,), (end,) = own["start"], own["end"]
    sent = truth.packets.filter(
        pl.col("side") == "server", pl.col("sent") >= start, pl.col("sent") < start + _FIRST_FLIGHTS
    )
    return {"seconds": (end - start).total_seconds(), "lost": float(sent["received"].null_count())}


def _judge_ageing(results: Results) -> Judgement:
    def difference(page: str, quantity: str, transfers: int) -> float:
        kept, aged = (results.value(_aged(page, name, transfers), quantity) for name in ("kept", "aged"))
        return kept - aged

    return judged(
        [
            *(
                must(
                    f"lost packets of a second access beside {_TRANSFERS} others, kept state less aged, {page}",
                    _MORE,
                    difference(page, "lost", _TRANSFERS),
                )
                for page in _AGED_PAGES
            ),
            *(
                must(
                    f"cost of aging in s if the network did not change, {page}",
                    (0.0, inf),
                    -difference(page, "seconds", 0),
                )
                for page in _AGED_PAGES
            ),
        ],
        remarks="The paper gives no rule for the aging of state. Our rule is the one that section 7.4"
        " suggests: half of the window per round trip (Handley, Padhye and Floyd 1999). Both transfers, on the"
        " dumbbell of Gürkan 1998, start between the accesses. After 5 s an aged window is one segment:"
        " temporal sharing then keeps only the handshake and the round trip.",
    )


_WHOLE: Final = Strategy(
    name="eggert-http11-whole",
    about="HTTP/1.1 on one connection, whole objects as the links arrive",
    source="Eggert 1999, section 6.1",
    version=HttpVersion.HTTP11,
    persistent=True,
    pipelining=_ALL,
    discovery=Discovery.STREAMING,
)


def _in_turn(page: Page) -> Plan:
    """Return all requests after the first part of the document, which has the links."""
    others = (Fetch(objects=(index,), after=Bytes(fetch=0, bytes=1)) for index in range(1, len(page.objects)))
    return Plan(persistent=True, pipelining=_ALL, fetches=(Fetch(objects=(0,)), *others))


_RANGES: Final = replace(
    _WHOLE,
    name="eggert-http11-ranges",
    about="HTTP/1.1 on one connection, parts of all objects in turn",
    plan=_in_turn,
)


def _in_parts(page: Page) -> Page:
    """Return each object in parts of several packets, round robin: a fair schedule."""
    split = [list(_parts(part)) for part in page.objects]
    turns = max(map(len, split))
    ordered = [parts[turn] for turn in range(turns) for parts in split if turn < len(parts)]
    return page.with_objects(tuple(replace(part, found_in=0) for part in ordered), name=f"{page.name}-in-parts")


def _parts(part: Object) -> Iterator[Object]:
    size = round(expected(part.size))
    for start in range(0, size, _PART_BYTES):
        end = min(start + _PART_BYTES, size)
        yield replace(
            part,
            size=Constant(value=end - start),
            status=206,
            request_fields=(*part.request_fields, f"Range: bytes={start}-{end - 1}"),
            response_fields=(*part.response_fields, f"Content-Range: bytes {start}-{end - 1}/{size}"),
        )


_WAYS: Final = {"E-TCP": SHARED, "whole objects": _WHOLE, "parts": _RANGES}


def _way(page: str, way: str) -> str:
    return f"packet-scale scheduling, {page}, {way}"


def _ranges(_: Effort) -> Iterator[Run]:
    for page in PAGES:
        for way, strategy in _WAYS.items():
            made = accesses(
                strategy=strategy,
                page=_in_parts(page_of(page)) if strategy is _RANGES else page_of(page),
                network=network_of(Situation.MODEL),
                stack=stack_of(Sharing.ETCP_FAIR if strategy is SHARED else Sharing.NONE),
            )
            # Each part has its own head.
            servers = tuple(replace(server, sizes_include_heads=False) for server in made.servers)
            yield Run(label=_way(page, way), scenario=replace(made, servers=servers), measure=_requests)


def _requests(simulation: Simulation) -> Mapping[str, float]:
    """Return times and the number of requests."""
    return {**measure(simulation), "requests": float(simulation.truth.transactions.height)}


def _judge_ranges(results: Results) -> Judgement:
    def of(page: str, way: str, name: str) -> float:
        return results.value(_way(page, way), name)

    comparisons = []
    for page in PAGES:
        comparisons += [
            Comparison(
                what=f"{what} of {page}: parts over E-TCP",
                unit="ratio",
                published=1.0,
                ours=Mean(of(page, "parts", quantity(what)) / of(page, "E-TCP", quantity(what))),
                tolerance=_COMPARABLE,
                shape_tolerance=_SHAPE,
            )
            for what in ("html", "total")
        ]
        comparisons += [
            must(
                f"HTML of {page}: E-TCP over serial whole objects",
                _MORE,
                of(page, "E-TCP", quantity("html")) / of(page, "whole objects", quantity("html")),
            ),
            must(
                f"requests to the server for {page}: parts over whole objects",
                _MORE,
                of(page, "parts", "requests") / of(page, "whole objects", "requests"),
            ),
        ]
    return judged(
        comparisons,
        remarks="Parts of 2 kB of all objects in turn, as with the fair scheduler; the paper gives no size."
        " Whole objects arrive in the order of their requests, so that the HTML is complete earlier than with"
        " any fair schedule.",
    )


EXTENSIONS: Final = (
    Experiment(
        claim="E12",
        studies=frozenset({"acks", "expects_delayed_acks"}),
        runs=_delayed_acks,
        judge=_judge_delayed_acks,
    ),
    Experiment(claim="E13", studies=frozenset({"initial_window", "sack"}), runs=_others, judge=_judge_others),
    Experiment(claim="E14", studies=frozenset({"ages_shared_state"}), runs=_ageing, judge=_judge_ageing),
    Experiment(claim="E15", runs=_ranges, judge=_judge_ranges),
)
