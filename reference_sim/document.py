"""Encoder from frozen dataclasses to the engine's JSON document, by their annotations.

Theory of operation. A field's annotation gives the unit of its value. A :data:`Duration` is written as
integer nanoseconds under the name with ``_ns``, a :data:`Rate` as bits per second with ``_bps``, a
:data:`Size` as bytes. A class with a ``kind`` is one of several choices and is written with its kind. A class
with its own encoding has a method ``document``.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from datetime import timedelta
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any, Final, Generic, TypeVar, get_args, get_origin, get_type_hints

from reference_sim.quantities import bits_per_second, bytes_of, nanoseconds

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Duration", "Numbers", "Quantity", "Rate", "Size", "annotations_of", "document_of", "quantity_of"]


_T = TypeVar("_T")


class Quantity(Enum):
    """Unit of a number: how its text is read, and the name of the engine's field."""

    DURATION = "_ns"
    RATE = "_bps"
    SIZE = ""

    def read(self, value: Any) -> int:
        """Convert a number, a timedelta or text to an integer in this unit.

        :raises ScenarioError: the value is of another type, or negative.
        """
        read: Callable[[Any], int] = _READERS[self]
        return read(value)


_READERS: Final[dict[Quantity, Any]] = {
    Quantity.DURATION: nanoseconds,
    Quantity.RATE: bits_per_second,
    Quantity.SIZE: bytes_of,
}

#: Nanoseconds or a timedelta; text (``30 ms``) in files.
Duration = Annotated[int | timedelta, Quantity.DURATION]
#: Bits per second; text (``1.5 Mb/s``) in files.
Rate = Annotated[int, Quantity.RATE]
#: Bytes; text (``16 kB``) in files.
Size = Annotated[int, Quantity.SIZE]


_KNOWN: Final[dict[type[Any], dict[str, Any]]] = {}


def annotations_of(kind: type[Any]) -> dict[str, Any]:
    """Return the resolved annotations of a dataclass's fields."""
    if kind not in _KNOWN:
        hints = get_type_hints(kind, include_extras=True)
        _KNOWN[kind] = {field.name: hints[field.name] for field in fields(kind)}
    return _KNOWN[kind]


def quantity_of(annotation: Any) -> Quantity | None:
    """Return the unit that an annotation, optional or not, gives a number."""
    if get_origin(annotation) is Annotated:
        return next((part for part in get_args(annotation) if isinstance(part, Quantity)), None)
    found = {quantity_of(part) for part in get_args(annotation)} - {None}
    return found.pop() if len(found) == 1 else None


# Cached per class: a run may encode many scenarios.
_MEASURED: Final[dict[type[Any], list[tuple[str, str, Quantity | None]]]] = {}


def _quantities_of(kind: type[Any]) -> list[tuple[str, str, Quantity | None]]:
    """List the fields of a dataclass: name, engine's name, unit."""
    if kind not in _MEASURED:
        measured = ((name, quantity_of(annotation)) for name, annotation in annotations_of(kind).items())
        _MEASURED[kind] = [(name, f"{name}{what.value if what else ''}", what) for name, what in measured]
    return _MEASURED[kind]


# Fast path: most values of a scenario are plain.
_PLAIN: Final = frozenset({int, str, bool, float, type(None)})


def document_of(value: Any) -> Any:
    """Encode a value as dictionaries, lists, numbers and strings.

    :raises ScenarioError: a duration, rate or size is invalid.
    """
    if type(value) in _PLAIN:
        return value
    if hasattr(value, "document"):
        return value.document()
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple):
        return [document_of(part) for part in value]
    if is_dataclass(value) and not isinstance(value, type):
        return fields_of(value)
    return value


def fields_of(value: Any) -> dict[str, Any]:
    """Encode the fields of a dataclass, preceded by its ``kind`` if it has one."""
    kind = getattr(type(value), "kind", None)
    made: dict[str, Any] = {} if kind is None else {"kind": kind}
    for name, key, quantity in _quantities_of(type(value)):
        held = getattr(value, name)
        if quantity is None:
            made[name] = held if type(held) in _PLAIN else document_of(held)
        elif isinstance(held, tuple):
            made[name] = [quantity.read(part) for part in held]
        else:
            # Fast path: a positive integer is valid in every unit.
            is_read = held is None or (type(held) is int and held > 0)
            made[key] = held if is_read else quantity.read(held)
    return made


class Numbers(Generic[_T]):
    """Indices of values; equal values share an index."""

    def __init__(self) -> None:
        self.values: list[_T] = []
        self._numbers: dict[_T, int] = {}

    def of(self, value: _T) -> int:
        """Return the value's index, a new index for a new value."""
        # Hashing a large page costs as much as writing it: skip the hash if the page is the only one.
        if not self.values:
            self.values.append(value)
        if value is self.values[0]:
            return 0
        if not self._numbers:
            self._numbers[self.values[0]] = 0
        number = self._numbers.setdefault(value, len(self.values))
        if number == len(self.values):
            self.values.append(value)
        return number
