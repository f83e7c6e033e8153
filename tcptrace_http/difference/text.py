"""Difference as text: the amount, the causes, the transactions, and the first divergence."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from tcptrace_http.difference.summary import (
    Line,
    cause_lines,
    model_failures,
    model_rows,
    stall_rows,
    transactions_by_difference,
)
from tcptrace_http.difference.words import divergence_words, signed, told
from tcptrace_http.quantity import counted, duration
from tcptrace_http.report.grid import Heading, clipped, grid, printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tcptrace_http.difference.compared import Compared

__all__ = ["rendered"]

#: Maximum number of differing transactions, and of one-sided ones.
_TRANSACTIONS_SHOWN: Final = 10
_ONE_SIDED_SHOWN: Final = 5
_NAME_MAX: Final = 40
#: Maximum number of divergences: later ones follow from earlier ones.
_DIVERGENCES_SHOWN: Final = 4
_CAUSES: Final = (
    Heading("cause"),
    Heading("left", is_number=True),
    Heading("right", is_number=True),
    Heading("difference", is_number=True),
)
_STALLS: Final = (
    Heading("finding"),
    Heading("cause", is_elastic=True),
    Heading("left", is_number=True),
    Heading("right", is_number=True),
    Heading("lost more", is_number=True),
)
_TRANSACTIONS: Final = (
    Heading("left", is_number=True),
    Heading("right", is_number=True),
    Heading("target", is_elastic=True),
    Heading("left", is_number=True),
    Heading("right", is_number=True),
    Heading("difference", is_number=True),
    Heading("most of it", is_elastic=True),
)
_RESIDUALS: Final = (
    Heading("model"),
    Heading("side"),
    Heading("retrievals", is_number=True),
    Heading("predicted", is_number=True),
    Heading("took", is_number=True),
    Heading("left out", is_number=True),
)


def rendered(difference: Compared, *, width: int) -> str:
    """Return the whole text, with lines of at most ``width`` where the words allow it."""
    sections = [
        [*_sides(difference, width), *(line for words in told(difference) for line in _wrapped(words, width))],
        _causes(difference, width),
        _stalls(difference, width),
        _transactions(difference, width),
        _one_sided(difference, width),
        _divergences(difference, width),
        _residuals(difference, width),
    ]
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def _sides(difference: Compared, width: int) -> Iterator[str]:
    for word, side in (("left", difference.left), ("right", difference.right)):
        room = width - len(f"{word:<5}    ({side.kind})")
        yield f"{word:<5}  {clipped(printable(side.name), room)}  ({side.kind})"
    yield ""


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)


def _causes(difference: Compared, width: int) -> list[str]:
    """Return the causes with their sums, the elapsed times."""
    lines = cause_lines(difference)
    if not lines:
        return []
    total = Line("elapsed", difference.left_ns, difference.right_ns)
    return grid(_CAUSES, [_times(line) for line in (*lines, total)], width)


def _times(line: Line) -> Sequence[str]:
    return line.name, duration(line.left_ns), duration(line.right_ns), signed(line.difference_ns)


def _stalls(difference: Compared, width: int) -> list[str]:
    # The losses per side would make the lines too long.
    rows = [(*row[:4], row[-1]) for row in stall_rows(difference)]
    return grid(_STALLS, rows, width) if rows else []


def _transactions(difference: Compared, width: int) -> list[str]:
    """Return the aligned transactions that differ most, with their main cause."""
    aligned = transactions_by_difference(difference).drop_nulls(["left_flow", "right_flow"])
    differing = aligned.filter(pl.col("difference") != 0)
    if differing.is_empty():
        return []
    worst = differing.head(_TRANSACTIONS_SHOWN)
    rows = [_transaction(row) for row in worst.iter_rows(named=True)]
    lines = grid(_TRANSACTIONS, rows, width)
    if differing.height > worst.height:
        lines.append(f"({differing.height - worst.height:,} more transactions differ)")
    return lines


def _transaction(row: dict[str, Any]) -> Sequence[str]:
    targets = dict.fromkeys(filter(None, (row["left_target"], row["right_target"])))
    return (
        f"{row['left_flow']}.{row['left_transaction']}",
        f"{row['right_flow']}.{row['right_transaction']}",
        clipped(" = ".join(targets) or "?", _NAME_MAX),
        duration(row["left_elapsed"]),
        duration(row["right_elapsed"]),
        signed(row["difference"]),
        row["cause"] or "",
    )


def _one_sided(difference: Compared, width: int) -> list[str]:
    """Return the one-sided retrievals and transactions with their times."""
    lines = []
    for side in ("left", "right"):
        other = "right" if side == "left" else "left"
        pages = difference.retrievals.filter(pl.col(f"{other}_retrieval").is_null())
        if not pages.is_empty():
            time = duration(int(pages[f"{side}_elapsed"].to_physical().sum()))
            lines.append(f"Only on the {side}: {counted(pages.height, 'retrieval')} of {time} together.")
        # Transactions of the pages in the previous line are not repeated.
        others = difference.transactions.join(pages, on=f"{side}_retrieval", how="anti")
        alone = others.filter(pl.col("how") == f"only_{side}")
        if not alone.is_empty():
            time = duration(int(alone[f"{side}_elapsed"].to_physical().sum() or 0))
            names = [printable(name or "?") for name in alone[f"{side}_target"].head(_ONE_SIDED_SHOWN).to_list()]
            more = ", …" if alone.height > _ONE_SIDED_SHOWN else ""
            several = f"Only on the {side}: {counted(alone.height, 'transaction')} of {time} together"
            lines += _wrapped(f"{several} ({', '.join(names)}{more}).", width)
    return lines


def _divergences(difference: Compared, width: int) -> list[str]:
    if difference.flows is None:
        return []
    left, right = difference.flows
    title = f"Flow {left} of the left side against flow {right} of the right side:"
    if not difference.divergences:
        return [title, "  no segment differs noticeably in content or time."]
    told = (f"{divergence_words(it)}." for it in difference.divergences[:_DIVERGENCES_SHOWN])
    return [title, *(line for words in told for line in _bullet(words, width))]


def _bullet(words: str, width: int) -> list[str]:
    return textwrap.wrap(
        words, width, initial_indent="- ", subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )


def _residuals(difference: Compared, width: int) -> list[str]:
    """Return the means of the models whose assumptions hold, or the reason for none."""
    rows = model_rows(difference)
    lines = grid(_RESIDUALS, rows, width) if rows else []
    for side, reason, count in model_failures(difference):
        lines += _wrapped(f"No analytic model for {counted(count, 'retrieval')} on the {side}: {reason}.", width)
    return lines
