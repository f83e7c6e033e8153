"""Sentences about a difference for every format: the amount, the reason, and the model's accuracy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from tcptrace_http.difference.modelled import INFERRED
from tcptrace_http.difference.pairs import is_opaque
from tcptrace_http.difference.split import UNALIGNED
from tcptrace_http.quantity import counted, duration

if TYPE_CHECKING:
    from tcptrace_http.analysis import Analysis
    from tcptrace_http.difference.compared import Compared
    from tcptrace_http.difference.divergence import Divergence

__all__ = [
    "cause_words",
    "divergence_words",
    "explanation",
    "headline",
    "model_words",
    "signed",
    "title",
    "told",
    "transfer_words",
]

#: Maximum model deviation, as a share of the difference, for an explanation.
_OWN_ERROR: Final = 0.25


def title(difference: Compared) -> str:
    """Return the slower side, and its excess."""
    more = difference.difference_ns
    if difference.aligned_retrievals.is_empty():
        return "Nothing can be compared"
    if not more:
        return "Both sides take the same time"
    return f"The {'left' if more > 0 else 'right'} side takes {duration(abs(more))} longer"


def told(difference: Compared) -> list[str]:
    """Return all sentences about the whole difference."""
    words = (
        headline(difference),
        explanation(difference),
        transfer_words(difference),
        opaque_words(difference),
        model_words(difference),
    )
    return [each for each in words if each]


def headline(difference: Compared) -> str:
    """Return the excess of the slower side."""
    count = difference.aligned_retrievals.height
    if not count:
        return f"{_no_common(difference)}: nothing can be compared."
    left, right, more = difference.left_ns, difference.right_ns, difference.difference_ns
    times = f"{duration(left)} on the left, {duration(right)} on the right"
    which = "The aligned retrieval took" if count == 1 else f"{count:,} aligned retrievals took"
    if not more:
        return f"{which} the same time on both sides: {duration(left)}."
    longer = f"{duration(abs(more))} longer on the {'left' if more > 0 else 'right'}"
    each = "" if count == 1 else f" ({duration(round(abs(more) / count))} each)"
    return f"{which} {times}: {longer}{each}."


def _no_common(difference: Compared) -> str:
    sides = (("left", difference.left), ("right", difference.right))
    silent = [word for word, side in sides if side.analysis.transactions.is_empty()]
    if len(silent) == len(sides):
        return "There is no HTTP on either side"
    if silent:
        return f"There is no HTTP on the {silent[0]} side"
    return "No retrieval of the left side is one of the right side"


def explanation(difference: Compared) -> str:
    """Return the main cause and its findings; empty without one."""
    more = difference.difference_ns
    if not more or difference.causes.is_empty():
        return ""
    top = difference.causes.with_columns(pl.col("difference").to_physical()).row(0, named=True)
    if top["difference"] * more <= 0:
        return ""
    side = "left" if more > 0 else "right"
    named = difference.stalls.filter(pl.col("cause") == top["cause"], pl.col(f"{side}_count") > 0)
    found = [f"{row[f'{side}_count']:,} {row['detector']}" for row in named.iter_rows(named=True)]
    told = f" ({', '.join(found)})" if found else ""
    part, cause = duration(abs(top["difference"])), cause_words(top["cause"])
    if abs(top["difference"]) <= abs(more):
        return f"{part} of the {duration(abs(more))} are {cause}{told}."
    back = duration(abs(top["difference"] - more))
    return f"{cause} alone: {part}{told}; other causes give {back} back."


def transfer_words(difference: Compared) -> str:
    """Return the FTP transfers of either side, which cannot be aligned; empty without any."""
    sides = (("left", difference.left), ("right", difference.right))
    if all(side.analysis.transfers.is_empty() for _, side in sides):
        return ""
    told = [_transfers_of(word, side.analysis) for word, side in sides]
    return f"FTP is compared as a whole: {told[0]}; {told[1]}."


def _transfers_of(word: str, analysis: Analysis) -> str:
    files = analysis.transfers
    if not files.is_empty():
        span = int(files.select((pl.col("end").max() - pl.col("start").min()).to_physical()).item())
        return f"{counted(files.height, 'file')} of {files['bytes'].sum():,} B in {duration(span)} on the {word}"
    pages = analysis.retrievals
    elapsed = int(pages["elapsed"].to_physical().sum())
    return f"{counted(pages.height, 'retrieval')} by HTTP of {duration(elapsed)} together on the {word}"


def opaque_words(difference: Compared) -> str:
    """Return the limits of TLS without keys; empty without such TLS."""
    sides = (("left", difference.left), ("right", difference.right))
    names = [word for word, side in sides if is_opaque(side.analysis)]
    if not names:
        return ""
    which = "Both sides are" if len(names) == len(sides) else f"The {names[0]} side is"
    return (
        f"{which} TLS without keys, where exchanges have no method and no target: they are aligned by order and "
        "size."
    )


def model_words(difference: Compared) -> str:
    """Return the basis of an inferred side; empty without one."""
    sides = (
        (difference.left, difference.right_ns, "right"),
        (difference.right, difference.left_ns, "left"),
    )
    told: list[str] = []
    for side, captured, other in sides:
        if side.model is None:
            continue
        told += side.model.notes
        if side.name != INFERRED and side.inferred_ns is not None:
            off = side.inferred_ns - captured
            against = f"{duration(abs(off))} {'more' if off > 0 else 'less'} than" if off else "as long as"
            told.append(
                f"The inference from the {other} side takes {duration(side.inferred_ns)}, {against} that side:"
                " this is the model's deviation."
            )
            if abs(off) > _OWN_ERROR * abs(difference.difference_ns):
                told.append("A large part of the difference is then the model's own error.")
        if side.model.assumptions:
            figures = counted(len(side.model.assumptions), "figure")
            told.append(
                f"The model assumes {figures} that the capture does not show: tcptrace-http infer lists them."
            )
    return " ".join(told)


def divergence_words(divergence: Divergence) -> str:
    """Return the divergence of two flows, as a clause."""
    left, right = divergence.left_transaction, divergence.right_transaction
    which = f"transaction {left}" if left == right else f"transaction {left} against {right}"
    what = "what was sent" if divergence.cause is None else "time"
    return f"{which} first differs in {what}: {divergence.words}"


def cause_words(cause: str) -> str:
    """Return a cause of a split in display form."""
    return "transactions of one side" if cause == UNALIGNED else cause


def signed(nanoseconds: int) -> str:
    """Return a difference with its sign."""
    return f"+{duration(nanoseconds)}" if nanoseconds > 0 else duration(nanoseconds)
