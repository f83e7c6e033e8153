"""Frozen dataclasses to the JSON document that the engine reads, by their annotations.

Theory of operation. A field's annotation says what its value means: :data:`Duration` is written as
integer nanoseconds under the name with ``_ns``, :data:`Rate` as bits a second with ``_bps``,
:data:`Size` as bytes. A class with a ``kind`` is one of several choices and is written with it.
Whatever knows better has a method ``document``.
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
    """What a number measures: how text is read, and what the engine's field is called."""

    DURATION = "_ns"
    RATE = "_bps"
    SIZE = ""

    def read(self, value: Any) -> int:
        """The number, of a number, a timedelta or text.

        :raises ScenarioError: the value is none of these, or negative.
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
#: Bits a second; text (``1.5 Mb/s``) in files.
Rate = Annotated[int, Quantity.RATE]
#: Bytes; text (``16 kB``) in files.
Size = Annotated[int, Quantity.SIZE]


_KNOWN: Final[dict[type[Any], dict[str, Any]]] = {}


def annotations_of(kind: type[Any]) -> dict[str, Any]:
    """The annotations of a dataclass's fields, resolved."""
    if kind not in _KNOWN:
        hints = get_type_hints(kind, include_extras=True)
        _KNOWN[kind] = {field.name: hints[field.name] for field in fields(kind)}
    return _KNOWN[kind]


def quantity_of(annotation: Any) -> Quantity | None:
    """What the annotation says the number measures; also of an optional one."""
    if get_origin(annotation) is Annotated:
        return next((part for part in get_args(annotation) if isinstance(part, Quantity)), None)
    found = {quantity_of(part) for part in get_args(annotation)} - {None}
    return found.pop() if len(found) == 1 else None


# Worked out once a class, for scenarios are many.
_MEASURED: Final[dict[type[Any], list[tuple[str, str, Quantity | None]]]] = {}


def _quantities_of(kind: type[Any]) -> list[tuple[str, str, Quantity | None]]:
    """The fields of a dataclass: the name, the engine's name, and what it measures."""
    if kind not in _MEASURED:
        measured = ((name, quantity_of(annotation)) for name, annotation in annotations_of(kind).items())
        _MEASURED[kind] = [(name, f"{name}{what.value if what else ''}", what) for name, what in measured]
    return _MEASURED[kind]


# Most values of a scenario are these: there is nothing to look for.
_PLAIN: Final = frozenset({int, str, bool, float, type(None)})


def document_of(value: Any) -> Any:
    """The value as the engine reads it: dictionaries, lists, numbers, texts.

    :raises ScenarioError: a duration, rate or size is none.
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
    """The fields of a dataclass as the engine reads them, its ``kind`` before them if it has one."""
    kind = getattr(type(value), "kind", None)
    made: dict[str, Any] = {} if kind is None else {"kind": kind}
    for name, key, quantity in _quantities_of(type(value)):
        held = getattr(value, name)
        if quantity is None:
            made[name] = held if type(held) in _PLAIN else document_of(held)
        elif isinstance(held, tuple):
            made[name] = [quantity.read(part) for part in held]
        else:
            # A positive integer is any quantity as it is.
            is_read = held is None or (type(held) is int and held > 0)
            made[key] = held if is_read else quantity.read(held)
    return made


class Numbers(Generic[_T]):
    """Numbers of values, equal ones having the same."""

    def __init__(self) -> None:
        self.values: list[_T] = []
        self._numbers: dict[_T, int] = {}

    def of(self, value: _T) -> int:
        """The value's number, a new one if it is new."""
        # A large page takes as long to hash as to write: the only one of its kind need not be.
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
