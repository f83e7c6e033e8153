"""Check input of one capture of any length: findings, their subjects, and metric values."""

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

#: Transaction columns that rules, matches and fingerprints use.
_OF_TRANSACTIONS: Final = ("method", "host", "target", "status")
_OF_FLOWS: Final = ("client_port", "server_port", "initial_rtt")


@dataclass(frozen=True, slots=True)
class Gathered:
    """Capture as a check sees it: a few columns of its parts, which are not kept."""

    path: str
    is_cut_short: bool
    known_flows: int
    #: Connections that a detector could not judge, by detector: count and reason.
    unjudged: Mapping[str, tuple[int, str]]
    found: pl.DataFrame
    #: Columns of transactions and flows that policies use.
    transactions: pl.DataFrame
    flows: pl.DataFrame
    #: Flow, transaction and value, by metric.
    measured: Mapping[str, pl.DataFrame]
    notes: Sequence[str] = ()
    #: Original flow number ``own_flow`` by flow, for a dataset, whose findings have a column ``capture``.
    streams: pl.DataFrame | None = None

    def findings(self) -> pl.DataFrame:
        """Return the findings with the columns of their transactions and connections; durations are integer
        nanoseconds.
        """
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
        """Return the metric's values in the transactions of a match; a connection counts by its first
        transaction.
        """
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
        """Return flow and number of the transactions that fit a match."""
        import polars as pl

        rows = self.transactions.join(self.flows, on="flow", how="left")
        kept = [(row["flow"], row["transaction"]) for row in rows.iter_rows(named=True) if match.fits(traits(row))]
        schema = {name: rows.schema[name] for name in ("flow", "transaction")}
        return pl.DataFrame(kept, schema=schema, orient="row")


def of_whole(analysis: Analysis, policy: Policy) -> Gathered:
    """Return the check input of an analysis in one piece, also after a selection of rows."""
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
    """Collected parts of a capture, until all have come."""

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
    """Return the check input of one capture in parts.

    Memory holds one part (:func:`~tcptrace_http.analysis.analyze_in_batches`) and a few words per transaction
    at a time.
    """
    taken = _Parts(policy)
    for part in parts:
        taken.add(part)
        # The next part is made while this one is released.
        del part
    return taken.together()


def _metrics_of(policy: Policy) -> list[Metric]:
    """Return the metrics of the thresholds."""
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
    """Return the traits of a row for matches, from the columns of its transaction and connection."""
    return Traits(
        host=_without_port(row["host"]),
        path=_path(row["target"]),
        port=row["server_port"],
        status=row["status"],
        method=row["method"],
    )


def _without_port(host: str | None) -> str | None:
    """Return the host of a Host field (RFC 9110, section 7.2), also of an IPv6 literal."""
    if host is None:
        return None
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdigit() and not (name.count(":") and not name.endswith("]")) else host


def _path(target: str | None) -> str | None:
    """Return the path of a request target, without its query."""
    return None if target is None else target.partition("?")[0]
