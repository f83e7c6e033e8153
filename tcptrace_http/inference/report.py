"""Inference for people and programs: the table of figures, JSON, and the scenario with comments."""

from __future__ import annotations

import json
import textwrap
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from reference_sim.quantities import rate_text, time_text
from reference_sim.scenario_writer import toml_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from reference_sim.scenario import Scenario
    from reference_sim.stack import Stack
    from tcptrace_http.inference.figure import Figure, Value
    from tcptrace_http.inference.infer import Inference

__all__ = ["as_json", "as_text", "as_toml", "value_text"]

#: Version of the JSON of ``infer``; incremented when a field changes its meaning.
VERSION: Final = 1
_MICROSECOND: Final = 1000
_KILOBIT: Final = 1000
_OBJECTS: Final = "objects["
_WIDTH: Final = 80
_INDENT: Final = "      "
_FRAMES_SHOWN: Final = 3


def as_text(inference: Inference, *, width: int = _WIDTH) -> str:
    """Return the observations, each figure with its range, frames and method, and the assumptions."""
    objects = [figure for figure in inference.figures if figure.name.startswith(_OBJECTS)]
    shown = [figure for figure in inference.figures if not figure.name.startswith(_OBJECTS)]
    seen = [figure for figure in shown if not figure.is_assumed]
    taken = [figure for figure in shown if figure.is_assumed]
    lines = [*_part(inference, width), "Seen in the capture", *_entries(seen, width), *_of_objects(objects, width)]
    lines += ["", "Assumed (not shown by the capture)", *_entries(taken, width)]
    return "\n".join(lines)


def _part(inference: Inference, width: int) -> list[str]:
    """Return the modelled part of the retrieval, unless it is complete."""
    if inference.part is None:
        return []
    return [*textwrap.wrap(f"Of {inference.part.words}", width), ""]


def _entries(figures: Sequence[Figure], width: int) -> Iterator[str]:
    """Yield at least two lines per figure: the value and its origin."""
    name = max((len(figure.name) for figure in figures), default=0)
    value = max((len(value_text(figure.value, figure.unit)) for figure in figures), default=0)
    for figure in figures:
        told = (
            f"  {figure.name.ljust(name)}  {value_text(figure.value, figure.unit).ljust(value)}  {_range(figure)}"
        )
        yield told.rstrip()
        yield from _wrapped(figure.reason if figure.is_assumed else _origin(figure), width)


def _wrapped(words: str, width: int) -> list[str]:
    return textwrap.wrap(words, width, initial_indent=_INDENT, subsequent_indent=_INDENT)


def _origin(figure: Figure) -> str:
    """Return method, confidence, frames and alternatives of a figure."""
    parts = [figure.how, f"confidence {figure.confidence:.2f}"]
    if figure.frames:
        parts.append(f"{'frame' if len(figure.frames) == 1 else 'frames'} {_frames(figure)}")
    if figure.alternatives:
        parts.append(f"as well {', '.join(figure.alternatives)}")
    return "; ".join(parts)


def _of_objects(figures: Sequence[Figure], width: int) -> Iterator[str]:
    """Yield the server's times for the objects, in one entry."""
    times = sorted(figure.value for figure in figures if isinstance(figure.value, int))
    if not times:
        return
    longest, shortest = value_text(times[-1], "ns"), value_text(times[0], "ns")
    yield f"  processing of {len(times)} objects  {value_text(times[len(times) // 2], 'ns')} (median)"
    assumed = sum(figure.is_assumed for figure in figures)
    told = f"{shortest} to {longest}; each with its frames in the scenario and in JSON"
    yield from _wrapped(f"{told}; {assumed} of them assumed" if assumed else told, width)


def _range(figure: Figure) -> str:
    if figure.low == figure.high:
        return ""
    return f"{value_text(figure.low, figure.unit)} to {value_text(figure.high, figure.unit)}"


def _frames(figure: Figure) -> str:
    shown = ", ".join(map(str, figure.frames[:_FRAMES_SHOWN]))
    return f"{shown}, …" if len(figure.frames) > _FRAMES_SHOWN else shown


def value_text(value: Value | None, unit: str) -> str:
    """Return the value for readers: times to the microsecond, rates to the kilobit."""
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
    """Return the figures as one JSON object; each names its unit.

    ``part`` is the modelled part of the retrieval; null for all of it.
    """
    figures = [asdict(figure) for figure in inference.figures]
    part = None if inference.part is None else asdict(inference.part)
    document = {"infer_version": VERSION, "part": part, "figures": figures}
    return json.dumps(document, indent=2, ensure_ascii=False)


def as_toml(inference: Inference, capture: str) -> str:
    """Return the scenario as a file for ``simulate --scenario``, with the origin of each part."""
    return toml_of(inference.scenario, comments=_comments(inference, capture))


def _comments(inference: Inference, capture: str) -> dict[str, str]:
    """Return the origin of each figure, by its place in the scenario."""
    scenario = inference.scenario
    server, client = _stacks(scenario)
    places = {
        "path": "network.links",
        "server": f"stacks.{server.name}",
        "client": f"stacks.{client.name}",
        "browser": "browsers",
        "transfer": "transfers",
    }
    found: dict[str, list[str]] = {
        "": [f"Inferred from {capture}: the confidence of each figure, and its frames, are with it."]
    }
    if inference.part is not None:
        found[""].append(f"It is of {inference.part.words}.")
    # Figures number the objects across all pages, each page numbers its own.
    pages = [visit.page for browser in scenario.browsers for visit in browser.visits]
    parts = [f"{page.name}.objects[{number}]" for page in pages for number in range(len(page.objects))]
    for figure in inference.figures:
        part, _, _ = figure.name.partition(".")
        place = places.get(part)
        if place is not None:
            found.setdefault(place, []).append(_story(figure))
        elif part.startswith(_OBJECTS):
            number = int(part.removeprefix(_OBJECTS).removesuffix("]"))
            found.setdefault(f"pages.{parts[number]}", []).append(_story(figure))
    return {place: "\n".join(lines) for place, lines in found.items()}


def _stacks(scenario: Scenario) -> tuple[Stack, Stack]:
    """Return the stacks of server and client, of pages or of files."""
    if scenario.transfers:
        return scenario.transfers[0].server_stack, scenario.transfers[0].stack
    return scenario.servers[0].stack, scenario.browsers[0].stack


def _story(figure: Figure) -> str:
    what = f"{figure.name}: {value_text(figure.value, figure.unit)}"
    if figure.is_assumed:
        return f"{what}; assumed: {figure.reason}"
    spread = f" ({_range(figure)})" if _range(figure) else ""
    also = f"; as well {', '.join(figure.alternatives)}" if figure.alternatives else ""
    frames = f", frames {_frames(figure)}" if figure.frames else ""
    return f"{what}{spread}; confidence {figure.confidence:.2f}{frames}: {figure.how}{also}"
