"""Pages of objects: their sizes and the positions of the links to them."""

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
    """Constant distribution."""

    kind: ClassVar = "constant"
    value: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Uniform:
    """Uniform distribution over the integers from ``low`` to ``high``."""

    kind: ClassVar = "uniform"
    low: int
    high: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Exponential:
    """Exponential distribution with this mean."""

    kind: ClassVar = "exponential"
    mean: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Pareto:
    """Pareto distribution: at least ``scale``; values above ``max`` become ``max``."""

    kind: ClassVar = "pareto"
    scale: float
    shape: float
    max: int


#: Distribution of an integer that is drawn anew for each visit.
Law = Constant | Uniform | Exponential | Pareto


def constant(value: int) -> Constant:
    """Return the constant distribution of this value."""
    return Constant(value=value)


def expected(law: Law) -> float:
    """Return the mean of a distribution."""
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
    # Integral of the survival function (scale/x)^shape from 0 to the cap.
    ratio = law.max / law.scale
    if law.shape == 1:
        raise ScenarioError("a Pareto law of shape 1 has no closed mean here; take 0.999")
    return law.scale * (1 + (1 - float(ratio ** (1 - law.shape))) / (law.shape - 1))


@dataclass(frozen=True, kw_only=True, slots=True)
class Object:
    """Object with its own URL: a document or an image."""

    target: str
    content_type: str
    #: Bytes of the body, or of the whole response if the server's sizes include heads.
    size: Law
    status: int = 200
    #: Extra header lines of the request or the response, without line ends.
    request_fields: tuple[str, ...] = ()
    response_fields: tuple[str, ...] = ()
    #: Nanoseconds of server time in addition to the server's own processing.
    processing_ns: int = 0
    #: The object that links to this one, and the link's byte offset there. None: links are spread evenly over
    #: the document.
    found_in: int = 0
    found_at: int | None = None

    @property
    def is_text(self) -> bool:
        """Whether compression and delta encoding help. Non-text objects are compressed already."""
        return self.content_type.startswith("text/") or self.content_type in _TEXT_TYPES

    def document(self) -> object:
        """Return the engine's form. The plan, not the object, says how the object is discovered."""
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
    """Page of objects. Object 0 is the base document. Each visit draws the sizes anew."""

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
        """Expected total size of all objects."""
        return sum(expected(part.size) for part in self.objects)

    def document(self) -> object:
        """Return the engine's form."""
        return {"name": self.name, "host": self.host, "objects": [part.document() for part in self.objects]}

    def with_objects(self, objects: tuple[Object, ...], *, name: str = "") -> Page:
        """Return the same page with other objects."""
        return replace(self, objects=objects, name=name or self.name)


def image(target: str, size: int) -> Object:
    """Return a GIF image of this many bytes."""
    return Object(target=target, content_type="image/gif", size=constant(size))


def objects_of(base: int, *inlines: int) -> tuple[Object, ...]:
    """Return a page from the sizes of the base document and of the images."""
    document = Object(target="/", content_type="text/html", size=constant(base))
    images = (image(f"/images/{index}.gif", size) for index, size in enumerate(inlines, start=1))
    return (document, *images)
