"""Predictions for a reader: the model's deviation from the capture, the largest savings, and their causes."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Final

from tcptrace_http.quantity import counted, duration
from tcptrace_http.report.grid import Heading, clipped, grid, printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tcptrace_http.what_if.prediction import Prediction, Row

__all__ = ["headline", "rendered", "retelling"]

#: Maximum number of rows per kind by default; smaller savings than this share are merged into one line.
_SHOWN: Final = 10
_SHARE_MIN: Final = 0.005
#: Maximum number of causes per row. Causes below this share of the largest are only counted.
_CAUSES_SHOWN: Final = 2
#: Minimum width of a cause's name in columns.
_CAUSES_ROOM: Final = 12
#: Maximum number of rows with a separate table of causes.
_DETAILED_MAX: Final = 4
_CAUSE_MIN: Final = 0.05
_NAME_MAX: Final = 60
#: Name of the fix with all server fixes, and the party whose fixes come first.
_EVERY: Final = "all-fixes"
_SERVER: Final = "server"
_CAUSES: Final = (
    Heading("change", is_elastic=True),
    Heading("cause"),
    Heading("before", is_number=True),
    Heading("after", is_number=True),
    Heading("saves", is_number=True),
)
#: Tables by title: the kind of their rows, whether they are second accesses, and the noun for further rows.
_TITLES: Final = {
    "fix": ("fix", False, "fixes"),
    "strategy": ("strategy", False, "strategies"),
    "second access by": ("strategy", True, "strategies"),
}


def rendered(prediction: Prediction, *, width: int, every: bool) -> str:
    """Return the whole text, with lines of at most ``width`` where the words allow it."""
    sections = [
        [*_wrapped(retelling(prediction), width), *_wrapped(headline(prediction), width)],
        *(_table(prediction, title, width, every=every) for title in _TITLES),
        _details(prediction, width),
        _notes(prediction, width, every=every),
    ]
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def retelling(prediction: Prediction) -> str:
    """Return measured and modelled time, and whether the model is accurate enough."""
    what = "retrieval" if prediction.retrievals == 1 else counted(prediction.retrievals, "retrieval")
    name = clipped(printable(prediction.capture), _NAME_MAX)
    measured, modelled = duration(prediction.measured_ns), duration(prediction.modelled_ns)
    off = f"measured: {measured}; {prediction.off:.1%} off"
    text = f"{name}: the model reproduces the {what} as {modelled} ({off})."
    if not prediction.is_reproduced:
        text += " Warning: the model is far off this capture; the predictions are about the model only."
    if prediction.retrievals < prediction.captured_retrievals and prediction.retrievals == 1:
        captured = f"{prediction.captured_retrievals:,} retrievals"
        text += f" The capture has {captured}: --session predicts all of its client."
    if prediction.part is not None:
        text += f" All times are of {prediction.part.words}."
    path = _path(prediction)
    return f"{text} {path}" if path else text


def _path(prediction: Prediction) -> str:
    from reference_sim.quantities import rate_text

    requested = []
    if prediction.rtt_ns is not None:
        requested.append(f"a round trip of {duration(prediction.rtt_ns)}")
    if prediction.rate is not None:
        requested.append(rate_text(prediction.rate))
    if not requested:
        return ""
    takes = duration(prediction.baseline_ns)
    return f"Over {' and '.join(requested)} the retrieval takes {takes}; savings are relative to that."


def headline(prediction: Prediction) -> str:
    """Return the result of the most important change, and the cause that disappears."""
    best = _best(prediction)
    if best is None:
        return "No tried change shortens the retrieval."
    before, after = duration(prediction.baseline_ns), duration(best.elapsed_ns)
    how = f"With {best.name}" if best.kind == "fix" else f"By {best.name}"
    text = f"{how} the retrieval takes {after} instead of {before}"
    cause = best.causes[0] if best.causes else None
    if cause is None or cause.saved_ns <= 0:
        return f"{text}."
    found = ", ".join(f"{count} {name}" for name, count in prediction.stalls.get(cause.cause, {}).items())
    told = f" ({found})" if found else ""
    return f"{text}: {duration(cause.saved_ns)} of {cause.cause}{told} disappear."


def _best(prediction: Prediction) -> Row | None:
    """Return the first row to show: a fix of a finding, the server's first, or else the largest saving."""
    saving = [row for row in prediction.rows if row.share >= _SHARE_MIN and not row.is_second_access]
    single = [row for row in saving if row.kind == "fix" and row.is_practical and row.name != _EVERY]
    mending = [row for row in single if row.fixed_findings]
    of_server = [row for row in mending if row.side == _SERVER]
    return next((rows[0] for rows in (of_server, mending, single, saving) if rows), None)


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)


def _table(prediction: Prediction, title: str, width: int, *, every: bool) -> list[str]:
    """Return the rows of a kind. Rows without an effect are named in one line."""
    kind, is_second_access, words = _TITLES[title]
    rows = [row for row in prediction.rows if row.kind == kind and row.is_second_access == is_second_access]
    if not rows:
        return []
    matter = rows if every else [row for row in rows if _matters(row)]
    shown = matter if every else matter[:_SHOWN]
    lines = _grid(title, shown, width) if shown else []
    if len(matter) > len(shown):
        lines += _wrapped(f"({len(matter) - len(shown)} more {words}: --{kind} all shows them)", width)
    same = [row.name for row in rows if not _matters(row)]
    if same and not every:
        lines += _wrapped(f"No difference: {', '.join(same)}.", width)
    return lines


def _grid(title: str, rows: Sequence[Row], width: int) -> list[str]:
    """Return the rows with their full names, which users can request, and with causes where the width allows."""
    headings = [
        Heading(title),
        *(Heading(name, is_number=True) for name in ("takes", "saves", "min saved", "max saved")),
    ]
    cells = [_cells(row) for row in rows]
    plain = grid(headings, [line[:-1] for line in cells], width)
    if width - max(map(len, plain)) < _CAUSES_ROOM:
        return plain
    return grid([*headings, Heading("removed -, added +", is_elastic=True)], cells, width)


def _matters(row: Row) -> bool:
    return max(abs(row.saved.low_ns), abs(row.saved.high_ns)) >= _SHARE_MIN * abs(row.elapsed_ns + row.saved_ns)


def _cells(row: Row) -> Sequence[str]:
    times = (row.elapsed_ns, row.saved_ns, row.saved.low_ns, row.saved.high_ns)
    return row.name + "*" * bool(row.fixed_findings), *map(duration, times), row.note or ", ".join(_changes(row))


def _changes(row: Row) -> Iterator[str]:
    """Yield the relevant causes, by the last part of their names."""
    least = _CAUSE_MIN * abs(row.causes[0].saved_ns) if row.causes else 0
    for cause in row.causes[:_CAUSES_SHOWN]:
        if abs(cause.saved_ns) >= least:
            yield f"{'-' if cause.saved_ns > 0 else '+'}{cause.cause.rpartition('.')[2]}"


def _details(prediction: Prediction, width: int) -> list[str]:
    """Return all causes of each change, if few were requested: they sum to its saving."""
    if len(prediction.rows) > _DETAILED_MAX:
        return []
    rows = [(row.name, cause) for row in prediction.rows for cause in row.causes]
    cells = [
        (name, cause.cause, duration(cause.before_ns), duration(cause.after_ns), duration(cause.saved_ns))
        for name, cause in rows
    ]
    return grid(_CAUSES, cells, width) if cells else []


def _notes(prediction: Prediction, width: int, *, every: bool) -> list[str]:
    """Return notes about the rows, and about changes without a row."""
    lines = []
    if any(row.fixed_findings for row in prediction.rows):
        lines += _wrapped("* fixes a finding of this capture.", width)
    for name, values in prediction.undetermined.items():
        told = " or ".join(values)
        lines += _wrapped(f"The capture leaves {name} open: {told}; min and max saved cover all.", width)
    for one in prediction.skipped:
        if every or one.kind == "strategy":
            lines += textwrap.wrap(f"No {one.kind} {one.name}: {one.reason}.", width, subsequent_indent="  ")
    others = [one.name for one in prediction.skipped if one.kind == "fix"]
    if others and not every:
        lines += _wrapped(f"No change by {', '.join(others)}.", width)
    return lines
