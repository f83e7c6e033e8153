"""What is fetched: pages of objects, their sizes and where the links to them stand."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Final

from reference_sim.document import document_of
from tcptrace_http.errors import ScenarioError

__all__ = [
    "Constant",
    "Exponential",
    "Law",
    "Object",
    "Page",
    "Pareto",
    "Uniform",
    "constant",
    "expected",
    "image",
    "objects_of",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class Constant:
    """Always this."""

    kind: ClassVar = "constant"
    value: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Uniform:
    """Each whole number from ``low`` to ``high`` alike."""

    kind: ClassVar = "uniform"
    low: int
    high: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Exponential:
    """Exponential with this mean."""

    kind: ClassVar = "exponential"
    mean: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Pareto:
    """Pareto: at least ``scale``; what exceeds ``max`` becomes ``max``."""

    kind: ClassVar = "pareto"
    scale: float
    shape: float
    max: int


#: A number drawn anew each time, rounded to an integer.
Law = Constant | Uniform | Exponential | Pareto


def constant(value: int) -> Constant:
    """The law that always gives this."""
    return Constant(value=value)


def expected(law: Law) -> float:
    """The mean of what a law gives."""
    match law:
        case Constant():
            return law.value
        case Uniform():
            return (law.low + law.high) / 2
        case Exponential():
            return law.mean
        case Pareto():
            return _expected_of_capped_pareto(law)


def _expected_of_capped_pareto(law: Pareto) -> float:
    if law.max <= law.scale:
        return law.max
    # The integral of the survival function (scale/x)^shape from 0 to the cap.
    ratio = law.max / law.scale
    if law.shape == 1:
        raise ScenarioError("a Pareto law of shape 1 has no closed mean here; take 0.999")
    return law.scale * (1 + (1 - float(ratio ** (1 - law.shape))) / (law.shape - 1))


@dataclass(frozen=True, kw_only=True, slots=True)
class Object:
    """Something with an address of its own: a document, an image."""

    target: str
    content_type: str
    #: Bytes of the body (or of the whole response, if the server's sizes include heads).
    size: Law
    status: int = 200
    #: More lines of the request, or of the response, without line ends.
    request_fields: tuple[str, ...] = ()
    response_fields: tuple[str, ...] = ()
    #: Nanoseconds that the server takes beyond its own processing.
    processing_ns: int = 0
    #: Which object of the page has the link to it, and after how many bytes of that (None: spread
    #: evenly over it).
    found_in: int = 0
    found_at: int | None = None

    @property
    def is_text(self) -> bool:
        """Whether compression and differences are of use: what is no text is compressed already."""
        return self.content_type.startswith("text/") or self.content_type in _TEXT_TYPES

    def document(self) -> object:
        """As the engine reads it: how it is found is a matter of the plan."""
        return {
            "target": self.target,
            "content_type": self.content_type,
            "size": document_of(self.size),
            "status": self.status,
            "request_fields": list(self.request_fields),
            "response_fields": list(self.response_fields),
            "processing_ns": self.processing_ns,
        }


_TEXT_TYPES: Final = frozenset({"application/javascript", "application/json", "application/xml", "image/svg+xml"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Page:
    """A page: object 0 is the base document; sizes are drawn anew at each visit."""

    name: str
    host: str = "www.example.com"
    objects: tuple[Object, ...]
    about: str = ""
    source: str = ""

    def __post_init__(self) -> None:
        if not self.objects:
            raise ScenarioError("a page has at least its base document", field="objects")
        for index, part in enumerate(self.objects[1:], start=1):
            if not 0 <= part.found_in < len(self.objects) or part.found_in == index:
                raise ScenarioError(
                    f"object {part.found_in} cannot link to it; name another object of the page",
                    field=f"objects[{index}].found_in",
                )

    @property
    def bytes(self) -> float:
        """The expected size of all objects together."""
        return sum(expected(part.size) for part in self.objects)

    def document(self) -> object:
        """As the engine reads it."""
        return {"name": self.name, "host": self.host, "objects": [part.document() for part in self.objects]}

    def with_objects(self, objects: tuple[Object, ...], *, name: str = "") -> Page:
        """The same page with other objects."""
        return replace(self, objects=objects, name=name or self.name)


def image(target: str, size: int) -> Object:
    """A GIF image of so many bytes."""
    return Object(target=target, content_type="image/gif", size=constant(size))


def objects_of(base: int, *inlines: int) -> tuple[Object, ...]:
    """A base document of so many bytes, and images of so many."""
    document = Object(target="/", content_type="text/html", size=constant(base))
    images = (image(f"/images/{index}.gif", size) for index, size in enumerate(inlines, start=1))
    return (document, *images)
