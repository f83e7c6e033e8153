"""The critical path of a retrieval: which wait of which transaction bounded its page time.

From the last byte of the page backward: the transaction that ended last, back to what released its
request; then the one that did; and so on to the start. A request is released by the latest of three: the
bytes of its initiator that name it had come; the transaction before it on its connection was over; or a
connection became free where the client had as many open as it ever did. What is between is the client's.
The response to a pipelined request is released by the end of the one before it on the connection.

P. Barford and M. Crovella, Critical Path Analysis of TCP Transactions (IEEE/ACM ToN 9(3), 2001), for one
transaction; X. S. Wang et al., Demystifying Page Load Performance with WProf (NSDI 2013), for the page.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from tcptrace_http.schema import TABLES, polars_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import polars as pl

__all__ = ["Member", "Stretch", "critical_path", "stretches"]


class Member(NamedTuple):
    """A transaction of a retrieval; times are nanoseconds since the epoch."""

    retrieval: int
    flow: int
    transaction: int
    initiator: tuple[int, int] | None
    known: int | None
    start: int
    request: int
    end: int

    @property
    def place(self) -> tuple[int, int]:
        """By which it is named as an initiator."""
        return self.flow, self.transaction


class Stretch(NamedTuple):
    """A part of the critical path that is of one transaction."""

    retrieval: int
    flow: int
    transaction: int
    start: int
    end: int


class _Release(NamedTuple):
    """When a request could be sent, and the transaction that it had waited for."""

    time: int
    member: Member


def critical_path(
    retrievals: pl.DataFrame, retrieval_transactions: pl.DataFrame, waits: pl.DataFrame
) -> pl.DataFrame:
    """The rows of the table ``critical_path``; all three have the columns of their tables.

    Time before a transaction of the path has begun is ``client.think``; time of one that ``waits`` does not
    have is ``unexplained``.
    """
    import polars as pl

    columns = polars_schema(TABLES["critical_path"])
    found = [stretch for members in _members(retrieval_transactions) for stretch in stretches(members)]
    # Nanoseconds as numbers until the end.
    path = pl.DataFrame(
        found, schema=Stretch._fields, orient="row", schema_overrides=dict.fromkeys(Stretch._fields, pl.Int64)
    )
    begins = retrieval_transactions.select(
        pl.col("flow", "transaction").cast(pl.Int64), begins=pl.col("start").to_physical()
    )
    elapsed = retrievals.select(pl.col("retrieval").cast(pl.Int64), elapsed=pl.col("elapsed").to_physical())
    return (
        _pieces(path.join(begins, on=["flow", "transaction"], how="left"), waits)
        .join(elapsed, on="retrieval", how="left")
        .sort("retrieval", "start")
        .with_columns(
            step=pl.int_range(pl.len()).over("retrieval"),
            share=(pl.col("end") - pl.col("start")) / pl.col("elapsed"),
        )
        .select(pl.col(name).cast(dtype) for name, dtype in columns.items())
    )


def _pieces(path: pl.DataFrame, waits: pl.DataFrame) -> pl.DataFrame:
    """The stretches cut by the waits of their transactions, and what no wait covers."""
    import polars as pl

    key = ["flow", "transaction"]
    of_path = path.select(pl.col("flow", "transaction").cast(pl.UInt32)).unique()
    plain = waits.join(of_path, on=key, how="semi", maintain_order="left").select(
        pl.col(key).cast(pl.Int64),
        pl.col("cause").cast(pl.String),
        wait_start=pl.col("start").to_physical(),
        wait_end=pl.col("end").to_physical(),
    )
    covered = (
        path.join(plain, on=key, how="inner")
        .with_columns(start=pl.max_horizontal("start", "wait_start"), end=pl.min_horizontal("end", "wait_end"))
        .filter(pl.col("start") < pl.col("end"))
        .sort("retrieval", *key, "start")
        # Where two waits claim a time, the first has it.
        .with_columns(start=pl.max_horizontal("start", pl.col("end").cum_max().shift(1).over("retrieval", *key)))
        .filter(pl.col("start") < pl.col("end"))
    )
    bounds = pl.concat(
        [
            covered.select("retrieval", *key, "begins", "start", "end"),
            path.select("retrieval", *key, "begins", start="end", end="end"),
            path.select("retrieval", *key, "begins", start="start", end="start"),
        ]
    ).sort("retrieval", *key, "start", "end")
    holes = bounds.with_columns(
        start=pl.col("end").cum_max().shift(1).over("retrieval", *key), end="start"
    ).filter(pl.col("start") < pl.col("end"))
    before = holes.with_columns(end=pl.min_horizontal("end", "begins"), cause=pl.lit("client.think"))
    after = holes.with_columns(start=pl.max_horizontal("start", "begins"), cause=pl.lit("unexplained"))
    shown = ["retrieval", *key, "cause", "start", "end"]
    pieces = pl.concat([covered.select(shown), before.select(shown), after.select(shown)])
    return pieces.filter(pl.col("start") < pl.col("end"))


def _members(retrieval_transactions: pl.DataFrame) -> Iterator[list[Member]]:
    """The transactions of each retrieval."""
    import polars as pl

    times = ["known", "start", "request_time", "end"]
    rows = retrieval_transactions.sort("retrieval").select(
        "retrieval", "flow", "transaction", "initiator_flow", "initiator_transaction", pl.col(times).to_physical()
    )
    members = (
        Member(retrieval, flow, transaction, None if by is None else (by, number), *moments)
        for retrieval, flow, transaction, by, number, *moments in rows.iter_rows()
    )
    for _, of_one in groupby(members, key=attrgetter("retrieval")):
        yield list(of_one)


def stretches(members: Sequence[Member]) -> list[Stretch]:
    """The critical path of one retrieval, from its end backward: the stretches cover it without a gap.

    The first of ``members`` by request is the base document. It starts the retrieval, the last byte of any
    ends it. A retrieval that took no time has none.
    """
    if len(members) == 1:
        (alone,) = members
        return [Stretch(*alone[:3], alone.start, alone.end)] if alone.start < alone.end else []
    page = _Page(members)
    current = max(members, key=attrgetter("end", "request", "flow", "transaction"))
    cursor = current.end
    path: list[Stretch] = []
    visited: set[tuple[int, int]] = set()
    while cursor > page.start:
        visited.add(current.place)
        releases = [it for it in page.releases(current, cursor) if it.member.place not in visited]
        release = max(releases, default=None, key=attrgetter("time"))
        since = page.start if release is None else max(release.time, page.start)
        if since < cursor:
            path.append(Stretch(current.retrieval, current.flow, current.transaction, since, cursor))
        if release is None:
            break
        current, cursor = release.member, since
    return path


class _Page:
    """The transactions of a retrieval, to be looked up by what had ended when."""

    def __init__(self, members: Sequence[Member]) -> None:
        self.start = min(members, key=attrgetter("request", "flow", "transaction")).start
        self._by_place = {member.place: member for member in members}
        self._all = _Ended(members)
        self._of_flow: dict[int, _Ended] = {}
        by_flow = sorted(members, key=attrgetter("flow"))
        for flow, of_flow in groupby(by_flow, key=attrgetter("flow")):
            self._of_flow[flow] = _Ended(list(of_flow))
        self._requests = sorted(member.request for member in members)
        self._busy_max = max(self._busy_before(end) for end in self._all.ends)

    def releases(self, member: Member, cursor: int) -> Iterator[_Release]:
        """What may have released the request of ``member``: nothing of that is after ``cursor``."""
        queued_behind = self._by_place.get((member.flow, member.transaction - 1))
        if queued_behind is not None and member.request < queued_behind.end < cursor:
            yield _Release(queued_behind.end, queued_behind)
        until = min(member.request, cursor)
        initiator = self._by_place.get(member.initiator) if member.initiator else None
        if initiator is not None and member.known is not None and member.known <= until:
            yield _Release(member.known, initiator)
        before = self._of_flow[member.flow].latest(until, member)
        if before is not None:
            yield before
        free = self._all.latest(until, member)
        if free is not None and (initiator is None or self._busy_before(free.time) == self._busy_max):
            yield free

    def _busy_before(self, end: int) -> int:
        """Transactions in progress just before that time."""
        return bisect_left(self._requests, end) - bisect_left(self._all.ends, end)


class _Ended:
    """Transactions by their end."""

    def __init__(self, members: Iterable[Member]) -> None:
        self._members = sorted(members, key=attrgetter("end", "request", "flow", "transaction"))
        self.ends = [member.end for member in self._members]

    def latest(self, until: int, other_than: Member) -> _Release | None:
        """The last that had ended by then."""
        for at in range(bisect_right(self.ends, until) - 1, -1, -1):
            if self._members[at] is not other_than:
                return _Release(self.ends[at], self._members[at])
        return None
