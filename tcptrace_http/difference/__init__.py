"""Comparison of two captures or scenarios, with their time difference split by cause.

::

    difference = tcptrace_http.diff("slow.pcapng", "modelled.toml")
    difference.causes        # time of each cause on both critical paths, and the difference
    difference.transactions  # aligned transactions with their elapsed times
    difference.plot.causes()  # chart from the left side's time to the right side's
    print(difference.text())

Differences are left minus right: positive if the left side took longer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from tcptrace_http.difference.compared import Compared
from tcptrace_http.difference.divergence import Divergence, first_divergences, flows_to_compare
from tcptrace_http.difference.pairs import paired_retrievals, paired_transactions, pairs_of_retrievals
from tcptrace_http.difference.residuals import residuals
from tcptrace_http.difference.side import Side, sides_of
from tcptrace_http.difference.split import causes_of_retrievals, causes_of_transactions, summed
from tcptrace_http.difference.stalls import named_stalls
from tcptrace_http.errors import UnknownName

if TYPE_CHECKING:
    import os

    from tcptrace_http.difference.plots import DifferencePlots
    from tcptrace_http.difference.side import Source

__all__ = ["Difference", "Divergence", "Side", "diff"]


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Difference(Compared):
    """Common parts of two sides, and the causes of their time difference; times are nanoseconds (``Duration``)."""

    @property
    def plot(self) -> DifferencePlots:
        """Return the charts: ``difference.plot.causes()``, ``.transactions()``, ``.sequence()``.

        :raises MissingExtra: Altair is not installed.
        """
        from tcptrace_http.difference.plots import DifferencePlots

        return DifferencePlots(self)

    def __repr__(self) -> str:
        """Return a short form: the frames would fill many pages."""
        from tcptrace_http.difference.words import headline

        return f"<Difference of {self.left.name} and {self.right.name}: {headline(self)}>"

    def _repr_html_(self) -> str:
        """Return the HTML for a notebook."""
        from tcptrace_http.difference.html import overview

        return overview(self)

    def text(self, *, width: int = 80) -> str:
        """Return the differences and their causes as text for a reader."""
        from tcptrace_http.difference.text import rendered

        return rendered(self, width=width)

    def html(self) -> str:
        """Return the report as one self-contained HTML page.

        :raises MissingExtra: the chart library is not installed.
        """
        from tcptrace_http.difference.html import page

        return page(self)

    def json(self) -> str:
        """Return the JSON document: see :mod:`tcptrace_http.difference.json`."""
        from tcptrace_http.difference.json import rendered

        return rendered(self)


def diff(
    left: Source,
    right: Source,
    *,
    retrieval: int | tuple[int, int] | None = None,
    flow: int | tuple[int, int] | None = None,
    jobs: int | None = None,
    keylog: str | os.PathLike[str] | None = None,
) -> Difference:
    """Compare two sides, each a capture, a scenario file (``.toml``), a scenario or an analysis.

    A scenario is simulated, and the capture at its client is analysed. A side may also be the name of a
    strategy or fix (``"http11"``, ``"no-nagle"``, ``"http11+no-nagle"``). The path, hosts and page are then
    inferred from the other side. ``"inferred"`` is the unchanged inferred scenario.

    ``retrieval`` selects one retrieval of the left side, or a pair. If a side is a name, ``retrieval``
    belongs to the other side. ``flow`` selects the flows for the segment comparison in the same way, by
    default the flows that differ most. If a strategy visits a page twice and the other side has two visits,
    both are compared. ``keylog`` is a file with TLS secrets of both sides.

    >>> import tcptrace_http
    >>> slow, fixed = "sample_traces/lan_hdrsep_small.pcap", "sample_traces/lan_hdrsep_small_nodelay.pcap"
    >>> difference = tcptrace_http.diff(slow, fixed)
    >>> difference.causes["cause"][0], difference.difference_ns
    ('stall.nagle_delayed_ack', 800376000)

    :raises CaptureError: a capture or the key log cannot be read.
    :raises ScenarioError: a scenario is invalid, or nothing can be inferred.
    :raises UnknownName: a file, strategy, retrieval or flow is unknown.
    """
    ours, theirs, wanted = sides_of(left, right, retrieval=retrieval, jobs=jobs, keylog=keylog)
    retrievals = _chosen(paired_retrievals(ours.analysis, theirs.analysis), ours, theirs, wanted)
    transactions = paired_transactions(ours.analysis, theirs.analysis, retrievals, is_selection=wanted is not None)
    by_retrieval = causes_of_retrievals(ours.analysis, theirs.analysis, retrievals, transactions)
    both = retrievals.drop_nulls(["left_retrieval", "right_retrieval"])
    flows = flows_to_compare(transactions, *_flows(flow, ours, theirs))
    return Difference(
        left=ours,
        right=theirs,
        retrievals=retrievals,
        transactions=transactions,
        causes=summed(by_retrieval.join(both, on="pair", how="semi")),
        retrieval_causes=by_retrieval,
        transaction_causes=causes_of_transactions(ours.analysis, theirs.analysis, transactions),
        stalls=named_stalls(ours.analysis, theirs.analysis, transactions, both),
        residuals=residuals(ours.analysis, theirs.analysis, both),
        flows=flows,
        divergences=()
        if flows is None
        else first_divergences(ours.analysis, theirs.analysis, transactions, flows),
    )


def _chosen(
    retrievals: pl.DataFrame, left: Side, right: Side, wanted: int | tuple[tuple[int, int], ...] | None
) -> pl.DataFrame:
    """Return the requested retrievals; two numbers form a pair, whatever the alignment."""
    if wanted is None:
        return retrievals
    if isinstance(wanted, tuple):
        for pair in wanted:
            for side, number in zip((left, right), pair, strict=True):
                _check(number, side.analysis.retrievals["retrieval"], f"retrieval of {side.name}")
        return pairs_of_retrievals(left.analysis, right.analysis, wanted)
    _check(wanted, left.analysis.retrievals["retrieval"], f"retrieval of {left.name}")
    return retrievals.filter(pl.col("left_retrieval") == wanted)


def _flows(wanted: int | tuple[int, int] | None, left: Side, right: Side) -> tuple[int | None, int | None]:
    numbers = wanted if isinstance(wanted, tuple) else (wanted, None)
    for side, number in zip((left, right), numbers, strict=True):
        if number is not None:
            _check(number, side.analysis.flows["flow"], f"flow of {side.name}")
    return numbers


def _check(number: int, known: pl.Series, what: str) -> None:
    numbers: list[int] = known.to_list()
    if number not in numbers:
        reason = f"they go up to {max(numbers)}" if numbers else "it has none"
        raise UnknownName(f"{number} is no {what}: {reason}")
