"""Writer of TOML scenarios, the inverse of :mod:`reference_sim.scenario_file`, with optional comments.

>>> text = toml_of(scenario, comments={"network.links": "inferred from frames 3, 5"})
>>> parse(text)  # the same scenario

Every value is written out: the file needs no table of presets. TOML has no null. A plan without a limit on
connections is therefore written with one connection per request, which is equivalent.
"""

from __future__ import annotations

from dataclasses import MISSING, fields, is_dataclass, replace
from datetime import datetime
from enum import Enum
from ipaddress import IPv4Address
from typing import TYPE_CHECKING, Any, Final

from reference_sim.decoder import LAWS_OF_TIME
from reference_sim.document import Quantity, annotations_of, quantity_of
from reference_sim.page import Constant, Law
from reference_sim.quantities import time_text
from reference_sim.stack import Rfc3390, Rfc6928, Segments
from reference_sim.topology import ByteQueue, CodelQueue, PacketQueue, Unlimited

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from reference_sim.page import Page
    from reference_sim.plan import Plan
    from reference_sim.scenario import Scenario
    from reference_sim.stack import Stack

__all__ = ["toml_of"]

_NO_COMMENTS: Final[Mapping[str, str]] = {}
_TABLES: Final = ("network", "servers", "browsers", "transfers", "proxies", "taps")


def toml_of(scenario: Scenario, *, comments: Mapping[str, str] = _NO_COMMENTS) -> str:
    """Write the scenario as text that :func:`reference_sim.scenario_file.parse` reads.

    ``comments`` are keyed by the place that they describe: ``network``, ``servers.stack``,
    ``stacks.NAME.nagle``, ``pages.NAME.objects[2]``. The empty name is the whole file.
    """
    return "\n".join(_Writer(scenario, comments).lines()) + "\n"


class _Writer:
    """Writer of one scenario; each stack, page and plan appears once, by name."""

    def __init__(self, scenario: Scenario, comments: Mapping[str, str]) -> None:
        self._scenario = scenario
        self._comments = comments
        self._stacks: dict[str, Stack] = {}
        self._pages: dict[str, Page] = {}
        self._plans: dict[str, Plan] = {}

    def lines(self) -> Iterator[str]:
        # Find the named parts first: they are written before their users.
        rest = [*self._section("network", self._scenario.network)]
        for name in ("servers", "browsers", "transfers", "proxies"):
            for part in getattr(self._scenario, name):
                rest += self._section(name, part, is_listed=True)
        yield from self._comment("")
        for field in fields(self._scenario):
            if field.name not in _TABLES:
                yield from self._key("", field.name, self._scenario)
        yield from self._comment("taps")
        yield f"taps = {_value([tap.name for tap in self._scenario.taps])}"
        for title, known in (("stacks", self._stacks), ("pages", self._pages), ("plans", self._plans)):
            for name, part in known.items():
                yield from self._section(f"{title}.{name}", part, without=("name",) if title != "plans" else ())
        yield from rest

    def _section(
        self, title: str, part: Any, *, is_listed: bool = False, without: tuple[str, ...] = ()
    ) -> Iterator[str]:
        yield ""
        yield from self._comment(title)
        header = ".".join(_key(name) for name in title.split(".", 1))
        yield f"[[{header}]]" if is_listed else f"[{header}]"
        for field in fields(part):
            if field.name not in without:
                yield from self._key(title, field.name, part)

    def _key(self, title: str, name: str, part: Any) -> Iterator[str]:
        value = getattr(part, name)
        if value is None:
            return
        place = f"{title}.{name}" if title else name
        yield from self._comment(place)
        annotation = annotations_of(type(part))[name]
        if isinstance(value, tuple) and value and is_dataclass(value[0]):
            yield f"{name} = ["
            for index, item in enumerate(value):
                comment = self._comments.get(f"{place}[{index}]", "")
                yield f"  {self._of(item, annotation, name)}," + f"  # {comment}" * bool(comment)
            yield "]"
        else:
            yield f"{name} = {self._of(value, annotation, name)}"

    def _comment(self, place: str) -> Iterator[str]:
        text = self._comments.get(place)
        if text:
            yield from (f"# {line}".rstrip() for line in text.splitlines())

    def _of(self, value: Any, annotation: Any, name: str) -> str:  # noqa: PLR0911 -- one a kind of value
        """Format the value in TOML; a value with its own table appears by name."""
        short = _short_form(value)
        if short is not None:
            return _value(short)
        kind = type(value).__name__
        if kind in {"Stack", "Page", "Plan"}:
            return _value(self._named(kind, value))
        if isinstance(value, Constant) and annotation == Law:
            return _value(time_text(value.value) if name in LAWS_OF_TIME else value.value)
        if is_dataclass(value):
            return self._inline(value)
        if isinstance(value, tuple):
            return "[" + ", ".join(self._of(item, annotation, name) for item in value) + "]"
        quantity = quantity_of(annotation)
        if quantity is not None:
            number = quantity.read(value)
            return _value(time_text(number) if quantity is Quantity.DURATION and number else number)
        return _value(value)

    def _inline(self, value: Any) -> str:
        kind = getattr(type(value), "kind", None)
        parts = [] if kind is None else [f"kind = {_value(kind)}"]
        hints = annotations_of(type(value))
        for field in fields(value):
            held = getattr(value, field.name)
            if held is None or (field.default is not MISSING and held == field.default):
                continue
            parts.append(f"{field.name} = {self._of(held, hints[field.name], field.name)}")
        return "{ " + ", ".join(parts) + " }" if parts else "{}"

    def _named(self, kind: str, value: Any) -> str:
        """Return the name of a stack, page or plan in this file."""
        tables: dict[str, dict[str, Any]] = {"Stack": self._stacks, "Page": self._pages, "Plan": self._plans}
        known = tables[kind]
        if kind == "Plan" and value.connections is None:
            value = replace(value, connections=len(value.fetches))
        for name, other in known.items():
            if other == value:
                return name
        wanted = getattr(value, "name", "plan")
        name = wanted
        while name in known:
            name = f"{wanted}-{len(known) + 1}"
        known[name] = value
        return name


def _short_form(value: Any) -> str | None:
    """Format queue limits and initial windows as text."""
    match value:
        case Unlimited():
            return "unlimited"
        case PacketQueue() | CodelQueue():
            kind = f"codel{'-ecn' * value.marks} " if isinstance(value, CodelQueue) else ""
            return f"{kind}{value.limit} packets"
        case ByteQueue():
            return f"{value.limit} B"
        case Rfc3390() | Rfc6928():
            return str(value.kind)
        case Segments():
            return f"{value.segments} segments"
    return None


def _key(name: str) -> str:
    is_bare = name.replace("-", "").replace("_", "").isalnum() and name.isascii()
    return name if is_bare else _value(name)


def _value(value: Any) -> str:  # noqa: PLR0911 -- one a type
    """Format a scalar in TOML."""
    match value:
        case bool():
            return "true" if value else "false"
        case Enum():
            return _value(value.value)
        case int() | float():
            return repr(value)
        case str():
            return _text(value)
        case IPv4Address():
            return _text(str(value))
        case datetime():
            return value.isoformat()
        case list() | tuple():
            return "[" + ", ".join(map(_value, value)) + "]"
    raise TypeError(f"{value!r} has no form in TOML")


def _text(value: str) -> str:
    """Format a basic string (TOML 1.0, String): escape quotes, backslashes and control characters."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(char if char.isprintable() else _escaped(char) for char in escaped) + '"'


def _escaped(char: str) -> str:
    return f"\\U{ord(char):08x}"
