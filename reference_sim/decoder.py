"""Decoder from file values to frozen dataclasses, by their annotations.

:mod:`reference_sim.document` encodes in the other direction. An error names its field: each caller on the way
up adds its part of the path.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from datetime import datetime
from enum import Enum
from ipaddress import IPv4Address
from types import NoneType, UnionType
from typing import Any, Final, Union, get_args, get_origin

from reference_sim.document import annotations_of, quantity_of
from reference_sim.names import named, near
from reference_sim.page import Constant, Law, Uniform
from reference_sim.quantities import bytes_of, nanoseconds
from reference_sim.stack import InitialWindow, Rfc3390, Rfc6928, Segments
from reference_sim.topology import ByteQueue, CodelQueue, PacketQueue, Queue, Unlimited
from tcptrace_http.errors import ScenarioError

__all__ = ["LAWS_OF_TIME", "Decoder", "check_keys", "listed", "within"]

#: Fields in which a distribution gives nanoseconds: text there is a duration.
LAWS_OF_TIME: Final = frozenset({"processing", "think"})
#: Upper bound on the digits of a count: Python refuses to convert thousands of digits.
_COUNT: Final = re.compile(r"[0-9]{1,18}")
_NAMES_OF_TYPES: Final[Mapping[Any, str]] = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
}


@dataclass(frozen=True, slots=True)
class Decoder:
    """Decoder of file values; ``readers`` read the types that have names or short forms."""

    readers: Mapping[Any, Callable[[Any], Any]]

    def dataclass(self, kind: type[Any], table: Any) -> Any:
        """Decode a dataclass from a table: each field by its annotation.

        :raises ScenarioError: a field is unknown, missing, or of another type.
        """
        known = annotations_of(kind)
        check_keys(table, known)
        values = {key: within(key, self.value, known[key], value, key) for key, value in table.items()}
        for field in fields(kind):
            if field.name not in values and field.default is MISSING and field.default_factory is MISSING:
                raise ScenarioError("is missing", field=field.name)
        return kind(**values)

    def value(self, annotation: Any, value: Any, field: str = "") -> Any:  # noqa: PLR0911 -- one a kind of type
        """Decode a value of the file as this type.

        :raises ScenarioError: the value does not fit the type.
        """
        if annotation in self.readers:
            return self.readers[annotation](value)
        if annotation == Law:
            return self.law(value, is_time=field in LAWS_OF_TIME)
        if annotation in _SHORT_FORMS:
            return _SHORT_FORMS[annotation](value)
        if get_origin(annotation) is tuple:
            item = get_args(annotation)[0]
            parts = enumerate(listed(value))
            return tuple(within(f"[{index}]", self.value, item, part, field) for index, part in parts)
        quantity = quantity_of(annotation)
        if quantity is not None:
            return quantity.read(value)
        if get_origin(annotation) in {Union, UnionType}:
            return self._choice(annotation, value, field)
        if is_dataclass(annotation) and isinstance(annotation, type):
            return self.dataclass(annotation, value)
        return _plain(annotation, value)

    def law(self, value: Any, *, is_time: bool) -> Any:
        """Decode a distribution: a constant, the two ends of a range, or a table with a kind. Text has units.

        :raises ScenarioError: it is none of these.
        """
        one: Callable[[Any], int] = nanoseconds if is_time else bytes_of
        match value:
            case int() | str():
                return Constant(value=one(value))
            case [low, high]:
                return Uniform(low=one(low), high=one(high))
            case dict():
                texts = {key for key, part in value.items() if isinstance(part, str) and key != "kind"}
                numbers = {key: one(part) if key in texts else part for key, part in value.items()}
                return self._choice(Law, numbers, "")
        raise ScenarioError(f"{value!r} is not a number, a range of two, or a table with a kind")

    def _choice(self, annotation: Any, value: Any, field: str) -> Any:
        """Decode one of several types. A file leaves absent values out, so no value means None."""
        choices = [choice for choice in get_args(annotation) if choice is not NoneType]
        if len(choices) == 1:
            return self.value(choices[0], value, field)
        kinds = {choice.kind: choice for choice in choices}
        if not isinstance(value, dict) or "kind" not in value:
            raise ScenarioError(f"{value!r} is not a table with a kind: {', '.join(kinds)}")
        kind = within("kind", lambda: named(kinds, str(value["kind"]), what="kind"))
        return self.dataclass(kind, {key: part for key, part in value.items() if key != "kind"})


def within(field: str, make: Callable[..., Any], *arguments: Any) -> Any:
    """Call the constructor; an error gains the path of its field."""
    try:
        return make(*arguments)
    except ScenarioError as error:
        raise error.within(field) from None


def check_keys(table: Any, known: Any) -> None:
    """Raise a :class:`ScenarioError` unless this is a table of known fields."""
    if not isinstance(table, dict):
        raise ScenarioError(f"{table!r} is not a table of {', '.join(known)}")
    for key in table:
        if key not in known:
            raise ScenarioError(f"unknown{near(key, known)}", field=key)


def listed(value: Any) -> list[Any]:
    """Return the value if it is a list.

    :raises ScenarioError: the value is not a list.
    """
    if not isinstance(value, list):
        raise ScenarioError(f"{value!r} is not a list")
    return value


def _queue(value: Any) -> Any:
    """Decode a queue limit: ``25 packets``, ``64 kB``, ``unlimited``, or CoDel's: ``codel 1000 packets``."""
    if value == "unlimited":
        return Unlimited()
    kind, _, rest = str(value).partition(" ")
    if kind in {"codel", "codel-ecn"}:
        queue = _queue(rest) if rest else PacketQueue(limit=CodelQueue().limit)
        if not isinstance(queue, PacketQueue):
            raise ScenarioError(f"{value!r}: a queue with CoDel is bounded in packets, as in 'codel 1000 packets'")
        return CodelQueue(limit=queue.limit, marks=kind == "codel-ecn")
    number, _, unit = str(value).partition(" ")
    if unit in {"packet", "packets"} and _COUNT.fullmatch(number):
        return PacketQueue(limit=int(number))
    try:
        return ByteQueue(limit=bytes_of(str(value)))
    except ScenarioError:
        raise ScenarioError(f"{value!r} is not '25 packets', '64 kB', 'codel' or 'unlimited'") from None


def _initial_window(value: Any) -> Any:
    """Decode an initial window: ``3 segments``, ``rfc3390`` or ``rfc6928``."""
    formulas = {"rfc3390": Rfc3390(), "rfc6928": Rfc6928()}
    if isinstance(value, str) and value in formulas:
        return formulas[value]
    number, _, unit = str(value).partition(" ")
    if unit in {"", "segment", "segments"} and _COUNT.fullmatch(number) and int(number) > 0:
        return Segments(segments=int(number))
    raise ScenarioError(f"{value!r} is not '3 segments', 'rfc3390' or 'rfc6928'")


def _address(value: Any) -> IPv4Address:
    try:
        return IPv4Address(str(value))
    except ValueError:
        raise ScenarioError(f"{value!r} is not an IPv4 address such as '10.0.0.1'") from None


def _moment(value: Any) -> datetime:
    if not isinstance(value, datetime) or value.tzinfo is None:
        raise ScenarioError(f"{value!r} is not a time with an offset, such as 1996-05-01T12:00:00Z")
    return value


_SHORT_FORMS: Final[Mapping[Any, Callable[[Any], Any]]] = {
    Queue: _queue,
    InitialWindow: _initial_window,
    IPv4Address: _address,
    datetime: _moment,
}


def _plain(kind: Any, value: Any) -> Any:
    """Decode an enumeration member by name, or a TOML number, string or boolean."""
    if isinstance(kind, type) and issubclass(kind, Enum):
        choices = {str(choice.value): choice for choice in kind}
        return named(choices, str(value), what="choice")
    # In Python, bool is a subclass of int.
    is_it = isinstance(value, kind) and isinstance(value, bool) == (kind is bool)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not is_it:
        raise ScenarioError(f"{value!r} is not {_NAMES_OF_TYPES[kind]}")
    return value
