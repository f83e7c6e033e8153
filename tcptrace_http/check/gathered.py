"""What a check keeps of one capture of any length: findings, what they are about, and the values of metrics."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tcptrace_http.check.metrics import METRICS
from tcptrace_http.check.policy import Traits
from tcptrace_http.pages import PAGE_TABLES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import polars as pl

    from tcptrace_http.analysis import Analysis
    from tcptrace_http.check.metrics import Metric
    from tcptrace_http.check.policy import Match, Policy

__all__ = ["Gathered", "gathered", "of_whole", "traits"]

#: What rules, matches and fingerprints ask of a transaction and of its connection.
_OF_TRANSACTIONS: Final = ("method", "host", "target", "status")
_OF_FLOWS: Final = ("client_port", "server_port", "initial_rtt")


@dataclass(frozen=True, slots=True)
class Gathered:
    """One capture as a check sees it: a few columns of its parts, which themselves are not kept."""

    path: str
    is_cut_short: bool
    known_flows: int
    #: Connections that a detector could not judge, by detector: how many, and why.
    unjudged: Mapping[str, tuple[int, str]]
    found: pl.DataFrame
    #: The columns of transactions and of flows that policies ask of.
    transactions: pl.DataFrame
    flows: pl.DataFrame
    #: Flow, transaction and value, by metric.
    measured: Mapping[str, pl.DataFrame]
    notes: Sequence[str] = ()
    #: Of a dataset, whose findings have a column ``capture``: by flow its number there, ``own_flow``.
    streams: pl.DataFrame | None = None

    def findings(self) -> pl.DataFrame:
        """The findings, with what their transactions and connections are; durations are integer nanoseconds."""
        import polars as pl
        import polars.selectors as cs

        key = ["flow", "transaction"]
        found = (
            self.found.join(self.transactions, on=key, how="left", maintain_order="left")
            .join(self.flows, on="flow", how="left", maintain_order="left")
            .with_columns(cs.duration().to_physical())
        )
        if self.streams is None:
            return found.with_columns(capture=pl.lit(self.path), own_flow="flow")
        return found.join(self.streams, on="flow", how="left", maintain_order="left")

    def values(self, metric: str, match: Match | None) -> pl.Series:
        """The values of a metric in the transactions that a match is for; of a connection, of its first one."""
        import polars as pl

        values = self.measured[metric]
        if match is None:
            return values["value"]
        fitting = self._fitting(match)
        of_transactions = values.filter(pl.col("transaction").is_not_null()).join(
            fitting, on=["flow", "transaction"], how="semi"
        )
        first = fitting.filter(transaction=0).select("flow")
        of_flows = values.filter(pl.col("transaction").is_null()).join(first, on="flow", how="semi")
        return pl.concat([of_transactions, of_flows])["value"]

    def _fitting(self, match: Match) -> pl.DataFrame:
        """Flow and number of the transactions that a match is for."""
        import polars as pl

        rows = self.transactions.join(self.flows, on="flow", how="left")
        kept = [(row["flow"], row["transaction"]) for row in rows.iter_rows(named=True) if match.fits(traits(row))]
        schema = {name: rows.schema[name] for name in ("flow", "transaction")}
        return pl.DataFrame(kept, schema=schema, orient="row")


def of_whole(analysis: Analysis, policy: Policy) -> Gathered:
    """What a policy judges of an analysis in one piece, also of one whose rows were selected."""
    import polars as pl

    return Gathered(
        path=analysis.capture.path,
        is_cut_short=analysis.capture.truncated,
        known_flows=analysis.flows.filter(pl.col("protocol").is_not_null()).height,
        unjudged=_unjudged(analysis.inconclusive),
        found=analysis.findings,
        transactions=_named(analysis.transactions),
        flows=analysis.flows.select("flow", *_OF_FLOWS),
        measured={metric.name: _values(metric, getattr(analysis, metric.table)) for metric in _metrics_of(policy)},
    )


class _Parts:
    """What is kept of the parts of a capture, until all of them have come."""

    def __init__(self, policy: Policy) -> None:
        from tcptrace_http.judged import Judged

        self._metrics = _metrics_of(policy)
        self._judged = Judged()
        self._known_flows = 0
        self._kept: dict[str, list[pl.DataFrame]] = defaultdict(list)

    def add(self, part: Analysis) -> None:
        import polars as pl

        self._capture = part.capture
        self._known_flows += part.flows.filter(pl.col("protocol").is_not_null()).height
        self._kept["transactions"].append(_named(part.transactions))
        self._kept["flows"].append(part.flows.select("flow", *_OF_FLOWS))
        self._judged.add(part)
        for metric in self._metrics:
            if metric.table not in PAGE_TABLES:
                self._kept[metric.name].append(_values(metric, getattr(part, metric.table)))

    def together(self) -> Gathered:
        import polars as pl

        pages = self._judged.pages
        return Gathered(
            path=self._capture.path,
            is_cut_short=self._capture.truncated,
            known_flows=self._known_flows,
            unjudged=_unjudged(self._judged.inconclusive),
            found=self._judged.findings,
            transactions=pl.concat(self._kept["transactions"]),
            flows=pl.concat(self._kept["flows"]),
            measured={
                metric.name: _values(metric, pages.table(metric.table))
                if metric.table in PAGE_TABLES
                else pl.concat(self._kept[metric.name])
                for metric in self._metrics
            },
            notes=() if pages.complaint is None else (pages.complaint,),
        )


def gathered(parts: Iterable[Analysis], policy: Policy) -> Gathered:
    """What a policy judges of one capture, taken of its parts.

    Of the parts (:func:`~tcptrace_http.analysis.analyze_in_batches`) memory holds one at a time, and of each
    transaction a few words.
    """
    taken = _Parts(policy)
    for part in parts:
        taken.add(part)
        # The next part is made while this one may go.
        del part
    return taken.together()


def _metrics_of(policy: Policy) -> list[Metric]:
    """The metrics that thresholds are about."""
    limited = (*policy.thresholds, *(one for match in policy.matches for one in match.thresholds))
    return [METRICS[name] for name in sorted({one.metric for one in limited})]


def _named(transactions: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    return transactions.select("flow", pl.col("index").alias("transaction"), *_OF_TRANSACTIONS)


def _values(metric: Metric, rows: pl.DataFrame) -> pl.DataFrame:
    return metric.values(rows.lazy()).drop_nulls("value").collect()


def _unjudged(rows: pl.DataFrame) -> dict[str, tuple[int, str]]:
    return {
        name: (flows, reason) for name, flows, reason in rows.select("detector", "flows", "reason").iter_rows()
    }


def traits(row: Mapping[str, Any]) -> Traits:
    """What a policy's matches are asked about, of a row with a transaction's and its connection's columns."""
    return Traits(
        host=_without_port(row["host"]),
        path=_path(row["target"]),
        port=row["server_port"],
        status=row["status"],
        method=row["method"],
    )


def _without_port(host: str | None) -> str | None:
    """The host of a Host field (RFC 9110, section 7.2), also of one with an IPv6 literal."""
    if host is None:
        return None
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdigit() and not (name.count(":") and not name.endswith("]")) else host


def _path(target: str | None) -> str | None:
    """The path of a request target, without its query."""
    return None if target is None else target.partition("?")[0]
