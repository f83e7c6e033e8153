"""An inference for people and programs: the table of figures, JSON, and the scenario with comments."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from reference_sim.quantities import rate_text, time_text
from reference_sim.scenario_writer import toml_of

if TYPE_CHECKING:
    from tcptrace_http.inference.figure import Figure, Value
    from tcptrace_http.inference.infer import Inference

__all__ = ["as_json", "as_text", "as_toml"]

#: Counts the JSON of ``infer``; it grows when a field changes its meaning.
VERSION: Final = 1
_MICROSECOND: Final = 1000
_KILOBIT: Final = 1000
_COLUMNS: Final = ("figure", "value", "range", "confidence", "frames", "how")
_FRAMES_SHOWN: Final = 3


def as_text(inference: Inference) -> str:
    """A table of what was seen, and a list of what is assumed."""
    seen = [figure for figure in inference.figures if not figure.is_assumed]
    rows = [_COLUMNS, *(_row(figure) for figure in seen)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_COLUMNS) - 1)]
    lines = [_line(row, widths) for row in rows]
    lines += ["", "assumed, for the capture does not show it:"]
    lines += [
        f"  {figure.name}: {_text(figure.value, figure.unit)} ({figure.reason})"
        for figure in inference.assumptions
    ]
    return "\n".join(lines)


def _line(row: tuple[str, ...], widths: list[int]) -> str:
    cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
    return "  ".join([*cells, row[-1]]).rstrip()


def _row(figure: Figure) -> tuple[str, ...]:
    also = f"; as well {', '.join(figure.alternatives)}" if figure.alternatives else ""
    return (
        figure.name,
        _text(figure.value, figure.unit),
        _range(figure),
        f"{figure.confidence:.2f}",
        _frames(figure),
        figure.how + also,
    )


def _range(figure: Figure) -> str:
    if figure.low == figure.high:
        return ""
    return f"{_text(figure.low, figure.unit)} to {_text(figure.high, figure.unit)}"


def _frames(figure: Figure) -> str:
    shown = ", ".join(map(str, figure.frames[:_FRAMES_SHOWN]))
    return f"{shown}, …" if len(figure.frames) > _FRAMES_SHOWN else shown


def _text(value: Value | None, unit: str) -> str:
    """The value as a reader wants it: times to the microsecond, rates to the kilobit."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if unit == "ns" and isinstance(value, int):
        return time_text(round(value / _MICROSECOND) * _MICROSECOND)
    if unit == "b/s" and isinstance(value, int):
        return rate_text(round(value / _KILOBIT) * _KILOBIT)
    if isinstance(value, float):
        return f"{value:.4f}"
    return f"{value} {unit}".strip()


def as_json(inference: Inference) -> str:
    """The figures as one JSON object; values are in the unit that each names."""
    figures = [asdict(figure) for figure in inference.figures]
    return json.dumps({"infer_version": VERSION, "figures": figures}, indent=2, ensure_ascii=False)


def as_toml(inference: Inference, capture: str) -> str:
    """The scenario as a file that ``simulate --scenario`` runs, with what each part is from."""
    return toml_of(inference.scenario, comments=_comments(inference, capture))


def _comments(inference: Inference, capture: str) -> dict[str, str]:
    """Each figure's story at what it became."""
    scenario = inference.scenario
    places = {
        "path": "network.links",
        "server": f"stacks.{scenario.servers[0].stack.name}",
        "client": f"stacks.{scenario.browsers[0].stack.name}",
        "browser": "browsers",
    }
    found: dict[str, list[str]] = {
        "": [f"Inferred from {capture}: the confidence of each figure, and its frames, are with it."]
    }
    page = scenario.browsers[0].visits[0].page.name
    for figure in inference.figures:
        part, _, _ = figure.name.partition(".")
        place = places.get(part)
        if place is not None:
            found.setdefault(place, []).append(_story(figure))
        elif part.startswith("objects["):
            found.setdefault(f"pages.{page}.{part}", []).append(_story(figure))
    return {place: "\n".join(lines) for place, lines in found.items()}


def _story(figure: Figure) -> str:
    what = f"{figure.name}: {_text(figure.value, figure.unit)}"
    if figure.is_assumed:
        return f"{what}; assumed: {figure.reason}"
    spread = f" ({_range(figure)})" if _range(figure) else ""
    also = f"; as well {', '.join(figure.alternatives)}" if figure.alternatives else ""
    frames = f", frames {_frames(figure)}" if figure.frames else ""
    return f"{what}{spread}; confidence {figure.confidence:.2f}{frames}: {figure.how}{also}"
