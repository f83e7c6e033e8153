"""Segments of both flows around their divergence, side by side."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from tcptrace_http.quantity import duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tcptrace_http.analysis import Analysis
    from tcptrace_http.difference.compared import Compared
    from tcptrace_http.difference.divergence import Divergence

__all__ = ["Row", "Seen", "rows_around"]

#: Number of segments before and after the divergence.
_BEFORE: Final = 5
_AFTER: Final = 5
_FLAGS: Final = ((2, "SYN"), (4, "RST"), (1, "FIN"))


@dataclass(frozen=True, slots=True)
class Seen:
    """Segment in words."""

    frame: int
    #: Times after the transaction's start, and after the previous segment.
    moment: str
    wait: str
    words: str


@dataclass(frozen=True, slots=True)
class Row:
    """Pair of segments; None for a side without more segments."""

    left: Seen | None
    right: Seen | None
    #: True at the divergence.
    is_here: bool


def rows_around(difference: Compared, divergence: Divergence) -> list[Row]:
    """Return the segments of both compared flows, aligned at the divergence."""
    if difference.flows is None:
        return []
    places = (
        (difference.left.analysis, difference.flows[0], divergence.left_transaction, divergence.left_frame),
        (difference.right.analysis, difference.flows[1], divergence.right_transaction, divergence.right_frame),
    )
    (left, at), (right, there) = (_around(*place) for place in places)
    # Earlier segments count backwards from the divergence, so both sides align there.
    before = zip_longest(reversed(left[:at]), reversed(right[:there]))
    after = zip_longest(left[at:], right[there:])
    rows = [Row(one, other, is_here=False) for one, other in reversed(list(before))]
    return rows + [Row(one, other, is_here=index == 0) for index, (one, other) in enumerate(after)]


def _around(analysis: Analysis, flow: int, transaction: int, frame: int | None) -> tuple[Sequence[Seen], int]:
    """Return the segments around a frame with the index of the divergence, or the end of the response without
    one.
    """
    own = analysis.segments.filter(pl.col("flow") == flow).with_columns(pl.col("time").to_physical())
    of = analysis.transactions.filter(pl.col("flow") == flow, pl.col("index") == transaction)
    start, last = of.select(pl.col("start_time").to_physical(), "response_last_frame").row(0)
    if frame is None:
        # No later segment exists: the last one precedes the divergence.
        own = own.filter(pl.col("frame") <= (last or 0))
        place = own.height
    else:
        place = own.filter(pl.col("frame") < frame).height
    first = max(0, place - _BEFORE)
    times = own["time"].to_list()
    shown = own.slice(first, place - first + 1 + _AFTER)
    origin = start if start is not None else (times[0] if times else 0)
    seen = [
        _seen(row, origin, times[number - 1] if number else None)
        for number, row in enumerate(shown.iter_rows(named=True), start=first)
    ]
    return seen, place - first


def _seen(row: dict[str, Any], origin: int, before: int | None) -> Seen:
    time = row["time"]
    return Seen(
        frame=row["frame"],
        moment=duration(time - origin),
        wait="" if before is None else duration(time - before),
        words=_words(row),
    )


def _words(row: dict[str, Any]) -> str:
    arrow = "→ server" if row["direction"] == "client_to_server" else "← server"
    size = row["payload_bytes"]
    parts = [name for bit, name in _FLAGS if row["flags"] & bit]
    parts += [f"{size:,} bytes, {row['seq']:,} to {row['seq'] + size:,}"] if size else []
    if row["ack"] is not None and not size:
        parts.append(f"ACK {row['ack']:,}")
    parts += [
        word
        for word, applies in (("sent again", row["is_retransmission"]), ("out of order", row["is_out_of_order"]))
        if applies
    ]
    return f"{arrow} {', '.join(parts)}"
