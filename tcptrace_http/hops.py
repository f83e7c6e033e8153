"""Table ``hops``: the upstream request of a proxy for each client request.

A proxy asks its upstream server after the client's request, and answers after the upstream answer. Both legs
are in one capture with one clock, so an upstream leg is nested in its front leg. If several front legs fit,
body sizes and digests decide, then the order of the requests.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from math import prod
from typing import TYPE_CHECKING, Final, NamedTuple

from tcptrace_http.schema import TABLES, polars_schema

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

__all__ = ["find_hops"]

#: Factor of each word of the column ``evidence`` on the doubt that two nested legs belong together.
_FACTORS: Final = {
    "nesting": 1.0,
    "target": 1.0,
    "target-end": 2.0,
    "address": 0.5,
    "host": 0.5,
    "request-body-size": 0.5,
    "body-size": 0.5,
    "body-digest": 0.4,
}
#: Doubt without further evidence. Two nested requests with equal method and target are rarely unrelated, even
#: on one host. The value is chosen, not measured, as are the factors above and below.
_DOUBT: Final = 0.2
#: Evidence word and factor for legs that only their order matches, because other legs fit too.
_IN_ORDER: Final = "in-order"
_IN_ORDER_FACTOR: Final = 0.6
#: Maximum number of front legs compared with one upstream leg. Fewer wait for the same target on a working
#: proxy.
_COMPARED_MAX: Final = 16
#: Key of the host that took the capture, for all its addresses.
_LOCAL: Final = ""
#: Prefixes of loopback addresses (::1 is a whole address).
_LOOPBACK: Final = ("127.", "::1")
#: Scheme and authority of a target in absolute form (RFC 9112, section 3.2.2).
_AUTHORITY: Final = r"^[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*"
#: Last segment of a path, with the query.
_TARGET_END: Final = r"(/[^/?]*(?:\?.*)?)$"


class _Leg(NamedTuple):
    """Transaction as one leg of an exchange; times in nanoseconds."""

    flow: int
    transaction: int
    #: Address and port of the server.
    server: str
    port: int
    #: Address of the proxy.
    address: str
    start: int
    first: int | None
    end: int
    host: str | None
    request_bytes: int | None
    body_bytes: int | None
    digest: int | None
    #: Properties common to both legs of an exchange.
    key: tuple[str | int | None, ...]

    @property
    def answered(self) -> int:
        """Return the time at which the leg stops waiting."""
        return self.end if self.first is None else self.first


class _Fronts:
    """Front legs of one key that have begun, in order. A finished leg is dropped on the next look."""

    def __init__(self) -> None:
        self.waiting: OrderedDict[tuple[int, int], _Leg] = OrderedDict()
        #: Front legs with an upstream leg, and its end: a proxy may retry.
        self._served: OrderedDict[tuple[int, int], _Leg] = OrderedDict()
        self._served_until: dict[tuple[int, int], int] = {}

    def serve(self, upstream: _Leg) -> tuple[_Leg, list[str]] | None:
        """Return the front leg of ``upstream``, with the evidence."""
        told = [(front, _common(front, upstream)) for front in self._fitting(upstream)]
        if not told:
            return self._serve_again(upstream)
        front, evidence = max(told, key=lambda it: len(it[1]))
        is_ambiguous = sum(len(other) == len(evidence) for _, other in told) > 1
        place = front.flow, front.transaction
        self._served[place] = self.waiting.pop(place)
        self._served_until[place] = upstream.end
        return front, evidence + [_IN_ORDER] * is_ambiguous

    def _fitting(self, upstream: _Leg) -> Iterator[_Leg]:
        """Yield the first waiting front legs that may have caused the upstream leg."""
        waiting = _still_open(self.waiting, iter(self.waiting.values()), upstream.start)
        return (front for front in waiting if _is_nested(upstream, front))

    def _serve_again(self, upstream: _Leg) -> tuple[_Leg, list[str]] | None:
        """Return the last served front leg for which the proxy may have retried."""
        for front in _still_open(self._served, reversed(self._served.values()), upstream.start):
            place = front.flow, front.transaction
            if self._served_until[place] <= upstream.start and _is_nested(upstream, front):
                self._served_until[place] = upstream.end
                return front, _common(front, upstream)
        return None


def _still_open(legs: OrderedDict[tuple[int, int], _Leg], in_order: Iterator[_Leg], now: int) -> list[_Leg]:
    """Return the first unanswered legs, and drop the answered ones before them."""
    opened: list[_Leg] = []
    is_over: list[_Leg] = []
    for leg in in_order:
        (is_over if leg.answered < now else opened).append(leg)
        if len(opened) == _COMPARED_MAX:
            break
    for leg in is_over:
        del legs[leg.flow, leg.transaction]
    return opened


def find_hops(transactions: pl.DataFrame, flows: pl.DataFrame) -> pl.DataFrame:
    """Return the table ``hops`` of the transactions, only for the flows in ``flows``.

    The run time is that of a sort of the transactions.
    """
    import polars as pl

    fronts, upstreams = _legs(transactions, flows)
    path = pl.col("target").str.replace(_AUTHORITY, "")
    found = _frame(_matched(fronts, upstreams, ("proxy", "method", path), "target"))
    # If the target differs, its end and the bodies must match.
    of_hop = ["upstream_flow", "upstream_transaction"]
    left = upstreams.join(found, left_on=["flow", "index"], right_on=of_hop, how="anti", maintain_order="left")
    has_body = pl.col("digest").is_not_null() & (pl.col("body_bytes") > 0)
    key = ("proxy", "method", path.str.extract(_TARGET_END), "digest")
    more = _frame(_matched(fronts.filter(has_body), left.filter(has_body), key, "target-end"))
    declared = polars_schema(TABLES["hops"])
    return (
        pl.concat([found, more])
        .select(pl.col(name).cast(dtype) for name, dtype in declared.items())
        .sort("flow", "transaction", "start")
    )


def _frame(found: list[tuple[object, ...]]) -> pl.DataFrame:
    """Return the rows as a frame, with times in nanoseconds."""
    import polars as pl

    declared = polars_schema(TABLES["hops"])
    schema = {name: pl.Int64() if dtype.is_temporal() else dtype for name, dtype in declared.items()}
    return pl.DataFrame(found, schema=schema, orient="row")


def _legs(transactions: pl.DataFrame, flows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the transactions with a proxy's server, and those with its client, by the start of the request."""
    import polars as pl

    point = pl.col("observation_point").cast(pl.String)
    sides = {"client": "server", "server": "client"}
    local = {address for side in sides for address in flows.filter((point == side) | _is_loopback(side))[side]}
    hosts = {side: pl.when(pl.col(side).is_in(local)).then(pl.lit(_LOCAL)).otherwise(side) for side in sides}
    known = transactions.filter(pl.col("request_time").is_not_null(), pl.col("method").is_not_null())
    legs = known.join(flows.select("flow", *sides, "server_port"), on="flow").sort("request_time", "flow", "index")
    made = [
        legs.with_columns(proxy=hosts[side], address=side).select(
            *("flow", "index", "server", "server_port", "address"),
            pl.col("request_time").to_physical(),
            pl.col("response_first_time").to_physical(),
            pl.coalesce("response_last_time", "end_time").to_physical().alias("end"),
            "host",
            request_bytes="request_body_bytes",
            body_bytes="response_body_bytes",
            digest="body_digest",
            proxy="proxy",
            method="method",
            target="target",
        )
        for side in ("server", "client")
    ]
    fronts, upstreams = made
    return (
        fronts.join(upstreams, on="proxy", how="semi", maintain_order="left"),
        upstreams.join(fronts, on="proxy", how="semi", maintain_order="left"),
    )


def _is_loopback(column: str) -> pl.Expr:
    import polars as pl

    return pl.any_horizontal(pl.col(column).str.starts_with(prefix) for prefix in _LOOPBACK)


def _matched(
    fronts: pl.DataFrame, upstreams: pl.DataFrame, key: tuple[str | pl.Expr, ...], word: str
) -> list[tuple[object, ...]]:
    """Return the pairs of legs with the same key, as rows of the table."""
    begun: defaultdict[tuple[str | int | None, ...], _Fronts] = defaultdict(_Fronts)
    coming = _in_order(fronts, key)
    next_front = next(coming, None)
    found: list[tuple[object, ...]] = []
    for upstream in _in_order(upstreams, key):
        while next_front is not None and next_front.start <= upstream.start:
            begun[next_front.key].waiting[next_front.flow, next_front.transaction] = next_front
            next_front = next(coming, None)
        if upstream.key in begun and (served := begun[upstream.key].serve(upstream)) is not None:
            found.append(_row(*served, upstream, word))
    return found


def _in_order(legs: pl.DataFrame, key: tuple[str | pl.Expr, ...]) -> Iterator[_Leg]:
    fields = legs.drop("proxy", "method", "target").iter_rows()
    for row, its_key in zip(fields, legs.select(*key).iter_rows(), strict=True):
        yield _Leg._make((*row, its_key))


def _is_nested(upstream: _Leg, front: _Leg) -> bool:
    """Return whether the front leg can have caused the upstream leg and waited for its answer."""
    is_in_time = front.start <= upstream.start <= front.answered
    is_answered_later = upstream.first is None or front.first is None or upstream.first <= front.first
    is_another = (front.server, front.port) != (upstream.server, upstream.port)
    return is_in_time and is_answered_later and is_another


def _common(front: _Leg, upstream: _Leg) -> list[str]:
    """Return the common properties of both legs besides the key: words of ``evidence``."""
    shared = {
        "address": front.address == upstream.address and not front.address.startswith(_LOOPBACK),
        "host": front.host is not None and front.host == upstream.host,
        "request-body-size": bool(front.request_bytes) and front.request_bytes == upstream.request_bytes,
        "body-size": bool(front.body_bytes) and front.body_bytes == upstream.body_bytes,
    }
    shared["body-digest"] = shared["body-size"] and front.digest is not None and front.digest == upstream.digest
    return [word for word, is_shared in shared.items() if is_shared]


def _row(front: _Leg, evidence: list[str], upstream: _Leg, word: str) -> tuple[object, ...]:
    words = ["nesting", word, *evidence]
    certainty = 1 - _DOUBT * prod(_FACTORS.get(each, 1.0) for each in words)
    confidence = certainty * (_IN_ORDER_FACTOR if _IN_ORDER in words else 1)
    places = (front.flow, front.transaction, upstream.flow, upstream.transaction)
    return (
        *places,
        upstream.start,
        max(upstream.start, min(upstream.end, front.end)),
        " ".join(words),
        confidence,
    )
