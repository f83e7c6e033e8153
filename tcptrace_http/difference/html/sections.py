"""Text sections and small tables of the page."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from tcptrace_http.difference.html.around import rows_around
from tcptrace_http.difference.summary import Line, cause_lines, model_failures, model_rows, stall_rows
from tcptrace_http.difference.words import divergence_words, signed, title, told
from tcptrace_http.quantity import counted, duration

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tcptrace_http.difference.compared import Compared
    from tcptrace_http.difference.html.around import Seen
    from tcptrace_http.difference.side import Side

__all__ = ["assumptions", "causes", "divergences", "models", "overview", "quality", "stalls"]


def overview(difference: Compared) -> str:
    """Return the HTML for a notebook: the amount, the reason, and the split by cause."""
    words = "".join(f"<p>{escape(each)}</p>" for each in told(difference))
    return f"<h3>{escape(title(difference))}</h3>{words}{''.join(causes(difference))}"


def causes(difference: Compared) -> Iterator[str]:
    """Yield the split; its last row is the sum."""
    lines = cause_lines(difference)
    if not lines:
        return
    yield '<section id="causes"><h2>By cause</h2>'
    total = Line("elapsed", difference.left_ns, difference.right_ns)
    rows = [_line(line) for line in lines]
    headings = ("cause", "left", "right", "difference")
    yield _table(headings, rows, numbers=(1, 2, 3), foot=_line(total))
    yield '<p class="quiet">Time on the critical paths of both sides; the rows sum to the last one, exactly.</p>'
    yield "</section>"


def _line(line: Line) -> Sequence[str]:
    return line.name, duration(line.left_ns), duration(line.right_ns), signed(line.difference_ns)


def stalls(difference: Compared) -> Iterator[str]:
    """Yield the findings of both sides for the causes."""
    rows = stall_rows(difference)
    if rows:
        headings = ("finding", "cause", "left", "right", "lost on the left", "lost on the right", "lost more")
        yield '<section id="stalls"><h2>Findings of each side</h2>'
        yield _table(headings, rows, numbers=range(2, 7))
        yield "</section>"


def divergences(difference: Compared) -> Iterator[str]:
    """Yield the divergences of the compared flows, with the segments around the first one."""
    if difference.flows is None:
        return
    left, right = difference.flows
    places = f"flow {left} of the left and flow {right} of the right"
    yield f'<section id="divergences"><h2>Where {places} part ways</h2>'
    if not difference.divergences:
        yield "<p>No segment differs noticeably in content or time.</p></section>"
        return
    steps = "".join(f"<li>{escape(divergence_words(it))}.</li>" for it in difference.divergences)
    yield f'<ol class="steps">{steps}</ol>'
    yield "<p>The segments around the first place; times are from the start of its transaction:</p>"
    yield _around(difference)
    yield "</section>"


def _around(difference: Compared) -> str:
    head = "".join(
        f'<th scope="col" class="n {side}-side">{side} frame</th><th scope="col" class="n">time</th>'
        '<th scope="col" class="n">after</th><th scope="col">segment</th>'
        for side in ("left", "right")
    )
    rows = "\n".join(
        f"<tr{' class=here' if row.is_here else ''}>{_seen(row.left, 'left')}{_seen(row.right, 'right')}</tr>"
        for row in rows_around(difference, difference.divergences[0])
    )
    return f'<div class="scroll table"><table><thead><tr>{head}</tr></thead><tbody>\n{rows}</tbody></table></div>'


def _seen(seen: Seen | None, side: str) -> str:
    if seen is None:
        return f'<td class="{side}-side"></td><td></td><td></td><td></td>'
    return (
        f'<td class="n {side}-side">{seen.frame}</td><td class="n">{seen.moment}</td>'
        f'<td class="n">{seen.wait}</td><td class="segment">{escape(seen.words)}</td>'
    )


def models(difference: Compared) -> Iterator[str]:
    """Yield the means of the analytic models for both sides, or the failed assumptions."""
    rows = model_rows(difference)
    failures = model_failures(difference)
    if not rows and not failures:
        return
    yield '<section id="models"><h2>Beside analytic models</h2>'
    if rows:
        headings = ("model", "side", "retrievals", "predicted", "took", "left out")
        yield _table(headings, rows, numbers=range(2, 6))
    for side, reason, count in failures:
        words = f"No analytic model for {counted(count, 'retrieval')} on the {side}: {reason}."
        yield f'<p class="quiet">{escape(words)}</p>'
    yield "</section>"


def assumptions(difference: Compared) -> Iterator[str]:
    """Yield the assumptions of an inferred side beyond the capture."""
    from tcptrace_http.inference.report import value_text

    for side in (difference.left, difference.right):
        if side.model is not None and side.model.assumptions:
            rows = [(it.name, value_text(it.value, it.unit), it.reason) for it in side.model.assumptions]
            yield '<section id="assumptions"><h2>Assumptions of the model</h2>'
            yield "<p>The capture does not show these figures of the scenario that was inferred from it.</p>"
            yield _table(("figure", "value", "reason"), rows)
            yield "</section>"


def quality(difference: Compared) -> str:
    """Return the defects of the captures."""
    sides = (("left", difference.left), ("right", difference.right))
    items = "".join(f"<li>{escape(line)}</li>" for word, side in sides for line in _defects(word, side))
    return f'<section id="quality"><h2>Quality of the captures</h2><ul>{items}</ul></section>'


def _defects(word: str, side: Side) -> Iterator[str]:
    analysis = side.analysis
    capture = analysis.capture
    flows, transactions = analysis.flows.height, analysis.transactions.height
    size = (counted(capture.packets, "packet"), counted(flows, "connection"), counted(transactions, "transaction"))
    yield f"{word}: {', '.join(size)}."
    if capture.truncated:
        yield f"{word}: the capture is cut short; it was analysed as far as it goes."
    if not transactions:
        yield f"{word}: there is no HTTP in it."
    for row in analysis.inconclusive.iter_rows(named=True):
        unjudged = f"{row['detector']} could not be judged on {counted(row['flows'], 'connection')}"
        yield f"{word}: {unjudged}. {row['reason']}."


def _table(
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    numbers: Sequence[int] = (),
    foot: Sequence[str] = (),
) -> str:
    """Return a table whose first column names its rows; ``numbers`` are the right-aligned columns."""
    classes = [' class="n"' if column in numbers else "" for column in range(len(headings))]
    head = "".join(
        f'<th scope="col"{name}>{escape(text)}</th>' for name, text in zip(classes, headings, strict=True)
    )
    body = "\n".join(f"<tr>{_cells(row, classes)}</tr>" for row in rows)
    last = f"<tfoot><tr>{_cells(foot, classes)}</tr></tfoot>" if foot else ""
    return (
        f'<div class="scroll table"><table><thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody>{last}</table></div>"
    )


def _cells(row: Sequence[str], classes: Sequence[str]) -> str:
    first, *others = row
    cells = "".join(f"<td{name}>{escape(text)}</td>" for name, text in zip(classes[1:], others, strict=True))
    return f'<th scope="row">{escape(first)}</th>{cells}'
