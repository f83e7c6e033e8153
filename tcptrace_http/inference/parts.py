"""Measurements of a capture before any run, and the scenario that they form with a choice."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from reference_sim.scenario import Browser, KeepAlive, Scenario, Server, Writes
from reference_sim.workloads import tap_at
from tcptrace_http.errors import ScenarioError
from tcptrace_http.inference.ack_delay import (
    with_delays,
    with_later_heartbeat,
    with_quick_acks,
)
from tcptrace_http.inference.client_clock import reactions
from tcptrace_http.inference.network import network_of
from tcptrace_http.inference.page import pages_of
from tcptrace_http.inference.parse import parse_time
from tcptrace_http.inference.requests import Split, with_nagle, with_splits
from tcptrace_http.inference.stacks import with_options
from tcptrace_http.inference.tls import waits_behind_finished

if TYPE_CHECKING:
    from reference_sim.page import Page
    from reference_sim.plan import Visit
    from reference_sim.stack import Stack
    from reference_sim.strategy import Strategy
    from reference_sim.tls import Tls
    from reference_sim.topology import Network, Queue
    from tcptrace_http.inference.figure import Figure
    from tcptrace_http.inference.loss import Lost
    from tcptrace_http.inference.observed import Observed
    from tcptrace_http.inference.stacks import Options


__all__ = ["Choice", "Parts"]


#: Maximum request length of the simulator's scenario.
_REQUEST_BYTES_MAX: Final = 65_536


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """Properties that need runs: the strategy, and the presets of both ends."""

    strategy: Strategy
    server: Stack
    client: Stack


@dataclass(frozen=True, kw_only=True, slots=True)
class Parts:
    """Measurements before any run."""

    seen: Observed
    #: Server time of each response.
    times: tuple[Figure, ...]
    lost: tuple[Lost, ...]
    queue: Queue
    rate: int | None
    propagation: int
    window: Figure
    most_requests: Figure
    of_server: Options
    of_client: Options
    splits: dict[tuple[int, int], Split]
    #: True if the hosts share path state between connections.
    shares: bool = False
    #: TLS parameters of the connections.
    tls: Tls | None = None
    #: Phase of the client's heartbeat, if runs determined it.
    phase: Figure | None = None
    #: Time of the hosts' clocks past a whole tick, at the client's start.
    clock: int = 0
    #: Maximum number of parallel connections of the browser, if limited.
    most_at_once: int | None = None
    #: True if the client sends the immediate ACKs of its preset. Otherwise only its timer limits the delay.
    has_quick_acks: bool = True

    @property
    def pages(self) -> tuple[Page, ...]:
        """Return one page per visit."""
        return pages_of(self.seen, self.times)

    def reactions(self) -> dict[int, int]:
        """Return, by frame of the server's packets, the time at which an immediate reaction of the client is
        visible.
        """
        return reactions(self.seen, self.rate, self.propagation)

    def stacks(self, choice: Choice) -> tuple[Stack, Stack, list[Figure]]:
        """Return the stacks of server and client with the values from their segments, and the figures."""
        server, of_server = with_options(choice.server, self.of_server, self.window, "server")
        client, of_client = with_options(choice.client, self.of_client, None, "client")
        client, of_delays = with_delays(client, self.seen, self.reactions(), told=self.phase)
        client, nagle = with_nagle(client, self.splits, waits_behind_finished(self.seen))
        client, quick = with_quick_acks(client, self.seen, is_so=self.has_quick_acks)
        return server, client, [*of_server, *of_client, *of_delays, *quick, nagle]

    @property
    def lost_to_server(self) -> tuple[Lost, ...]:
        """Return the losses towards the server, where no queue of the server's packets exists."""
        return tuple(each for each in self.lost if not each.to_client)

    @property
    def network(self) -> Network:
        """Return the path between client and server."""
        return network_of(
            self.seen, rate=self.rate, propagation=self.propagation, lost=self.lost, queue=self.queue
        )

    def keep_alive(self) -> KeepAlive:
        """Return the server's keep-alive policy for persistent connections."""
        most = self.most_requests.value
        return KeepAlive(max_requests=most if isinstance(most, int) else None)

    def parse(self, strategy: Strategy) -> Figure:
        """Return the browser's time from known object to request, for this strategy."""
        plans = [strategy.visits(page)[0].plan for page in self.pages]
        lost = {each.place for each in self.lost if each.place is not None}
        return parse_time(self.seen, self.pages, plans, self.rate, self.propagation, lost=lost)

    def visits(self, strategy: Strategy) -> tuple[Visit, ...]:
        """Return the pages with this strategy, with the captured pauses."""
        made: list[Visit] = []
        last = 0
        # Elsewhere the last byte and the next request cross the path before their capture.
        way = 0 if self.seen.is_near_client else self.seen.client_path
        for page, visited, is_kept in zip(self.pages, self.seen.visits, self._kept(), strict=True):
            visit = strategy.visits(page)[0]
            plan = with_splits(replace(visit.plan, keeps_connections=is_kept), len(made), self.splits)
            made.append(replace(visit, plan=plan, think=max(visited.start - last - way, 0) if made else None))
            last = visited.end
        return tuple(made)

    def _kept(self) -> list[bool]:
        """Return, per visit, whether a later visit reused a connection of this or an earlier visit."""
        visits = self.seen.visits
        last = {exchange.flow: number for number, visit in enumerate(visits) for exchange in visit.exchanges}
        furthest = (max(last[exchange.flow] for exchange in visit.exchanges) for visit in visits)
        return [later > number for number, later in enumerate(accumulate(furthest, max))]

    def scenario(self, choice: Choice, *, writes: Writes | None = None, **knobs: object) -> Scenario:
        """Return the session with this choice. ``knobs`` belong to the server's stack."""
        parse = self.parse(choice.strategy).value
        server_stack, client_stack, _ = self.stacks(choice)
        if knobs:
            server_stack = replace(server_stack, name=f"{server_stack.name}-changed", **knobs)  # type: ignore[arg-type]
        network = self.network
        visits = self.visits(choice.strategy)
        server = Server(
            node=network.servers[0],
            stack=choice.strategy.server(server_stack),
            product=self.seen.server_software or "reference_sim",
            writes=choice.strategy.writes if writes is None else writes,
            keep_alive=self.keep_alive() if any(visit.plan.persistent for visit in visits) else None,
            min_head_bytes=min(exchange.head_bytes for exchange in self.seen.exchanges),
            sizes_include_heads=any(exchange.is_opaque for exchange in self.seen.exchanges),
            tls=self.tls,
            http2=choice.strategy.http2,
        )
        browser = Browser(
            node=network.clients[0],
            stack=with_later_heartbeat(choice.strategy.client(client_stack), self.clock),
            visits=visits,
            parse=parse if isinstance(parse, int) else 0,
            http_version=choice.strategy.version,
            min_request_bytes=self._request_bytes(),
            start=self.clock,
        )
        at = tap_at(network, "client" if self.seen.is_near_client else "server")
        return Scenario(network=network, servers=(server,), browsers=(browser,), taps=(at,))

    def _request_bytes(self) -> int:
        """Return the length of the shortest request.

        :raises ScenarioError: the simulator has no requests of that length.
        """
        shortest = min(exchange.request_bytes for exchange in self.seen.exchanges)
        if shortest > _REQUEST_BYTES_MAX:
            raise ScenarioError(
                f"the requests of this retrieval are uploads of {shortest:,} bytes or more;"
                f" the simulator's requests have at most {_REQUEST_BYTES_MAX:,} bytes, so it cannot be modelled"
            )
        return shortest
