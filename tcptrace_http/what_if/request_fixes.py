"""Fixes of the programs: the server's writes and connections, the browser's requests, and the content."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from reference_sim.page import Constant
from reference_sim.page_versions import compressed, conditional_get
from reference_sim.plan import Bytes, Complete, HttpVersion, Plan, Visit
from reference_sim.quantities import bytes_of, nanoseconds
from reference_sim.scenario import KeepAlive, Writes
from reference_sim.topology import Unlimited
from tcptrace_http.what_if.fix import Fix, Side, changed

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_sim.page import Object, Page
    from reference_sim.plan import Fetch
    from reference_sim.scenario import Scenario, Server

__all__ = ["of_browsers", "of_pages", "of_paths", "of_server_programs"]

# Number of requests that exceeds any page's objects, as in the simulator's table.
_ALL_AT_ONCE: Final = 100
_OK: Final = 200
_CONTENT_ENCODING: Final = "content-encoding:"
_NO_TIME: Final = Constant(value=0)


def _writing(change: Callable[[Writes], Writes]) -> Callable[[Scenario], Scenario | None]:
    """Return a change of the server's writes. Pauses between writes that are merged move before the merged
    write.
    """

    def apply(scenario: Scenario) -> Scenario | None:
        server = scenario.servers[0]
        writes = change(server.writes)

        def later(part: Object, page: Page) -> Object:
            del page
            fewer = _count(part, server, server.writes) - _count(part, server, writes)
            return replace(part, processing_ns=part.processing_ns + fewer * nanoseconds(server.writes.gap))

        made = _serving(lambda it: replace(it, writes=change(it.writes)))(scenario)
        if made is None or not server.writes.gap:
            return made
        return _paged(later)(made) or made

    return apply


def _count(part: Object, server: Server, writes: Writes) -> int:
    """Return the number of writes of a response."""
    size = round(_size(part)) + (0 if writes.head_alone else server.min_head_bytes)
    chunks = 1 if writes.chunk_bytes is None else max(-(-size // bytes_of(writes.chunk_bytes)), 1)
    return chunks + writes.head_alone


def _serving(change: Callable[[Server], Server]) -> Callable[[Scenario], Scenario | None]:
    return lambda scenario: changed(scenario, replace(scenario, servers=tuple(map(change, scenario.servers))))


def _planned(change: Callable[[Plan], Plan]) -> Callable[[Scenario], Scenario]:
    """Return a change of every visit's plan."""

    def apply(scenario: Scenario) -> Scenario:
        browsers = (
            replace(it, visits=tuple(replace(visit, plan=change(visit.plan)) for visit in it.visits))
            for it in scenario.browsers
        )
        return replace(scenario, browsers=tuple(browsers))

    return apply


def _kept(scenario: Scenario) -> Scenario:
    """Return the scenario with servers that keep connections open without limits."""
    return replace(scenario, servers=tuple(replace(it, keep_alive=KeepAlive()) for it in scenario.servers))


def _keep_alive(scenario: Scenario) -> Scenario | None:
    return changed(scenario, _planned(lambda plan: replace(plan, persistent=True))(_kept(scenario)))


def _pipelining(scenario: Scenario) -> Scenario | None:
    def piped(plan: Plan) -> Plan:
        # One connection per request leaves nothing to pipeline.
        return replace(plan, persistent=True, pipelining=_ALL_AT_ONCE, connections=plan.connections or 1)

    if all(visit.plan.pipelining > 1 for browser in scenario.browsers for visit in browser.visits):
        return None
    made = _planned(piped)(_kept(scenario))
    browsers = tuple(replace(browser, http_version=HttpVersion.HTTP11) for browser in made.browsers)
    return changed(scenario, replace(made, browsers=browsers))


def _parallel(count: int) -> Callable[[Scenario], Scenario | None]:
    def more(plan: Plan) -> Plan:
        if plan.connections is None or plan.connections >= count:
            return plan
        return replace(plan, connections=count)

    def apply(scenario: Scenario) -> Scenario | None:
        # Streams share a connection.
        if any(server.http2 is not None for server in scenario.servers):
            return None
        return changed(scenario, _planned(more)(scenario))

    return apply


def _whole_requests(scenario: Scenario) -> Scenario | None:
    def whole(plan: Plan) -> Plan:
        fetches = (replace(fetch, split_after=None, split_gap=0) for fetch in plan.fetches)
        return replace(plan, fetches=tuple(fetches))

    return changed(scenario, _planned(whole)(scenario))


def _paged(change: Callable[[Object, Page], Object]) -> Callable[[Scenario], Scenario | None]:
    """Return a change of every object. Links in a shortened object move to their new offsets."""

    def visited(visit: Visit) -> Visit:
        page = visit.page.with_objects(tuple(change(part, visit.page) for part in visit.page.objects))
        fetches = tuple(_found(fetch, visit, page) for fetch in visit.plan.fetches)
        return replace(visit, page=page, plan=replace(visit.plan, fetches=fetches))

    def apply(scenario: Scenario) -> Scenario | None:
        browsers = (replace(it, visits=tuple(map(visited, it.visits))) for it in scenario.browsers)
        return changed(scenario, replace(scenario, browsers=tuple(browsers)))

    return apply


def _found(fetch: Fetch, visit: Visit, page: Page) -> Fetch:
    after = fetch.after
    if not isinstance(after, Bytes):
        return fetch
    numbers = visit.plan.fetches[after.fetch].objects
    before, now = (sum(_size(it.objects[number]) for number in numbers) for it in (visit.page, page))
    if before == now:
        return fetch
    place = round(after.bytes * now / before)
    return replace(fetch, after=replace(after, bytes=place) if place else Complete(fetch=after.fetch))


def _size(part: Object) -> float:
    from reference_sim.page import expected

    return expected(part.size)


def _is_encoded(part: Object) -> bool:
    return any(field.lower().startswith(_CONTENT_ENCODING) for field in part.response_fields)


def _compressed(part: Object, page: Page) -> Object:
    return part if _is_encoded(part) else _alone(part, page, compressed)


def _alone(part: Object, page: Page, version: Callable[[Page], Page]) -> Object:
    """Return the object in this version of its page."""
    (made,) = version(page.with_objects((replace(part, found_in=0),))).objects
    return replace(made, found_in=part.found_in)


def _cached(part: Object, page: Page) -> Object:
    return part if part.status != _OK else _alone(part, page, lambda alone: conditional_get(alone)[-1])


def _at_once(scenario: Scenario) -> Scenario | None:
    def prompt(part: Object, page: Page) -> Object:
        del page
        return replace(part, processing_ns=0)

    made = _serving(lambda server: replace(server, processing=_NO_TIME))(scenario) or scenario
    return changed(scenario, _paged(prompt)(made) or made)


def _without_loss(scenario: Scenario) -> Scenario | None:
    links = tuple(replace(link, loss=(), queue=Unlimited()) for link in scenario.network.links)
    return changed(scenario, replace(scenario, network=replace(scenario.network, links=links)))


def of_server_programs() -> tuple[Fix, ...]:
    """Return the fixes of the server's program."""
    return (
        Fix(
            name="one-write",
            about="head and body in one write (writev, or TCP_CORK until the end)",
            source="Heidemann 1996, section 2.2, first fix; tcp(7), TCP_CORK",
            side=Side.SERVER,
            apply=_writing(lambda _: Writes()),
            unneeded="a response is one write already",
            fixed_findings=(
                "short-initial-segment",
                "odd-short-final-segment",
                "cork-timeout",
                "unfilled-segments",
            ),
        ),
        Fix(
            name="head-with-body",
            about="the head is written with the first data; the writes keep their sizes",
            source="Heidemann 1996, section 2.2, first fix alone",
            side=Side.SERVER,
            apply=_writing(lambda writes: replace(writes, head_alone=False)),
            unneeded="the head has no separate write",
            fixed_findings=("short-initial-segment",),
        ),
        Fix(
            name="whole-writes",
            about="the body in one write; a separate write of the head stays",
            source="Heidemann 1996, section 2.3: the writes of 4 kB end in short segments",
            side=Side.SERVER,
            apply=_writing(lambda writes: replace(writes, chunk_bytes=None)),
            unneeded="the body is one write already",
            fixed_findings=("odd-short-final-segment", "unfilled-segments", "nagle-delayed-ack"),
        ),
        Fix(
            name="keep-alive",
            about="the server keeps connections open, and the browser uses them again",
            source="RFC 9112, section 9.3; Heidemann 1996, section 1",
            side=Side.SERVER,
            apply=_keep_alive,
            unneeded="connections are kept open already",
            fixed_findings=("connection-per-request", "keep-alive-refused"),
        ),
        Fix(
            name="compression",
            about="uncompressed text is compressed",
            source="Nielsen et al. 1997, section 5: 42 kB became 11 kB; Bhalekar 2003, section 3.3",
            side=Side.SERVER,
            apply=_paged(_compressed),
            unneeded="no text was uncompressed",
            fixed_findings=("uncompressed-text",),
        ),
        Fix(
            name="faster-server",
            about="the server takes no time for its responses: the upper bound of server tuning",
            source="the waits' cause server.think",
            side=Side.SERVER,
            apply=_at_once,
            unneeded="the server takes no time already",
            fixed_findings=("slow-server",),
            is_practical=False,
        ),
    )


def of_browsers() -> tuple[Fix, ...]:
    """Return the fixes of the browser."""
    return (
        Fix(
            name="pipelining",
            about="the browser sends requests without waiting for the responses before them",
            source="RFC 9112, section 9.3.2; Nielsen et al. 1997",
            side=Side.CLIENT,
            apply=_pipelining,
            unneeded="requests are pipelined already",
            fixed_findings=("request-lull",),
        ),
        *(
            Fix(
                name=f"parallel-{count}",
                about=f"the browser opens up to {count} connections at once",
                source=source,
                side=Side.CLIENT,
                apply=_parallel(count),
                unneeded=f"it may open {count} or more already, or the requests are streams of one connection",
                fixed_findings=("head-of-line-blocking",) if count == 6 else (),  # noqa: PLR2004 -- browsers of today
            )
            for count, source in (
                (4, "Eggert 1999, section 4; Kruse 2001, section 4.2: Netscape's limit"),
                (6, "the limit of current browsers for HTTP/1.1"),
            )
        ),
        Fix(
            name="whole-request",
            about="a request is one write",
            source="Kruse 2001, section 5.3.2",
            side=Side.CLIENT,
            apply=_whole_requests,
            unneeded="no request is written in parts",
            fixed_findings=("split-request",),
        ),
    )


def of_pages() -> tuple[Fix, ...]:
    """Return the fixes that avoid content."""
    return (
        Fix(
            name="cache",
            about="the browser has everything cached and sends conditional requests (304)",
            source="RFC 9110, section 13; Bhalekar 2003, section 2.4",
            side=Side.CLIENT,
            apply=_paged(_cached),
            unneeded="no response is cacheable",
            fixed_findings=("unconditional-repeat", "duplicate-object", "delta-eligible-repeat"),
        ),
    )


def of_paths() -> tuple[Fix, ...]:
    """Return the bounds that show the cost of the path; no party can apply them."""
    return (
        Fix(
            name="no-loss",
            about="no packet is lost, and no queue is ever full",
            source="the upper bound of a better path or loss recovery",
            side=Side.PATH,
            apply=_without_loss,
            unneeded="the path has no loss",
            fixed_findings=("retransmission-timeout", "tail-loss", "syn-retransmission"),
            is_practical=False,
        ),
    )
